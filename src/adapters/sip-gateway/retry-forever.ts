import type { Timers } from '@trunkline/sip/timers.ts'
import { maxRetryMs } from './limits.ts'

/** Repeats an operation until it succeeds, with delays that grow to one minute. Stopping the timers ends it. */
export const retryForever = async (
  timers: Timers,
  fault: (error: unknown) => void,
  run: () => Promise<void>,
): Promise<void> => {
  for (let waitMs = 1_000; ; waitMs = Math.min(maxRetryMs, waitMs * 2)) {
    try {
      await run()
      return
    } catch (error) {
      fault(error)
    }
    await new Promise<void>((resolve) => timers.after(waitMs, resolve))
  }
}
