import { maxMemoryWaitMs, maxSubmissions, maxWaitingInMemory } from '../limits.ts'

/** A message that waits in this process for its turn. */
export type QueuedSubmission = {
  readonly account: string
  /** Claimed from the database; otherwise accepted by this process. The two take turns, too. */
  readonly isClaimed: boolean
  /** Submits the message; resolves once a carrier has answered. Must not reject. */
  start(): Promise<void>
  /** Called instead of `start` when the queue closes. */
  drop(): void
}

/** Messages that wait in this process for capacity of a carrier. Accounts take turns, the messages of one stay in order
 *  (fair queuing, Nagle, RFC 970). */
export type FairQueue = {
  add(entries: readonly QueuedSubmission[]): void
  /** Removes entries that wait. @returns the removed ones */
  remove(entries: ReadonlySet<QueuedSubmission>): QueuedSubmission[]
  /** Number of messages of an account that may still be added by this process: an account may have as many as are free.
   *  Some room is therefore left for every further account (dynamic thresholds, Choudhury and Hahne 1998). */
  room(account: string): number
  /** Number of claimed messages that wait. */
  claimed(): number
  /** Drops what waits, and what is added later. */
  close(): void
}

type Waiting = { readonly entry: QueuedSubmission; readonly at: number }

/** Milliseconds between checks of a queue that waits for capacity. */
const checkIntervalMs = 1_000

/**
 * @param capacity free window of the carriers, in message parts
 * @param onCapacity calls its argument whenever capacity returns, and returns a function that ends this
 */
export const makeFairQueue = (
  capacity: () => number,
  onCapacity: (schedule: () => void) => () => void = () => () => {},
  now: () => number = () => performance.now(),
): FairQueue => {
  /** By account and origin, in the order of their turns. No queue is empty. */
  const queues = new Map<string, Waiting[]>()
  const counts = { local: 0, claimed: 0 }
  let running = 0
  let isScheduled = false
  let isClosed = false
  let timer: NodeJS.Timeout | undefined

  const keyOf = ({ account, isClaimed }: QueuedSubmission) => (isClaimed ? `${account} claimed` : account)
  const count = ({ isClaimed }: QueuedSubmission, by: number) => {
    counts[isClaimed ? 'claimed' : 'local'] += by
  }

  const run = (key: string, queue: Waiting[]) => {
    const first = queue.shift()
    // The next turn comes after those of all others.
    queues.delete(key)
    if (queue.length > 0) queues.set(key, queue)
    if (!first) return
    count(first.entry, -1)
    running++
    void first.entry.start().then(() => {
      running--
      schedule()
    })
  }

  const pump = () => {
    let free = capacity()
    while (running < maxSubmissions && free >= 1) {
      const [next] = queues
      if (!next) return
      run(...next)
      free--
    }
    if (queues.size === 0) return
    const before = now() - maxMemoryWaitMs
    for (const [key, queue] of [...queues])
      while (running < maxSubmissions && queue[0] && queue[0].at < before) run(key, queue)
    timer ??= setTimeout(() => {
      timer = undefined
      pump()
    }, checkIntervalMs).unref()
  }

  const schedule = () => {
    if (isScheduled || queues.size === 0) return
    isScheduled = true
    setImmediate(() => {
      isScheduled = false
      pump()
    })
  }

  const unsubscribe = onCapacity(schedule)

  return {
    add: (entries) => {
      for (const entry of entries) {
        if (isClosed) {
          entry.drop()
          continue
        }
        const key = keyOf(entry)
        const queue = queues.get(key)
        if (queue) queue.push({ entry, at: now() })
        else queues.set(key, [{ entry, at: now() }])
        count(entry, 1)
      }
      schedule()
    },
    remove: (entries) => {
      const removed: QueuedSubmission[] = []
      for (const [key, queue] of [...queues]) {
        const left = queue.filter(({ entry }) => !entries.has(entry))
        if (left.length === queue.length) continue
        for (const { entry } of queue) if (entries.has(entry)) removed.push(entry)
        if (left.length === 0) queues.delete(key)
        else queues.set(key, left)
      }
      for (const entry of removed) count(entry, -1)
      return removed
    },
    room: (account) => {
      const free = maxWaitingInMemory - counts.local
      return isClosed ? 0 : Math.max(0, free - (queues.get(account)?.length ?? 0))
    },
    claimed: () => counts.claimed,
    close: () => {
      isClosed = true
      unsubscribe()
      clearTimeout(timer)
      const left = [...queues.values()].flat()
      queues.clear()
      counts.local = 0
      counts.claimed = 0
      for (const { entry } of left) entry.drop()
    },
  }
}
