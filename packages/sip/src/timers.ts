/** The clock of the stack, replaceable in tests. */
export type Timers = {
  /** Milliseconds of a monotonic clock. */
  now(): number
  /** Runs a function once, after this delay. Returns its cancellation. */
  after(milliseconds: number, run: () => void): () => void
}

export const realTimers: Timers = {
  now: () => performance.now(),
  after: (milliseconds, run) => {
    const timer = setTimeout(run, milliseconds)
    return () => clearTimeout(timer)
  },
}

/**
 * Timers of one owner, which `stop` cancels together; none starts afterwards.
 * @param fault called with errors of the callbacks, which nothing else would catch
 */
export const cancellableTimers = (timers: Timers, fault: (error: unknown) => void): Timers & { stop(): void } => {
  const running = new Set<() => void>()
  let isStopped = false
  return {
    now: () => timers.now(),
    after: (milliseconds, run) => {
      if (isStopped) return () => {}
      const cancel = timers.after(milliseconds, () => {
        running.delete(cancel)
        try {
          run()
        } catch (error) {
          fault(error)
        }
      })
      running.add(cancel)
      return () => {
        running.delete(cancel)
        cancel()
      }
    },
    stop: () => {
      isStopped = true
      for (const cancel of running) cancel()
      running.clear()
    },
  }
}

/** RFC 3261, 17.1.1.1 and 17.1.2.2; ms. */
export const t1Ms = 500
export const t2Ms = 4_000
export const t4Ms = 5_000

/** How long a transaction waits for a message that may be lost: timers B, F, H, J, L and M. */
export const transactionTimeoutMs = 64 * t1Ms
