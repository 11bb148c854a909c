/** The maximum time that one input may hold the event loop, ms. */
export const mostMs = 50

/** The longest tick in which CPU time is counted, ms. */
const tick = 10

const stopwatch = () => {
  const [began, cpu] = [performance.now(), process.threadCpuUsage()]
  return (): number => {
    const wall = performance.now() - began
    if (wall < tick) return wall
    const { user, system } = process.threadCpuUsage(cpu)
    return Math.min(wall, Math.max(tick, (user + system) / 1000))
  }
}

/** Runs an action and measures the longest time that it held the event loop, ms. */
export const measureHold = async <T>(act: () => Promise<T>): Promise<{ value: T; ms: number }> => {
  let [longest, isOver, stop] = [0, false, stopwatch()]
  const look = (): void => {
    longest = Math.max(longest, stop())
    stop = stopwatch()
    if (!isOver) setImmediate(look)
  }
  setImmediate(look)
  try {
    const value = await act()
    return { value, ms: Math.max(longest, stop()) }
  } finally {
    isOver = true
  }
}

/** Attempts for a slow input: a disturbance rarely affects all of them. */
const tries = 5

/**
 * The slowest of many inputs, in ms of wall time, or of CPU time where the wall time exceeds a tick. Slow inputs are
 * repeated and their shortest time counts, because a garbage collection only adds to it.
 */
export class SlowestInput {
  private count = 0
  private most = 0
  private readonly name: string

  constructor(name: string) {
    this.name = name
  }

  private add(ms: number): void {
    this.count++
    this.most = Math.max(this.most, ms)
  }

  run(act: () => unknown): void {
    let least = Number.POSITIVE_INFINITY
    for (let left = tries; left > 0; left--) {
      const stop = stopwatch()
      act()
      least = Math.min(least, stop())
      if (least < mostMs / 10) break
    }
    this.add(least)
  }

  /** Measures the longest time that the event loop was held. */
  async runAsync(act: () => Promise<unknown>): Promise<void> {
    let least = Number.POSITIVE_INFINITY
    for (let left = tries; left > 0 && least >= mostMs / 10; left--)
      least = Math.min(least, (await measureHold(act)).ms)
    this.add(least)
  }

  get ms(): number {
    return this.most
  }

  toString(): string {
    return `${this.name}: ${this.count} inputs, the worst took ${this.most.toFixed(1)} ms`
  }
}
