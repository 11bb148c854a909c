import type { Db, Sql } from '../../platform/db/sql.ts'
import type { Candidate } from './route/route-table.ts'
import type { MessageRow } from './store.ts'

/** SQL for the operator's trace of a message: route, parts and attempts. */

export type TraceRow = MessageRow & { account_id: string; channel_id: string; candidates: Candidate[] | null }

/**
 * Finds a message of any account. A block range index leads to the pages with ids of that time: a plain index on the id
 * would burden every message for this query. Rows that came since the last summary of new pages, within a minute, are
 * examined one by one.
 */
export const find = async (db: Db, id: string): Promise<TraceRow | null> => {
  const found = await db.begin(async (tx) => {
    // The planner expects less of block ranges than they do, and would read the table.
    await tx.run`select set_config('enable_seqscan', 'off', true)`
    return await tx.maybe<Key>`select account_id, id from sms_messages where id = ${id}::uuid limit 1`
  })
  if (found === null) return null
  return await db.maybe<TraceRow>`
    select m.*, '' as at, v.voip_number_setup_id, d.candidates
    from (select * from sms_messages where account_id = ${found.account_id} and id = ${id}::uuid limit 1) m
    join sms_channels c on c.account_id = m.account_id and c.id = m.channel_id
    join virtual_numbers v on v.account_id = c.account_id and v.id = c.virtual_number_id
    left join sms_route_decisions d on d.id = m.decision_id
    limit 1`
}

type Key = Pick<TraceRow, 'account_id' | 'id'>

export type PartRow = {
  part: number
  connection_id: string
  carrier_id: string | null
  status: string
  error_code: string | null
  sent_at: Date
  updated_at: Date
}

export const parts = (sql: Sql, { account_id, id }: Key) => sql.many<PartRow>`
  select part, connection_id, carrier_id, status, error_code, sent_at, updated_at from sms_parts
  where account_id = ${account_id} and message_id = ${id} order by part`

export type AttemptRow = {
  part: number
  connection_id: string
  outcome: 'retry' | 'refused' | 'unknown' | 'queried'
  reason: string
  at: Date
}

export const attempts = (sql: Sql, { account_id, id }: Key) => sql.many<AttemptRow>`
  select part, connection_id, outcome, reason, at from sms_attempts
  where account_id = ${account_id} and message_id = ${id} order by id limit 200`
