import { makeFairLimiter } from '../../../platform/lib/fair-limiter.ts'
import { fetchLimits } from '../limits.ts'
import { snooze, type TimedJob } from '../operations/snooze.ts'

type LimitedJob = TimedJob & { readonly account: string | null }

/** Limits fetches from servers that tenants or strangers name: a slow server delays only the accounts that use it. */
export type FetchLimiter = {
  /**
   * Runs the work with a deadline, if the account has a free slot.
   * @throws Later if there is none
   */
  run<R>(job: LimitedJob, signal: AbortSignal, work: (signal: AbortSignal) => Promise<R>): Promise<R>
}

export const makeFetchLimiter = ({ each, all, longestMs } = fetchLimits): FetchLimiter => {
  const fetches = makeFairLimiter({ perKey: each, total: all })
  return {
    run: async (job, signal, work) => {
      const account = job.account ?? ''
      if (!fetches.tryAcquire(account)) snooze(job, 'other files are fetched first', { least: 1, most: 60 })
      try {
        return await work(AbortSignal.any([signal, AbortSignal.timeout(longestMs)]))
      } finally {
        fetches.release(account)
      }
    },
  }
}

/** Races the work against the signal. */
export const raceSignal = async <R>(signal: AbortSignal, work: Promise<R>): Promise<R> => {
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
