import type { Sql } from '../../platform/db/sql.ts'
import type { ConversationRow } from './conversation-row.ts'
import { countCap, shownChannels } from './limits.ts'

// The data that conversations are presented with, for many of them at once.

export type ContactRow = { id: string; first_name: string; last_name: string; profile_pic_url: string | null }

export const contacts = (sql: Sql, account: string, ids: readonly string[]) => sql.many<ContactRow>`
  select c.id, c.first_name, c.last_name, c.profile_pic_url
  from unnest(${ids}::uuid[]) i (id)
  cross join lateral (select * from contacts where account_id = ${account} and id = i.id limit 1) c`

/** The status of the last items: of messages and calls. */
export const lastStatuses = (
  sql: Sql,
  account: string,
  rows: readonly Pick<ConversationRow, 'last_item' | 'last_kind'>[],
) =>
  sql.many<{ id: string; status: string }>`
    select i.id, s.status from unnest(
      ${rows.map((r) => r.last_item)}::uuid[], ${rows.map((r) => r.last_kind)}::text[]) i (id, kind)
    cross join lateral (
      (select case when status = 'scheduled' and send_at <= app_now() then 'queued' else status end as status
       from sms_messages where i.kind = 'sms' and account_id = ${account} and id = i.id limit 1)
      union all
      (select case when failure_code is not null then 'failed' else (array['queued', 'sent', 'received', 'read'])[ack + 1] end
       from msgapp_messages
       where i.kind = 'msgapp' and direction = 'outbound' and account_id = ${account} and id = i.id limit 1)
      union all
      (select status from calls where i.kind in ('call', 'msgapp-call') and account_id = ${account} and id = i.id limit 1)
    ) s`

/** Below every id. */
const least = '00000000-0000-0000-0000-000000000000'

/** The mark before which a reader has read everything: a user who is new has nothing to read. */
export const unreadAfter = async (sql: Sql, account: string, reader: string): Promise<string> =>
  (
    await sql.maybe<{ id: string }>`
      select greatest(p.unread_after, coalesce((
        select (lpad(to_hex((extract(epoch from created_at) * 1000)::bigint), 12, '0') || '70008000000000000000')::uuid
        from users where account_id = ${account} and id = ${reader}), p.unread_after)) as id
      from inbox_positions p where p.account_id = ${account}`
  )?.id ?? least

/** Counts the inbound items after the read mark of a reader, up to a limit. A call that the reader answered is read. */
export const unreadCounts = (
  sql: Sql,
  account: string,
  reader: string,
  after: string,
  conversations: readonly string[],
) => sql.many<{ id: string; n: number }>`
  select c.id, n.n from unnest(${conversations}::uuid[]) c (id)
  cross join lateral (
    select count(*)::integer as n from (
      select from conversation_items i
      where i.account_id = ${account} and i.conversation_id = c.id and i.direction = 'inbound'
        and i.user_id is distinct from ${reader}::uuid and i.id > coalesce((
          select r.read_until from conversation_reads r
          where r.account_id = ${account} and r.user_id = ${reader} and r.conversation_id = c.id), ${after})
      order by i.id limit ${countCap.unread}::integer) unread) n`

export type ChannelRow = {
  id: string
  kind: 'sms' | 'msgapp'
  phone_number: string
  enabled: boolean
  can_send: boolean
  suspended: boolean
  connected: boolean
  /** Numbers that opted out of messages from this channel, among those asked for. */
  opted_out: string[]
}

/** Channels by their ids, whatever their state. */
export const channelsById = (sql: Sql, account: string, ids: readonly string[], numbers: readonly string[]) =>
  sql.many<ChannelRow>`
    select s.id, 'sms' as kind, s.phone_number, s.enabled, s.supports_sms_out as can_send,
      v.status_text = 'SUSPENDED' as suspended, true as connected,
      array(select contact from sms_opt_outs
        where account_id = ${account} and contact = any (${numbers}::text[]) and number in (s.phone_number, '')) as opted_out
    from sms_channels s join virtual_numbers v on v.account_id = s.account_id and v.id = s.virtual_number_id
    where s.account_id = ${account} and s.id = any (${ids}::uuid[])
    union all
    select id, 'msgapp', phone_number, enabled, true, false, connection_status = 'C', '{}'
    from msgapp_channel_status where account_id = ${account} and id = any (${ids}::uuid[])`

/** The channels of an account that can write, oldest first: as many as one response shows. */
export const writableChannels = async (sql: Sql, account: string): Promise<string[]> =>
  (
    await sql.many<{ id: string }>`
      (select id from (
        select id, enabled, supports_sms_out, created_at from sms_channels
        where account_id = ${account} order by created_at, id limit 1000) s
       where enabled and supports_sms_out order by created_at, id limit ${shownChannels}::integer)
      union all
      (select id from msgapp_channels where account_id = ${account} and deleted_at is null
       order by created_at desc, id desc limit ${shownChannels}::integer)`
  ).map(({ id }) => id)

/** Groups with their channel, and whether its number is in them. */
export const groups = (sql: Sql, account: string, ids: readonly string[]) => sql.many<{
  id: string
  channel_id: string
  joined: boolean
}>`
  select id, channel_id, joined from msgapp_groups where account_id = ${account} and id = any (${ids}::uuid[])`
