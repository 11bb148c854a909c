import type { Sql } from '../db/sql.ts'
import type { Candidate } from './route.ts'
import type { MessageRow } from './store.ts'

/** SQL by which an operator sees which way a message went. */

export type FoundRow = MessageRow & { account_id: string; channel_id: string; candidates: Candidate[] | null }

/** A message of whichever account: asked of each by its primary key, because an index on the id alone would cost every
 *  message and serve only this (2 µs an account). */
export const find = (sql: Sql, id: string) => sql.maybe<FoundRow>`
  select m.*, '' as at, v.voip_number_setup_id, d.candidates
  from accounts a
  cross join lateral (select * from sms_messages s where s.account_id = a.id and s.id = ${id}::uuid limit 1) m
  join sms_channels c on c.account_id = m.account_id and c.id = m.channel_id
  join virtual_numbers v on v.account_id = c.account_id and v.id = c.virtual_number_id
  left join sms_decisions d on d.id = m.decision_id
  limit 1`

type Key = Pick<FoundRow, 'account_id' | 'id'>

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
  outcome: 'retry' | 'refused' | 'unknown'
  reason: string
  at: Date
}

export const attempts = (sql: Sql, { account_id, id }: Key) => sql.many<AttemptRow>`
  select part, connection_id, outcome, reason, at from sms_attempts
  where account_id = ${account_id} and message_id = ${id} order by id limit 200`
