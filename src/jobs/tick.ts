/** Does something of this process's own every so often, one run after the other, and waits for it when it is ended. For work
 *  that no other process may do instead; what is due once for all processes is a schedule. */
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
    /** Ends it, after a last run. */
    end: async (): Promise<void> => {
      if (timer) clearTimeout(timer)
      timer = null
      await running
      await work().catch(onError)
    },
  }
}
