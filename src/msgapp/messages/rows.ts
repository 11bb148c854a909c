import type { Sql } from '../../db/sql.ts'
import type { Cursor } from '../../lib/cursor.ts'
import type { MessageRow } from './shown.ts'

// Messages are read by the view msgapp_shown (migrations/0022): with their conversation and their file.

/** A row of a page, with its time as the database writes it. */
export type Listed = MessageRow & { exact: string }

/** Where a page begins: behind a row, or after so many. */
export type Start = { readonly after: Cursor | null; readonly offset: number; readonly limit: number }

/** By its id, or by one that was told of it before it was known to be this message. */
export const find = (sql: Sql, account: string, id: string) => sql.maybe<MessageRow>`
  select * from msgapp_shown
  where account_id = ${account} and id = coalesce(
    (select message_id from msgapp_aliases where account_id = ${account} and id = ${id}), ${id})`

export const byId = (sql: Sql, accounts: readonly string[], ids: readonly string[]) => sql.many<MessageRow>`
  select * from msgapp_shown where account_id = any(${accounts}::uuid[]) and id = any(${ids}::uuid[])`

/** A conversation, newest first. One bound and not two: of two PostgreSQL before 18 begins at either. */
export const ofPeer = (
  sql: Sql,
  channel: { account: string; id: string },
  peer: string,
  start: Start,
) => sql.many<Listed>`
  select *, to_char(created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as exact from msgapp_shown
  where account_id = ${channel.account} and channel_id = ${channel.id} and peer = ${peer}
    and (created_at, id) < (coalesce(${start.after?.time ?? null}::timestamptz, 'infinity'),
      coalesce(${start.after?.id ?? null}::uuid, 'ffffffff-ffff-ffff-ffff-ffffffffffff'))
  order by created_at desc, id desc limit ${start.limit} offset ${start.offset}`

/** All of a channel, newest first. */
export const ofChannel = (sql: Sql, channel: { account: string; id: string }, start: Start) => sql.many<Listed>`
  select *, to_char(created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as exact from msgapp_shown
  where account_id = ${channel.account} and channel_id = ${channel.id}
    and (created_at, id) < (coalesce(${start.after?.time ?? null}::timestamptz, 'infinity'),
      coalesce(${start.after?.id ?? null}::uuid, 'ffffffff-ffff-ffff-ffff-ffffffffffff'))
  order by created_at desc, id desc limit ${start.limit} offset ${start.offset}`

/** The peer that somebody without a known number has, or had before it became known. */
export const peerByRemote = (sql: Sql, channel: { account: string; id: string }, remote: string) => sql.maybe<{
  peer: string
  number: string | null
}>`
  select peer, number from msgapp_chats
  where account_id = ${channel.account} and channel_id = ${channel.id} and remote_id = ${remote}
  order by number is null, last_at desc limit 1`

type Place = { account: string; id: string }

/** Where a conversation went on that was told under this peer; null for one that did not. */
export const formerly = async (sql: Sql, { account, id }: Place, peer: string): Promise<string | null> =>
  (
    await sql.maybe<{ goes_on: string }>`
      select goes_on from msgapp_former_peers where account_id = ${account} and channel_id = ${id} and peer = ${peer}`
  )?.goes_on ?? null

const isThere = async (sql: Sql, { account, id }: Place, peer: string): Promise<boolean> =>
  (await sql.maybe`
    select from msgapp_chats where account_id = ${account} and channel_id = ${id} and peer = ${peer}`) !== null

/** Where a conversation is found that was told under this peer: there, or where it went on. */
export const peerNow = async (sql: Sql, place: Place, peer: string): Promise<string> =>
  (await isThere(sql, place, peer)) ? peer : ((await formerly(sql, place, peer)) ?? peer)

export type SessionRow = {
  account_id: string
  channel_id: string
  peer: string
  number: string | null
  remote_id: string | null
  pushname: string | null
  group_id: string | null
  group_name: string | null
  unread: number
  last_at: Date
  last_message_id: string
  exact: string
}

/** @param after `id` is the peer of the page's last row */
export const sessions = (sql: Sql, channel: Place, number: string | null, start: Start) => sql.many<SessionRow>`
  select c.*, g.name as group_name,
    to_char(c.last_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as exact
  from msgapp_chats c left join msgapp_groups g on g.account_id = c.account_id and g.id = c.group_id
  where c.account_id = ${channel.account} and c.channel_id = ${channel.id}
    and (${number}::text is null or c.number = ${number})
    and (c.last_at, c.peer) < (coalesce(${start.after?.time ?? null}::timestamptz, 'infinity'), coalesce(${start.after?.id ?? null}::text, ''))
  order by c.last_at desc, c.peer desc limit ${start.limit} offset ${start.offset}`

export const sessionCount = (sql: Sql, channel: Place, number: string | null) => sql.one<{ total: number }>`
  select count(*)::integer as total from msgapp_chats
  where account_id = ${channel.account} and channel_id = ${channel.id} and (${number}::text is null or number = ${number})`

/** Messages of a channel, or of one of its conversations. */
export const total = async (sql: Sql, channel: Place, peer: string | null): Promise<number> =>
  (
    await sql.one<{ total: number }>`
      select count(*)::integer as total from msgapp_messages
      where account_id = ${channel.account} and channel_id = ${channel.id} and (${peer}::text is null or peer = ${peer})
        and removed is null`
  ).total

/** A channel that is not deleted, as sending and reading need it. */
export type ChannelRow = {
  account: string
  id: string
  connection: string
  platform: string
  number: string
}

export const channelById = (sql: Sql, account: string, id: string) => sql.maybe<ChannelRow>`
  select account_id as account, id, connection_id as connection, platform, phone_number as number from msgapp_channels
  where account_id = ${account} and id = ${id} and deleted_at is null`

export type GroupRow = { id: string; channel: string; network_id: string | null; name: string }

export const group = (sql: Sql, account: string, id: string) => sql.maybe<GroupRow>`
  select id, channel_id as channel, network_id, name from msgapp_groups where account_id = ${account} and id = ${id}`
