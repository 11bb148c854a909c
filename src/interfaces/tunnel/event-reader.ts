import type { Sql } from '../../platform/db/sql.ts'
import { idAt, timeOf } from '../../platform/lib/id.ts'
import { eventPageSize, lookbackMs } from './limits.ts'
import * as store from './store.ts'

/**
 * Where to start after the last event of a laptop. Includes events that became visible late; the laptop recognises
 * repeated ids.
 */
export const startAfter = (id: string): string => idAt(timeOf(id) - lookbackMs)

/** Reads an account's events in order, each once, from a start id. */
export const makeEventReader = (
  sql: Sql,
  account: string,
  start: string,
  names: readonly string[] | null,
  page = eventPageSize,
) => {
  let floor = start
  const delivered = new Set<string>()

  /** Everything up to this id has been read and need not be remembered. */
  const raiseFloor = (until: string) => {
    if (until <= floor) return
    floor = until
    for (const id of delivered) if (id <= floor) delivered.delete(id)
  }

  const read = async (limit: number): Promise<{ events: store.EventRow[]; last: string | null }> => {
    const rows = await store.eventsAfter(sql, { account, after: floor, delivered: [...delivered], names, limit, page })
    return { events: rows.filter((row) => row.id !== null), last: rows[0]?.last ?? null }
  }

  /** Skips events that are too old to be overtaken, whether they were delivered or not. */
  const advance = async (events: readonly store.EventRow[], isAll: boolean, last: string | null, began: number) => {
    const newest = events.at(-1)?.id
    if (!isAll && newest !== undefined) raiseFloor(idAt(timeOf(newest) - lookbackMs))
    else if (last === null) raiseFloor(idAt(began - lookbackMs))
    else {
      // If that time contains more events than a page, the page still advances.
      const middle = (await store.nthEventAfter(sql, account, floor, Math.ceil(page / 2)))?.id ?? floor
      const settled = idAt(began - lookbackMs)
      raiseFloor(settled > last ? last : settled > middle ? settled : middle)
    }
  }

  return {
    /** The next events, at most `limit`. */
    next: async (limit: number): Promise<store.EventRow[]> => {
      for (;;) {
        const began = Date.now()
        const { events, last } = await read(limit)
        for (const { id } of events) delivered.add(id)
        await advance(events, events.length < limit, last, began)
        if (events.length > 0 || last === null) return events
      }
    },
    /** Where the next read starts. */
    floor: () => floor,
  }
}
