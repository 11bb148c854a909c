import { setImmediate } from 'node:timers/promises'

/** Milliseconds that a reader works before it yields. */
const sliceMs = 5

/** Limits by elapsed time how long a reader blocks the event loop. A record count would not, as their costs differ. */
export class TimeSlice {
  private began = performance.now()

  get isOver(): boolean {
    return performance.now() - this.began >= sliceMs
  }

  /** Yields to the event loop. */
  async yieldToLoop(): Promise<void> {
    await setImmediate()
    this.began = performance.now()
  }
}
