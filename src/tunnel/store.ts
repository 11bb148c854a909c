import type { Sql } from '../db/sql.ts'

export type EventRow = { id: string; name: string; payload: string }

export type Range = {
  readonly account: string
  readonly after: string
  /** Told already. */
  readonly told: readonly string[]
  /** Null for all. */
  readonly names: readonly string[] | null
  readonly limit: number
  /** So many events are looked at, at most. */
  readonly page: number
}

/** Events of an account behind an id, but for those told already and those that were made for one webhook. `last`, in each
 *  row, is where the page ended; null when there were no more. Without an event there is one row with no id. */
export const since = (sql: Sql, { account, after, told, names, limit, page }: Range) => sql.many<
  (EventRow | { id: null }) & { last: string | null }
>`
  select b.last, e.id, e.name, e.payload
  from (select (
    select id from events where account_id = ${account} and id > ${after}::uuid
    order by id offset ${page - 1}::integer limit 1) as last) b
  left join lateral (
    select id, name, payload::text as payload from events
    where account_id = ${account} and id > ${after}::uuid
      and id <= coalesce(b.last, 'ffffffff-ffff-ffff-ffff-ffffffffffff') and webhook_id is null
      and id <> all (${told}::uuid[]) and (${names}::text[] is null or name = any (${names}::text[]))
    order by id limit ${limit}) e on true
  order by e.id`

/** The so-manieth event of an account behind an id. */
export const nth = (sql: Sql, account: string, after: string, count: number) => sql.maybe<{ id: string }>`
  select id from events where account_id = ${account} and id > ${after}::uuid order by id offset ${count - 1}::integer limit 1`
