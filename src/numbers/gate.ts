import { Problem } from '../http/problem.ts'

/** Requests of one account that are at suppliers at a time, and how many more of it wait for their turn. */
const atOnce = 2
const longestLine = 20
/** Of those with an Idempotency-Key, of all accounts: each holds a connection to the database, of which there are few
 *  (http/idempotency.ts). */
const mostKeyed = 3

type Line = { running: number; readonly waiting: (() => void)[] }

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
  const lines = new Map<string, Line>()
  let keyed = 0

  return async ({ account, isKeyed }, work, tooLate) => {
    const line = lines.get(account) ?? { running: 0, waiting: [] }
    if ((isKeyed && keyed >= mostKeyed) || line.waiting.length >= longestLine) throw busy()
    lines.set(account, line)
    let isOver = false
    const inTurn = async () => {
      if (line.running >= atOnce) await new Promise<void>((resolve) => line.waiting.push(resolve))
      else line.running++
      try {
        if (isOver) throw busy()
        const value = await work()
        if (isOver) tooLate?.(value)
        return value
      } finally {
        const next = line.waiting.shift()
        if (next) next()
        else if (--line.running === 0) lines.delete(account)
      }
    }
    const end = Promise.withResolvers<never>()
    const timer = setTimeout(() => {
      isOver = true
      end.reject(busy())
    }, longestMs)
    if (isKeyed) keyed++
    try {
      return await Promise.race([inTurn(), end.promise])
    } finally {
      if (isKeyed) keyed--
      clearTimeout(timer)
    }
  }
}
