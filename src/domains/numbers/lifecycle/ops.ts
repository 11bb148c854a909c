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

/** Renames a number. @returns the number before and after; null if the account has none of this id */
export const renameNumber = async (
  tx: Tx,
  changes: InvalidationBus,
  account: string,
  id: string,
  name: string,
): Promise<{ before: virtualNumbers.NumberRow; after: virtualNumbers.NumberRow } | null> => {
  const before = await virtualNumbers.lock(tx, account, id)
  if (!before) return null
  const after = await virtualNumbers.change(tx, account, id, { ...before, friendly_name: name })
  await changes.invalidate(tx, 'numbers')
  return { before, after }
}

/** Returns a number as the audit trail shows it. */
export const auditedNumber = (row: virtualNumbers.NumberRow) => presentNumber(row)
