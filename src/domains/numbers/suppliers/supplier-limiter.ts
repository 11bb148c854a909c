import { makeFairLimiter } from '../../../platform/lib/fair-limiter.ts'
import { keyedSupplierRequestLimits, supplierRequestLimits } from '../limits.ts'
import { refusals } from '../refusals.ts'

/**
 * Runs the work when the account has capacity.
 * @returns the value of the work
 */
export type SupplierLimiter = <T>(
  who: { readonly account: string; readonly isKeyed: boolean },
  work: () => Promise<T>,
  /** Called with the result if it arrives after the request timed out. */
  onLateResult?: (value: T) => void,
) => Promise<T>

/**
 * Limits concurrent supplier requests per account, so that one account exhausts neither the suppliers' rate nor the
 * database connections.
 * @param longestMs time after which a request is rejected, whatever the supplier does
 */
export const makeSupplierLimiter = (longestMs = 12_000): SupplierLimiter => {
  const requests = makeFairLimiter({ ...supplierRequestLimits, full: refusals.supplierBusy })
  const keyed = makeFairLimiter(keyedSupplierRequestLimits)

  return async ({ account, isKeyed }, work, onLateResult) => {
    if (isKeyed && !keyed.tryAcquire(account)) throw refusals.supplierBusy()
    const control = new AbortController()
    const inTurn = () =>
      requests.run(
        account,
        async () => {
          const value = await work()
          if (control.signal.aborted) onLateResult?.(value)
          return value
        },
        control.signal,
      )
    const end = Promise.withResolvers<never>()
    const timer = setTimeout(() => {
      const reason = refusals.supplierBusy()
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
