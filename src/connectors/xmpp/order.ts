/** Does things of one key one after the other, and those of different keys at the same time. */
export class Order {
  private readonly tails = new Map<string, Promise<void>>()

  /** @param act must not throw */
  run(key: string, act: () => Promise<void>): Promise<void> {
    const before = this.tails.get(key)
    const turn = before ? before.then(act) : act()
    this.tails.set(key, turn)
    return turn.finally(() => {
      if (this.tails.get(key) === turn) this.tails.delete(key)
    })
  }
}

/** The newest keys that were told, and what was told of them. */
export class Recent<T> {
  private readonly kept = new Map<string, T>()
  private readonly most: number

  constructor(most: number) {
    this.most = most
  }

  get(key: string): T | undefined {
    return this.kept.get(key)
  }

  has(key: string): boolean {
    return this.kept.has(key)
  }

  delete(key: string): void {
    this.kept.delete(key)
  }

  set(key: string, value: T): void {
    this.kept.delete(key)
    this.kept.set(key, value)
    const [oldest] = this.kept.keys()
    if (this.kept.size > this.most && oldest !== undefined) this.kept.delete(oldest)
  }
}
