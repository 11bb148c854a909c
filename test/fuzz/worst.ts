/** How long one input may hold the event loop, ms. */
export const mostMs = 50

/** Processor time is counted in ticks of so many ms at most. */
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

/** How often a slow input is tried again: whatever came between does so seldom every time. */
const tries = 5

/**
 * The dearest of many inputs: ms by the clock, and of the processor where the clock shows more than a tick. Slow inputs are tried
 * again and their least time counts: a collection of garbage only adds to it.
 */
export class Worst {
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

  /** Counts the longest that the event loop was held at a time. */
  async runAsync(act: () => Promise<unknown>): Promise<void> {
    const once = async (): Promise<number> => {
      let [longest, isOver, stop] = [0, false, stopwatch()]
      const look = (): void => {
        longest = Math.max(longest, stop())
        stop = stopwatch()
        if (!isOver) setImmediate(look)
      }
      setImmediate(look)
      await act()
      isOver = true
      return Math.max(longest, stop())
    }
    let least = Number.POSITIVE_INFINITY
    for (let left = tries; left > 0 && least >= mostMs / 10; left--) least = Math.min(least, await once())
    this.add(least)
  }

  get ms(): number {
    return this.most
  }

  toString(): string {
    return `${this.name}: ${this.count} inputs, the worst took ${this.most.toFixed(1)} ms`
  }
}
