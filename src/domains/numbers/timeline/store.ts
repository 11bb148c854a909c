import type { Sql } from '../../../platform/db/sql.ts'
import type { StatusText } from '../lifecycle/virtual-number-store.ts'
import { maxTimelineActs, maxTimelineTransfers } from '../limits.ts'

/** SQL for the timeline of one number of an account. */

export type TimelineRow = {
  account_id: string
  id: string
  number: string
  status_text: StatusText
  expires_at: Date
  released_at: Date | null
  created_at: Date
  registration: 'awaiting' | 'approved' | 'refused' | null
  registration_reason: string | null
  registration_due_at: Date | null
  registration_at: Date | null
  registration_changed_at: Date | null
  suspension: 'registration' | 'operator' | null
  suspension_reason: string | null
  suspended_at: Date | null
  ordered_at: Date | null
  order_state: string | null
  order_changed_at: Date | null
}

export const find = (sql: Sql, account: string, id: string) => sql.maybe<TimelineRow>`
  select v.account_id, v.id, v.number, v.status_text, v.expires_at, v.released_at, v.created_at,
    r.state as registration, r.reason as registration_reason, r.due_at as registration_due_at,
    r.created_at as registration_at, r.updated_at as registration_changed_at,
    s.cause as suspension, s.reason as suspension_reason, s.created_at as suspended_at,
    o.created_at as ordered_at, o.state as order_state, o.updated_at as order_changed_at
  from virtual_numbers v
  left join registrations r on r.account_id = v.account_id and r.virtual_number_id = v.id
  left join number_suspensions s on s.account_id = v.account_id and s.virtual_number_id = v.id
  left join lateral (
    select created_at, state, updated_at from number_orders
    where account_id = v.account_id and virtual_number_id = v.id order by created_at limit 1) o on true
  where v.account_id = ${account} and v.id = ${id}`

export type TransferRow = { id: string; kind: 'number_purchase' | 'number_month'; amount: string; created_at: Date }

/** Charges for a number while the account had it, newest first: among the last 5,000 of each kind. */
export const transfers = (sql: Sql, { account_id, number, created_at, released_at }: TimelineRow) =>
  sql.many<TransferRow>`
    select t.id, k.kind, t.amount, t.created_at
    from (values ('number_purchase'), ('number_month')) k (kind)
    cross join lateral (
      select id, amount, reference, created_at from transfers
      where account_id = ${account_id} and kind = k.kind
        and created_at >= ${created_at}::timestamptz - interval '1 second'
        and created_at <= coalesce(${released_at}::timestamptz, 'infinity')
      order by created_at desc, id desc limit ${maxTimelineTransfers}::integer) t
    where t.reference = ${number}
    order by t.created_at desc limit 100`

export type ActRow = { at: Date; action: string; actor_kind: 'operator' | 'api_key' | 'system' }

/** Recorded acts on a number, newest first. */
export const acts = (sql: Sql, account: string, printed: string) => sql.many<ActRow>`
  select at, action, actor_kind from (
    select act_id from audit_targets where target = ${printed} and owner_id = ${account}
    order by acted_at desc, act_id desc limit ${maxTimelineActs}::integer) t
  cross join lateral (select at, action, actor_kind from audit where id = t.act_id limit 1) a
  order by at desc`
