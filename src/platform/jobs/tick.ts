/** Repeats work of this process at an interval, one run after the other. For work that belongs to this process; work
 *  that must run once for all processes is a schedule. */
export const tick = (milliseconds: number, work: () => Promise<void>, onError: (error: unknown) => void) => {
  let running = Promise.resolve()
  let timer: NodeJS.Timeout | null = null
  const arm = () => {
    timer = setTimeout(() => {
      running = work()
        .catch(onError)
        .then(() => (timer ? arm() : undefined))
    }, milliseconds)
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
