import type { Db } from '../db/sql.ts'
import { invalid } from '../http/problem.ts'
import * as inventory from './inventory.ts'

/** How many free numbers one search by digits looks through. Measured: 20,000 take some 5 ms; all of a group of a million
 *  took 150 ms, and an index over three digits each made an import five times as slow. */
const reach = 20_000

const start: inventory.Place = { shuffle: -2_147_483_648, number: '' }

type FreePage = {
  numbers: string[]
  total: number
  /** What `cursor` goes on from; null at the end. */
  next: string | null
}

/**
 * A page of a group's free numbers, in an order that stays. A search by digits looks through the next `reach` of them:
 * in a larger group it goes on by cursor.
 * @param free how many numbers of the group are free
 * @throws the 400 Problem for a cursor that is not of this list
 */
export const freeNumbers = async (
  db: Db,
  group: { id: string; free: number },
  digits: string,
  cursor: string | null,
  { limit, offset }: { limit: number; offset: number },
): Promise<FreePage> => {
  const isSearch = digits !== ''
  const from = cursor === null ? start : await inventory.placeOf(db, group.id, `+${cursor}`)
  if (!from) return invalid('cursor must be a next_cursor of this list')
  const window = { limit: limit + 1, offset: cursor === null ? offset : 0 }
  const found = await inventory.available(db, group.id, digits, from, isSearch ? reach : null, window)
  const numbers = found.slice(0, limit).map((row) => row.number)
  const last = found.length > limit ? numbers.at(-1) : undefined
  if (!isSearch) return { numbers, total: group.free, next: last?.slice(1) ?? null }
  const { looked, total } = await inventory.countAvailable(db, group.id, digits, from, reach)
  // The group goes on behind what was looked at.
  const isCut = last === undefined && looked === reach
  const [end] = isCut ? await inventory.available(db, group.id, '', from, null, { limit: 1, offset: reach - 1 }) : []
  return { numbers, total, next: (last ?? end?.number)?.slice(1) ?? null }
}
