import type { Sql } from '../../../platform/db/sql.ts'
import type { Candidate } from '../route/route-table.ts'

/** SQL for the timeline of one message of an account. */

export type TimelineRow = {
  account_id: string
  id: string
  channel_id: string
  direction: 'inbound' | 'outbound'
  contact: string
  encoding: string
  fragments: number
  price: string
  transfer_id: string | null
  sending_id: string | null
  status: string
  sub_status: string | null
  error_code: string | null
  send_at: Date | null
  created_at: Date
  updated_at: Date
  candidates: readonly Candidate[] | null
}

export const find = (sql: Sql, account: string, id: string) => sql.maybe<TimelineRow>`
  select m.account_id, m.id, m.channel_id, m.direction, m.contact, m.encoding, m.fragments, m.price, m.transfer_id, m.sending_id,
    case when m.status = 'scheduled' and m.send_at <= app_now() then 'queued' else m.status end as status,
    m.sub_status, m.error_code, m.send_at, m.created_at, m.updated_at, d.candidates
  from sms_messages m left join sms_route_decisions d on d.id = m.decision_id
  where m.account_id = ${account} and m.id = ${id}`

/** Refunds made when a message ended: the transfer has no index by its reference, so its time finds it. */
export const refunds = (sql: Sql, account: string, printed: string, at: Date) => sql.many<{
  id: string
  amount: string
  created_at: Date
}>`
  select id, amount, created_at from (
    select id, amount, reference, created_at from transfers
    where account_id = ${account} and kind = 'sms_refund'
      and created_at >= ${at}::timestamptz - interval '1 second' and created_at <= ${at}::timestamptz + interval '1 second'
    order by created_at desc, id desc limit 2000) r
  where reference = ${printed}`
