import type { Sql } from '../db/sql.ts'
import { timeOf } from '../lib/id.ts'
import * as store from './store.ts'

/** Events are numbered when they are written, and seen when their transaction commits: one that took longer comes to light
 *  behind others. So it is looked for once more within this time. */
const lookbackMs = 10_000
/** Events looked at by one read: what is told, remembered and read again stays within it. */
const pageSize = 5_000

/** The first id of a moment, in Unix milliseconds. */
const idAt = (ms: number): string => {
  const hex = Math.max(0, ms).toString(16).padStart(12, '0')
  return `${hex.slice(0, 8)}-${hex.slice(8)}-7000-8000-000000000000`
}

/** Where to begin behind an event that a laptop had last: what came to light late before it is told too, and what it had
 *  already it knows by the id. */
export const startBehind = (id: string): string => idAt(timeOf(id) - lookbackMs)

/** Reads an account's events in their order, each once, from where it began. */
export const makeReader = (
  sql: Sql,
  account: string,
  start: string,
  names: readonly string[] | null,
  page = pageSize,
) => {
  let floor = start
  const told = new Set<string>()

  /** Everything up to there has been seen, and need not be remembered. */
  const raise = (until: string) => {
    if (until <= floor) return
    floor = until
    for (const id of told) if (id <= floor) told.delete(id)
  }

  const read = async (limit: number): Promise<{ events: store.EventRow[]; last: string | null }> => {
    const rows = await store.since(sql, { account, after: floor, told: [...told], names, limit, page })
    return { events: rows.filter((row) => row.id !== null), last: rows[0]?.last ?? null }
  }

  /** What is too old to be overtaken is not looked at again, whether it was to be told or not. */
  const advance = async (events: readonly store.EventRow[], isAll: boolean, last: string | null, began: number) => {
    const newest = events.at(-1)?.id
    if (!isAll && newest !== undefined) raise(idAt(timeOf(newest) - lookbackMs))
    else if (last === null) raise(idAt(began - lookbackMs))
    else {
      // Where more happens in that time than fits into a page, the page goes on all the same.
      const middle = (await store.nth(sql, account, floor, Math.ceil(page / 2)))?.id ?? floor
      const settled = idAt(began - lookbackMs)
      raise(settled > last ? last : settled > middle ? settled : middle)
    }
  }

  return {
    /** The next ones, at most so many. */
    next: async (limit: number): Promise<store.EventRow[]> => {
      for (;;) {
        const began = Date.now()
        const { events, last } = await read(limit)
        for (const { id } of events) told.add(id)
        await advance(events, events.length < limit, last, began)
        if (events.length > 0 || last === null) return events
      }
    },
    /** Where the next read begins. */
    floor: () => floor,
  }
}
