import { type ConcurrencyLimits, makeConcurrencyLimiter, type Slot } from '../lib/concurrency-limiter.ts'
import { type JobKind, Snooze } from './job-kind.ts'
import {
  heldBackPerSecond,
  heldBackSeconds,
  maxHeldRequests,
  maxQuickReceivers,
  quickReceiverMs,
  requestBatch,
  requestConcurrency,
} from './limits.ts'

/** The settings of a kind of job that are the same wherever its requests are shared. */
type SharedKind = Required<Pick<JobKind, 'concurrency' | 'batch' | 'leaseSeconds' | 'fair' | 'capacity' | 'onStopping'>>

/**
 * Shares the requests of one kind of job among accounts: an account whose receiver does not answer leaves slots and room in
 * memory to all others.
 */
export type RequestShare = {
  /** Settings of the kind of job. `capacity`: while an account has its whole room, claims go on for the others, at a bounded
   *  rate. `onStopping` ends what waits for a slot. */
  readonly kind: SharedKind
  /** Runs a job of an account. @throws Snooze if the account has its whole room in memory */
  hold<T>(account: string, work: () => Promise<T>): Promise<T>
  /**
   * Waits for a slot for a request to an address.
   * @returns the function that releases it
   * @throws Snooze if the signal aborts, or the worker stops
   */
  enter(account: string, url: string, signal: AbortSignal): Promise<() => void>
}

const stopping = () => new Snooze('the worker is stopping', 0)

export const makeRequestShare = (
  limits: ConcurrencyLimits = requestConcurrency,
  maxHeld = maxHeldRequests,
  now: () => number = () => performance.now(),
): RequestShare => {
  const limiter = makeConcurrencyLimiter(limits)
  /** Jobs in memory, by account. */
  const held = new Map<string, number>()
  let total = 0
  /** Receivers whose last answer was quick. */
  const quick = new Set<string>()
  const closing = new AbortController()
  /** Jobs that may be sent back now: a job of an account without room costs a claim and its end. */
  let budget = heldBackPerSecond
  let refilledAt = now()

  const refill = (): void => {
    const at = now()
    budget = Math.min(heldBackPerSecond, budget + ((at - refilledAt) * heldBackPerSecond) / 1_000)
    refilledAt = at
  }

  const recordAnswer = (receiver: string, ms: number): void => {
    if (ms > quickReceiverMs) quick.delete(receiver)
    else {
      if (quick.size >= maxQuickReceivers) quick.clear()
      quick.add(receiver)
    }
  }

  const acquire = (slot: Slot, signal: AbortSignal): Promise<void> =>
    new Promise((resolve, reject) => {
      if (signal.aborted) return reject(stopping())
      if (limiter.tryAcquire(slot)) return resolve()
      const stop = () => reject(stopping())
      signal.addEventListener('abort', stop, { once: true })
      limiter.waitFor(slot, () => {
        signal.removeEventListener('abort', stop)
        if (signal.aborted) limiter.release(slot)
        else resolve()
      })
    })

  const capacity = (): number => {
    const free = maxHeld - total
    // As many of one account find room, even those of the account that has most.
    const room = Math.floor((free - Math.max(0, ...held.values())) / 2)
    if (room >= 1) return room
    refill()
    return Math.max(0, Math.min(free, Math.floor(budget)))
  }

  return {
    kind: {
      ...{ concurrency: maxHeld, batch: requestBatch, leaseSeconds: 60, fair: true },
      ...{ capacity, onStopping: () => closing.abort() },
    },
    hold: async (account, work) => {
      const own = held.get(account) ?? 0
      // As many as it leaves free: the next account finds room.
      if (own >= maxHeld - total) {
        refill()
        budget--
        throw new Snooze('other requests of the account are under way', heldBackSeconds * (0.75 + Math.random() / 2))
      }
      held.set(account, own + 1)
      total++
      try {
        return await work()
      } finally {
        total--
        const left = (held.get(account) ?? 1) - 1
        if (left > 0) held.set(account, left)
        else held.delete(account)
      }
    },
    enter: async (account, url, signal) => {
      const host = URL.canParse(url) ? new URL(url).host : ''
      const receiver = `${account} ${host}`
      const slot = { account, host, isQuick: quick.has(receiver) }
      await acquire(slot, AbortSignal.any([signal, closing.signal]))
      const began = now()
      return () => {
        recordAnswer(receiver, now() - began)
        limiter.release(slot)
      }
    },
  }
}
