import type { Sql } from '../../platform/db/sql.ts'

export type EventRow = { id: string; name: string; payload: string }

export type EventRange = {
  readonly account: string
  readonly after: string
  /** Ids that were already delivered. */
  readonly delivered: readonly string[]
  /** Null for all. */
  readonly names: readonly string[] | null
  readonly limit: number
  /** Maximum number of events to scan. */
  readonly page: number
}

/**
 * Events of an account after an id, without delivered ones and those made for one webhook. `last`, in each row, is the
 * end of the page; null at the end of the events. Without an event there is one row without an id.
 */
export const eventsAfter = (sql: Sql, { account, after, delivered, names, limit, page }: EventRange) => sql.many<
  (EventRow | { id: null }) & { last: string | null }
>`
  select b.last, e.id, e.name, e.payload
  from (select (
    select id from (
      select id, row_number() over (order by id) as place from events
      where account_id = ${account} and id > ${after}::uuid order by id limit ${page}::integer) p
    where place = ${page}::integer) as last) b
  left join lateral (
    select id, name, payload::text as payload from events
    where account_id = ${account} and id > ${after}::uuid
      and id <= coalesce(b.last, 'ffffffff-ffff-ffff-ffff-ffffffffffff') and webhook_id is null
      and id <> all (${delivered}::uuid[]) and (${names}::text[] is null or name = any (${names}::text[]))
    order by id limit ${limit}) e on true
  order by e.id`

/** The nth event of an account after an id. */
export const nthEventAfter = (sql: Sql, account: string, after: string, count: number) => sql.maybe<{ id: string }>`
  select id from (
    select id, row_number() over (order by id) as place from events
    where account_id = ${account} and id > ${after}::uuid order by id limit ${count}::integer) n
  where place = ${count}::integer`
