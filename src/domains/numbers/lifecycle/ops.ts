import type { InvalidationBus } from '../../../platform/db/invalidation-bus.ts'
import type { ListPage } from '../../../platform/db/list-query.ts'
import type { Sql, Tx } from '../../../platform/db/sql.ts'
import { presentNumber } from './number-presenter.ts'
import * as virtualNumbers from './virtual-number-store.ts'

export type NumberFilters = virtualNumbers.NumberFilters
export type NumberRow = virtualNumbers.NumberRow

/** Returns a number of the account; null if it has none of this id. */
export const findNumber = (sql: Sql, account: string, id: string): Promise<virtualNumbers.NumberRow | null> =>
  virtualNumbers.find(sql, account, id)

/** Returns a page of the account's numbers, oldest first. */
export const pageOfNumbers = (sql: Sql, account: string, at: ListPage, filters: virtualNumbers.NumberFilters) =>
  virtualNumbers.page(sql, account, at, filters)

/** Fields of a number that a change sets; absent ones stay. */
export type NumberChanges = Partial<Pick<virtualNumbers.NumberRow, 'friendly_name' | 'voice' | 'inbound_user_id'>>

/** Changes a number. Returns it before and after; null if the account has no such number. */
export const changeNumber = async (
  tx: Tx,
  changes: InvalidationBus,
  account: string,
  id: string,
  fields: NumberChanges | ((before: virtualNumbers.NumberRow) => Promise<NumberChanges>),
): Promise<{ before: virtualNumbers.NumberRow; after: virtualNumbers.NumberRow } | null> => {
  const before = await virtualNumbers.lock(tx, account, id)
  if (!before) return null
  const next = typeof fields === 'function' ? await fields(before) : fields
  if (Object.keys(next).length === 0) return { before, after: before }
  const after = await virtualNumbers.change(tx, account, id, { ...before, ...next })
  await changes.invalidate(tx, 'numbers')
  return { before, after }
}

/** Returns a number as the audit trail shows it. */
export const auditedNumber = (row: virtualNumbers.NumberRow) => presentNumber(row)
