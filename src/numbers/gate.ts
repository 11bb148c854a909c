import { Problem } from '../http/problem.ts'
import { makeFairLimiter } from '../lib/fair-limiter.ts'

/** Requests of one account that are at suppliers at a time, and how many more of it wait for their turn. Together they are
 *  as many as suppliers bear. */
const room = { perKey: 2, total: 64, queue: { perKey: 20, total: 1_280 } }
/** Requests with an Idempotency-Key: each holds one of few connections to the database (http/limiters.ts). */
const keyedRoom = { perKey: 2, total: 4 }

const busy = () =>
  new Problem(
    'unavailable',
    'The supplier of this number is asked by too many at this moment: nothing was charged, try again in a second',
    'supplier_busy',
    { 'retry-after': '1' },
  )

/** @returns the value of the work, in the account's turn */
export type Gate = <T>(
  who: { readonly account: string; readonly isKeyed: boolean },
  work: () => Promise<T>,
  /** Is given what the work comes to after its requester was sent away. */
  tooLate?: (value: T) => void,
) => Promise<T>

/**
 * Lets requests to suppliers, few of each account at a time, so that one account takes neither the suppliers' pace nor the
 * connections to the database from the others.
 * @param longestMs after which a request is sent away, whatever the supplier does
 */
export const makeGate = (longestMs = 12_000): Gate => {
  const requests = makeFairLimiter({ ...room, full: busy })
  const keyed = makeFairLimiter(keyedRoom)

  return async ({ account, isKeyed }, work, tooLate) => {
    if (isKeyed && !keyed.tryAcquire(account)) throw busy()
    const control = new AbortController()
    const inTurn = () =>
      requests.run(
        account,
        async () => {
          const value = await work()
          if (control.signal.aborted) tooLate?.(value)
          return value
        },
        control.signal,
      )
    const end = Promise.withResolvers<never>()
    const timer = setTimeout(() => {
      const reason = busy()
      control.abort(reason)
      end.reject(reason)
    }, longestMs)
    try {
      return await Promise.race([inTurn(), end.promise])
    } finally {
      if (isKeyed) keyed.release(account)
      clearTimeout(timer)
    }
  }
}
