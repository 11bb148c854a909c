import { makeFairLimiter } from '../../lib/fair-limiter.ts'
import { type Aged, putOff } from '../later.ts'

type Asker = Aged & { readonly account: string | null }

/** Bounds what is fetched from servers that tenants, or strangers, name: a slow one holds up those who named it, and no others. */
export type Turns = {
  /**
   * Does the work within a deadline, if the account has a place.
   * @throws Later when it has none
   */
  take<R>(job: Asker, signal: AbortSignal, work: (signal: AbortSignal) => Promise<R>): Promise<R>
}

/** Fetches at a time, of one account and in all: fewer than a connection runs at a time, so that messages go on. */
const usual = { each: 16, all: 128, longestMs: 120_000 }

export const makeTurns = ({ each, all, longestMs } = usual): Turns => {
  const fetches = makeFairLimiter({ perKey: each, total: all })
  return {
    take: async (job, signal, work) => {
      const account = job.account ?? ''
      if (!fetches.tryAcquire(account)) putOff(job, 'other files are fetched first', { least: 1, most: 60 })
      try {
        return await work(AbortSignal.any([signal, AbortSignal.timeout(longestMs)]))
      } finally {
        fetches.release(account)
      }
    },
  }
}

/** What ends by itself, or else with the signal. */
export const within = async <R>(signal: AbortSignal, work: Promise<R>): Promise<R> => {
  signal.throwIfAborted()
  const over = Promise.withResolvers<never>()
  const end = () => over.reject(signal.reason)
  signal.addEventListener('abort', end)
  try {
    return await Promise.race([work, over.promise])
  } finally {
    signal.removeEventListener('abort', end)
  }
}
