import type { Timers } from '../codec/timers.ts'

const longestMs = 60_000

/** Does something until it succeeds, ever more rarely: once a minute at last. A stopped clock ends it. */
export const settle = async (
  timers: Timers,
  fault: (error: unknown) => void,
  run: () => Promise<void>,
): Promise<void> => {
  for (let waitMs = 1_000; ; waitMs = Math.min(longestMs, waitMs * 2)) {
    try {
      await run()
      return
    } catch (error) {
      fault(error)
    }
    await new Promise<void>((resolve) => timers.after(waitMs, resolve))
  }
}
