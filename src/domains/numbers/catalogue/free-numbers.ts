import type { Db } from '../../../platform/db/sql.ts'
import { refusals as httpRefusals } from '../../../platform/http/refusals.ts'
import { maxExaminedNumbers } from '../limits.ts'
import * as inventory from '../purchase/inventory-store.ts'

const firstPosition: inventory.InventoryPosition = { shuffle: -2_147_483_648, number: '' }

type FreePage = {
  numbers: string[]
  total: number
  /** Cursor of the next page; null at the end. */
  next: string | null
}

/**
 * Returns a page of a group's free numbers in a stable order. A search by digits examines the next `maxExamined` numbers; in
 * a larger group it continues by cursor.
 * @param free number of free numbers in the group
 * @throws the 400 Problem for a cursor that is not of this list
 */
export const freeNumbers = async (
  db: Db,
  group: { id: string; free: number },
  digits: string,
  cursor: string | null,
  { limit, skip }: { limit: number; skip: number },
): Promise<FreePage> => {
  const isSearch = digits !== ''
  const from = cursor === null ? firstPosition : await inventory.positionOf(db, group.id, `+${cursor}`)
  if (!from) throw httpRefusals.badCursor()
  const window = { limit: limit + 1, skip: cursor === null ? skip : 0 }
  const found = await inventory.available(db, group.id, digits, from, isSearch ? maxExaminedNumbers : null, window)
  const numbers = found.slice(0, limit).map((row) => row.number)
  const last = found.length > limit ? numbers.at(-1) : undefined
  if (!isSearch) return { numbers, total: group.free, next: last?.slice(1) ?? null }
  const { looked, total, end } = await inventory.countAvailable(db, group.id, digits, from, maxExaminedNumbers)
  // The group continues beyond the examined numbers.
  const isCut = last === undefined && looked === maxExaminedNumbers
  const next = last ?? (isCut ? end : null)
  return { numbers, total, next: next?.slice(1) ?? null }
}
