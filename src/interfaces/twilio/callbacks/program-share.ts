import { Snooze } from '../../../platform/jobs/job-kind.ts'
import { type ConcurrencyLimits, makeConcurrencyLimiter, type Slot } from '../../../platform/lib/concurrency-limiter.ts'
import {
  heldBackPerSecond,
  heldBackSeconds,
  maxHeldCallbacks,
  maxKnownPrograms,
  programConcurrency,
  quickProgramMs,
} from '../limits.ts'

/**
 * Shares the requests to programs of one kind of job among accounts: an account whose program does not answer leaves slots
 * and room in memory to all others.
 */
export type ProgramShare = {
  /** Jobs that may be claimed now: while an account has its whole room, claims go on for the others, at a bounded rate. */
  capacity(): number
  /** Runs a job of an account. @throws Snooze if the account has its whole room in memory */
  hold<T>(account: string, work: () => Promise<T>): Promise<T>
  /**
   * Waits for a slot for a request to an address.
   * @returns the function that releases it
   * @throws Snooze if the signal aborts, or the share is closed
   */
  enter(account: string, url: string, signal: AbortSignal): Promise<() => void>
  /** Ends what waits for a slot. */
  close(): void
}

const stopping = () => new Snooze('the worker is stopping', 0)

export const makeProgramShare = (
  limits: ConcurrencyLimits = programConcurrency,
  maxHeld = maxHeldCallbacks,
  now: () => number = () => performance.now(),
): ProgramShare => {
  const limiter = makeConcurrencyLimiter(limits)
  /** Jobs in memory, by account. */
  const held = new Map<string, number>()
  let total = 0
  /** Programs whose last answer was quick. */
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

  const recordAnswer = (program: string, ms: number): void => {
    if (ms > quickProgramMs) quick.delete(program)
    else {
      if (quick.size >= maxKnownPrograms) quick.clear()
      quick.add(program)
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

  return {
    capacity: () => {
      const free = maxHeld - total
      // As many of one account find room, even those of the account that has most.
      const room = Math.floor((free - Math.max(0, ...held.values())) / 2)
      if (room >= 1) return room
      refill()
      return Math.max(0, Math.min(free, Math.floor(budget)))
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
      const program = `${account} ${host}`
      const slot = { account, host, isQuick: quick.has(program) }
      await acquire(slot, AbortSignal.any([signal, closing.signal]))
      const began = now()
      return () => {
        recordAnswer(program, now() - began)
        limiter.release(slot)
      }
    },
    close: () => closing.abort(),
  }
}
