import { alignedDelay, inTurn } from '../lib/background-turns.ts'

/**
 * Repeats work of this process at an interval, one run after the other. For work that belongs to this process; work that
 * must run once for all processes is a schedule.
 * @param options.waitsForOthers whether a run waits its turn among other background work, for 0.1 s each. Default: for
 * intervals of 500 ms and more
 */
export const tick = (
  milliseconds: number,
  work: () => Promise<void>,
  onError: (error: unknown) => void,
  { waitsForOthers = milliseconds >= 500 } = {},
) => {
  let running = Promise.resolve()
  let timer: NodeJS.Timeout | null = null
  const arm = () => {
    timer = setTimeout(() => {
      running = (waitsForOthers ? inTurn(work) : work()).catch(onError).then(() => (timer ? arm() : undefined))
    }, alignedDelay(milliseconds))
    timer.unref()
  }
  arm()
  return {
    /** Stops after a last run. */
    end: async (): Promise<void> => {
      if (timer) clearTimeout(timer)
      timer = null
      await running
      await work().catch(onError)
    },
  }
}
