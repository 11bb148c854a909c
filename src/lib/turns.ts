import { setImmediate } from 'node:timers/promises'

/** The longest that a reader works before it yields, ms. */
const longestMs = 5

/** Bounds by elapsed time how long a reader holds the event loop. A count of records would not: their costs differ too much. */
export class Turns {
  private began = performance.now()

  get isOver(): boolean {
    return performance.now() - this.began >= longestMs
  }

  /** Lets the event loop run. */
  async next(): Promise<void> {
    await setImmediate()
    this.began = performance.now()
  }
}
