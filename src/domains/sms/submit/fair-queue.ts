import {
  maxMemoryWaitMs,
  maxSubmissions,
  maxWaitingAtPace,
  maxWaitingInMemory,
  memorySeconds,
  paceWindowMs,
} from '../limits.ts'

/** A message that waits in this process for its turn. */
export type QueuedSubmission = {
  /** Ids ascend in order of acceptance. */
  readonly id: string
  readonly account: string
  /** Claimed from the database; otherwise accepted by this process. */
  readonly isClaimed: boolean
  /** Submits the message; resolves once a carrier has answered. Must not reject. */
  start(): Promise<void>
  /** Called instead of `start` when the queue closes. */
  drop(): void
}

/** Messages that wait in this process for capacity of a carrier. Accounts take turns (fair queuing, Nagle, RFC 970). The
 *  messages of one start in order of acceptance: a claimed message is not overtaken by one that this process accepts. */
export type FairQueue = {
  add(entries: readonly QueuedSubmission[]): void
  /** Removes entries that wait. @returns the removed ones */
  remove(entries: ReadonlySet<QueuedSubmission>): QueuedSubmission[]
  /** Number of messages of an account that may still be added by this process: an account may have as many as are free.
   *  Some room is therefore left for every further account (dynamic thresholds, Choudhury and Hahne 1998). The total
   *  grows with the pace at which messages start: those that stay here are not read from the database again. */
  room(account: string): number
  /** Calls `effect` when messages wait for capacity and no carrier owes a response: only a commit returns capacity. */
  onStalled(effect: () => void): void
  /** Number of claimed messages that wait. */
  claimed(): number
  /** Drops what waits, and what is added later. */
  close(): void
}

type Waiting = { readonly entry: QueuedSubmission; readonly at: number }

/** What waits for an account, by id. */
type AccountQueue = { readonly waiting: Waiting[]; local: number }

/** Measures how many messages start in a second. */
const makePace = (now: () => number) => {
  let since = now()
  let count = 0
  let pace = 0
  const roll = () => {
    const elapsed = now() - since
    if (elapsed < paceWindowMs) return
    pace = elapsed < 2 * paceWindowMs ? (count * 1_000) / elapsed : 0
    since += elapsed
    count = 0
  }
  return {
    add: () => {
      roll()
      count++
    },
    perSecond: () => {
      roll()
      return pace
    },
  }
}

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
  /** By account, in the order of their turns. No queue is empty. */
  const queues = new Map<string, AccountQueue>()
  const counts = { local: 0, claimed: 0 }
  const pace = makePace(now)
  let running = 0
  /** No message has waited too long before this time. */
  let overdueAfter = Number.POSITIVE_INFINITY
  let stalled = () => {}
  let isScheduled = false
  let isClosed = false
  let timer: NodeJS.Timeout | undefined

  const count = (queue: AccountQueue, { isClaimed }: QueuedSubmission, by: number) => {
    counts[isClaimed ? 'claimed' : 'local'] += by
    if (!isClaimed) queue.local += by
  }

  const insert = (entry: QueuedSubmission) => {
    const queue = queues.get(entry.account) ?? { waiting: [], local: 0 }
    queues.set(entry.account, queue)
    // Most messages are the newest of their account.
    const before = queue.waiting.findLastIndex((other) => other.entry.id < entry.id)
    const at = now()
    queue.waiting.splice(before + 1, 0, { entry, at })
    if (overdueAfter === Number.POSITIVE_INFINITY) overdueAfter = at + maxMemoryWaitMs
    count(queue, entry, 1)
  }

  const run = (account: string, queue: AccountQueue) => {
    const first = queue.waiting.shift()
    // The next turn comes after those of all others.
    queues.delete(account)
    if (queue.waiting.length > 0) queues.set(account, queue)
    if (!first) return
    count(queue, first.entry, -1)
    pace.add()
    running++
    void first.entry.start().then(() => {
      running--
      schedule()
    })
  }

  const startOverdue = () => {
    // The search looks at all messages, and its caller runs several times a millisecond.
    if (now() <= overdueAfter) return
    const before = now() - maxMemoryWaitMs
    for (const [account, queue] of [...queues]) {
      // A message that came late may be the first one. Those behind it do not wait longer for that.
      const overdue = queue.waiting.findLastIndex(({ at }) => at < before) + 1
      for (let i = 0; i < overdue && running < maxSubmissions; i++) run(account, queue)
    }
    let oldest = Number.POSITIVE_INFINITY
    for (const { waiting } of queues.values()) for (const { at } of waiting) if (at < oldest) oldest = at
    overdueAfter = oldest + maxMemoryWaitMs
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
    if (running === 0) stalled()
    startOverdue()
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
        insert(entry)
      }
      schedule()
    },
    remove: (entries) => {
      const removed: QueuedSubmission[] = []
      for (const [account, queue] of [...queues]) {
        const out = queue.waiting.filter(({ entry }) => entries.has(entry))
        if (out.length === 0) continue
        const left = queue.waiting.filter(({ entry }) => !entries.has(entry))
        queue.waiting.splice(0, queue.waiting.length, ...left)
        if (left.length === 0) queues.delete(account)
        for (const { entry } of out) {
          count(queue, entry, -1)
          removed.push(entry)
        }
      }
      return removed
    },
    room: (account) => {
      const most = Math.min(maxWaitingAtPace, Math.max(maxWaitingInMemory, pace.perSecond() * memorySeconds))
      const free = most - counts.local
      return isClosed ? 0 : Math.max(0, free - (queues.get(account)?.local ?? 0))
    },
    onStalled: (effect) => {
      stalled = effect
    },
    claimed: () => counts.claimed,
    close: () => {
      isClosed = true
      unsubscribe()
      clearTimeout(timer)
      const left = [...queues.values()].flatMap(({ waiting }) => waiting)
      queues.clear()
      counts.local = 0
      counts.claimed = 0
      for (const { entry } of left) entry.drop()
    },
  }
}
