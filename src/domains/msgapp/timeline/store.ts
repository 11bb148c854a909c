import type { Sql } from '../../../platform/db/sql.ts'
import type { MessageRow } from '../messages/message-presenter.ts'

/** SQL for the timeline of one message of the messaging app. */

export type TimelineRow = Pick<
  MessageRow,
  | 'account_id'
  | 'id'
  | 'channel_id'
  | 'peer'
  | 'direction'
  | 'sent_by'
  | 'ack'
  | 'failure_code'
  | 'failure_reason'
  | 'read_at'
  | 'edited_at'
  | 'created_at'
> & {
  updated_at: Date
  /** State of the channel's link; null while it has none. */
  link: string | null
}

export const find = (sql: Sql, account: string, id: string) => sql.maybe<TimelineRow>`
  select m.account_id, m.id, m.channel_id, m.peer, m.direction, m.sent_by, m.ack, m.failure_code, m.failure_reason,
    m.read_at, m.edited_at, m.created_at, m.updated_at, l.phase as link
  from msgapp_messages m
  left join msgapp_links l on l.account_id = m.account_id and l.channel_id = m.channel_id
  where m.account_id = ${account} and m.id = ${id}`
