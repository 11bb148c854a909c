import { canonicalNumber } from '@trunkline/phone/number-forms.ts'
import type { Sql } from '../../../platform/db/sql.ts'
import { blockedAmong, type NumberOfAccount } from './store.ts'

/** Finds which senders or callers are blocked: numbers of blocked contacts. Other names and numbers never are.
 *  @returns a predicate over the numbers that were passed */
export const findBlocked = async (
  sql: Sql,
  candidates: readonly NumberOfAccount[],
): Promise<(account: string, number: string) => boolean> => {
  const numbers = candidates.map(({ account, number }) => ({ account, number: canonicalNumber(number) }))
  const rows = numbers.length === 0 ? [] : await blockedAmong(sql, numbers)
  const blocked = new Set(rows.map(({ account, number }) => `${account} ${number}`))
  return (account, number) => blocked.has(`${account} ${canonicalNumber(number)}`)
}
