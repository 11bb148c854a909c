import type { Sql } from '../db/sql.ts'
import { timeOf } from '../lib/id.ts'
import * as store from './store.ts'

/** Events are numbered when they are written, and seen when their transaction commits: one that took longer comes to light
 *  behind others. So it is looked for once more within this time. */
const lookbackMs = 10_000
const mostRemembered = 5_000

/** The first id of a moment, in Unix milliseconds. */
const idAt = (ms: number): string => {
  const hex = Math.max(0, ms).toString(16).padStart(12, '0')
  return `${hex.slice(0, 8)}-${hex.slice(8)}-7000-8000-000000000000`
}

/** Where to begin behind an event that a laptop had last: what came to light late before it is told too, and what it had
 *  already it knows by the id. */
export const startBehind = (id: string): string => idAt(timeOf(id) - lookbackMs)

/** Reads an account's events in their order, each once, from where it began. */
export const makeReader = (sql: Sql, account: string, start: string, names: readonly string[] | null) => {
  let floor = start
  const told = new Set<string>()

  /** What is too old to be overtaken need not be remembered: everything up to it has been seen. */
  const forget = () => {
    const ids = [...told].sort()
    const newest = ids.at(-1)
    if (newest === undefined) return
    const until = timeOf(newest) - lookbackMs
    const old = ids.filter((id, i) => timeOf(id) < until || i < ids.length - mostRemembered)
    for (const id of old) told.delete(id)
    floor = old.at(-1) ?? floor
  }

  return {
    /** The next ones, at most so many. */
    next: async (limit: number): Promise<store.EventRow[]> => {
      const rows = await store.since(sql, account, floor, [...told], names, limit)
      for (const { id } of rows) told.add(id)
      if (rows.length > 0) forget()
      return rows
    },
  }
}
