/** A timer of more than 2^31 ms ends at once. */
const longestTimerMs = 60_000

/**
 * Makes the turns of keys, such as accounts. The key that waits longest comes first, so that the backlog of one delays no
 * other, and no key works twice at a time.
 * @param atOnce keys at work at once
 * @param work one turn of a key. Returns the milliseconds until its next one, or null. It must not throw
 */
export const makeTurns = (atOnce: number, work: (key: string) => Promise<number | null>) => {
  /** Scheduled keys, with the monotonic time from which on. */
  const due = new Map<string, number>()
  const running = new Map<string, Promise<void>>()
  let timer: NodeJS.Timeout | undefined
  let isStopped = false

  const add = (key: string, delayMs: number) => {
    const at = performance.now() + delayMs
    if (at < (due.get(key) ?? Number.POSITIVE_INFINITY)) due.set(key, at)
  }

  const run = async (key: string) => {
    const next = await work(key)
    running.delete(key)
    if (next !== null) add(key, next)
    if (!isStopped) startDue()
  }

  const startDue = () => {
    const now = performance.now()
    const ready = [...due].filter(([key, at]) => at <= now && !running.has(key)).sort((a, b) => a[1] - b[1])
    for (const [key] of ready.slice(0, Math.max(0, atOnce - running.size))) {
      due.delete(key)
      running.set(key, run(key))
    }
    arm()
  }

  const arm = () => {
    clearTimeout(timer)
    if (isStopped || running.size >= atOnce) return
    const first = Math.min(...[...due].filter(([key]) => !running.has(key)).map(([, at]) => at))
    if (first === Number.POSITIVE_INFINITY) return
    timer = setTimeout(startDue, Math.min(longestTimerMs, Math.max(0, first - performance.now()))).unref()
  }

  return {
    /** Makes a key due, unless it is due earlier already. */
    schedule: (key: string, delayMs: number): void => {
      add(key, delayMs)
      arm()
    },
    /** Whether a key is scheduled or at work. */
    has: (key: string): boolean => due.has(key) || running.has(key),
    /** Number of turns that are scheduled or under way. */
    size: (): number => due.size + running.size,
    /** Starts nothing more, and waits for the work under way. */
    stop: async (): Promise<void> => {
      isStopped = true
      clearTimeout(timer)
      await Promise.all(running.values())
    },
  }
}
