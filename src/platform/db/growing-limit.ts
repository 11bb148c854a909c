/** Milliseconds that callers wait before the limit doubles. */
const growAfterMs = 10

/** Milliseconds after which the limit falls by one, if less than half of it is in use. */
const shrinkAfterMs = 1000

/**
 * A limit of concurrent uses of a pool. It begins with one, and doubles each time callers have waited 10 ms. So the
 * polls of a process at rest share one connection of the database, and load opens as many as it needs. A session of
 * PostgreSQL takes 5 to 11 MB while idle, and 6 to 10 ms to open, which is longer than most statements take. A connection
 * that is open and free is used at once: at ordinary load, a few statements overlap, and none waits for another.
 */
export class GrowingLimit {
  readonly #most: number
  readonly #open: () => number
  #limit = 1
  #used = 0
  readonly #waiting: (() => void)[] = []
  #growing: NodeJS.Timeout | undefined
  #shrinking: NodeJS.Timeout | undefined

  /** @param open returns the number of open connections, used or not */
  constructor(most: number, open = () => 0) {
    this.#most = most
    this.#open = open
  }

  get waiting(): number {
    return this.#waiting.length
  }

  /** Runs the work when the limit allows it. At the largest limit nobody waits here: the pool has a queue of its own. */
  async run<T>(work: () => Promise<T>): Promise<T> {
    if (this.#hasRoom()) this.#used++
    else await this.#turn()
    try {
      return await work()
    } finally {
      this.#used--
      this.#admit()
    }
  }

  #hasRoom(): boolean {
    return this.#used < Math.max(this.#limit, this.#open()) || this.#limit === this.#most
  }

  #turn(): Promise<void> {
    this.#growing ??= setInterval(() => this.#grow(), growAfterMs)
    return new Promise((resolve) => {
      this.#waiting.push(resolve)
    })
  }

  #grow(): void {
    this.#limit = Math.min(2 * this.#limit, this.#most)
    this.#shrinking ??= setInterval(() => this.#shrink(), shrinkAfterMs).unref()
    this.#admit()
  }

  #shrink(): void {
    if (2 * this.#used < this.#limit) this.#limit--
    if (this.#limit > 1) return
    clearInterval(this.#shrinking)
    this.#shrinking = undefined
  }

  #admit(): void {
    while (this.#waiting.length > 0 && this.#hasRoom()) {
      this.#used++
      this.#waiting.shift()?.()
    }
    if (this.#waiting.length > 0) return
    clearInterval(this.#growing)
    this.#growing = undefined
  }
}
