/** Time as the stack sees it, so that tests can move it. */
export type Timers = {
  /** Milliseconds since any moment; never goes back. */
  now(): number
  /** Runs something once, so many milliseconds later; gives what calls it off. */
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
 * Timers of one owner, who can call all of them off, and then starts no more.
 * @param fault told what was thrown by what ran: nothing else would catch it
 */
export const owned = (timers: Timers, fault: (error: unknown) => void): Timers & { stop(): void } => {
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
export const t1 = 500
export const t2 = 4_000
export const t4 = 5_000

/** How long a transaction waits for what no longer comes: timers B, F, H, J, L and M. */
export const patience = 64 * t1
