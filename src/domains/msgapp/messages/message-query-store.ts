import type { Sql } from '../../../platform/db/sql.ts'
import type { Cursor } from '../../../platform/lib/cursor.ts'
import type { MessageRow } from './message-presenter.ts'

// Messages are read through the view msgapp_visible_messages (migrations/baseline/11_msgapp.sql), with their conversation and file.

/** A row of a page, with its time as the database prints it. */
export type ListedMessageRow = MessageRow & { exact: string }

/** Start of a page: after a row, or at an offset. */
export type PageStart = { readonly after: Cursor | null; readonly offset: number; readonly limit: number }

/** Finds a message by its id, or by an alias published before the message was identified. */
export const find = (sql: Sql, account: string, id: string) => sql.maybe<MessageRow>`
  select * from msgapp_visible_messages
  where account_id = ${account} and id = coalesce(
    (select message_id from msgapp_aliases where account_id = ${account} and id = ${id}), ${id})`

/** Messages by account and id, in any order; deleted ones are absent. */
export const byId = (sql: Sql, messages: readonly { account: string; id: string }[]) => sql.many<MessageRow>`
  select * from msgapp_messages_by_id(
    ${messages.map(({ account }) => account)}::uuid[], ${messages.map(({ id }) => id)}::uuid[])`

/**
 * Messages of a conversation, newest first. One bound instead of two: with two, PostgreSQL before 18 may start at
 * either.
 */
export const listByPeer = (
  sql: Sql,
  channel: { account: string; id: string },
  peer: string,
  start: PageStart,
) => sql.many<ListedMessageRow>`
  select *, to_char(created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as exact from msgapp_visible_messages
  where account_id = ${channel.account} and channel_id = ${channel.id} and peer = ${peer}
    and (created_at, id) < (coalesce(${start.after?.time ?? null}::timestamptz, 'infinity'),
      coalesce(${start.after?.id ?? null}::uuid, 'ffffffff-ffff-ffff-ffff-ffffffffffff'))
  order by created_at desc, id desc limit ${start.limit} offset ${start.offset}`

/** Messages of a channel, newest first. */
export const listByChannel = (
  sql: Sql,
  channel: { account: string; id: string },
  start: PageStart,
) => sql.many<ListedMessageRow>`
  select *, to_char(created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as exact from msgapp_visible_messages
  where account_id = ${channel.account} and channel_id = ${channel.id}
    and (created_at, id) < (coalesce(${start.after?.time ?? null}::timestamptz, 'infinity'),
      coalesce(${start.after?.id ?? null}::uuid, 'ffffffff-ffff-ffff-ffff-ffffffffffff'))
  order by created_at desc, id desc limit ${start.limit} offset ${start.offset}`

/** Returns the peer id of a person known by network id, also after their number became known. */
export const peerByRemote = (sql: Sql, channel: { account: string; id: string }, remote: string) => sql.maybe<{
  peer: string
  number: string | null
}>`
  select peer, number from msgapp_chats
  where account_id = ${channel.account} and channel_id = ${channel.id} and remote_id = ${remote}
  order by number is null, last_at desc limit 1`

type ChannelKey = { account: string; id: string }

/** Returns the peer that a former peer moved to; null if it did not move. */
export const movedTo = async (sql: Sql, { account, id }: ChannelKey, peer: string): Promise<string | null> =>
  (
    await sql.maybe<{ current_peer: string }>`
      select current_peer from msgapp_former_peers where account_id = ${account} and channel_id = ${id} and peer = ${peer}`
  )?.current_peer ?? null

const isThere = async (sql: Sql, { account, id }: ChannelKey, peer: string): Promise<boolean> =>
  (await sql.maybe`
    select from msgapp_chats where account_id = ${account} and channel_id = ${id} and peer = ${peer}`) !== null

/** Resolves a published peer to its conversation, following a move. */
export const currentPeer = async (sql: Sql, place: ChannelKey, peer: string): Promise<string> =>
  (await isThere(sql, place, peer)) ? peer : ((await movedTo(sql, place, peer)) ?? peer)

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

/** @param after `id` is the peer of the last row of the previous page */
export const sessions = (
  sql: Sql,
  channel: ChannelKey,
  number: string | null,
  start: PageStart,
) => sql.many<SessionRow>`
  select c.*, g.name as group_name,
    to_char(c.last_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as exact
  from msgapp_chats c left join msgapp_groups g on g.account_id = c.account_id and g.id = c.group_id
  where c.account_id = ${channel.account} and c.channel_id = ${channel.id}
    and (${number}::text is null or c.number = ${number})
    and (c.last_at, c.peer) < (coalesce(${start.after?.time ?? null}::timestamptz, 'infinity'), coalesce(${start.after?.id ?? null}::text, ''))
  order by c.last_at desc, c.peer desc limit ${start.limit} offset ${start.offset}`

export const sessionCount = (sql: Sql, channel: ChannelKey, number: string | null) => sql.one<{ total: number }>`
  select count(*)::integer as total from msgapp_chats
  where account_id = ${channel.account} and channel_id = ${channel.id} and (${number}::text is null or number = ${number})`

/** Counts messages of a channel, or of one of its conversations. */
export const total = async (sql: Sql, channel: ChannelKey, peer: string | null): Promise<number> =>
  (
    await sql.one<{ total: number }>`
      select count(*)::integer as total from msgapp_messages
      where account_id = ${channel.account} and channel_id = ${channel.id} and (${peer}::text is null or peer = ${peer})
        and removed is null`
  ).total

/** An existing channel, with what sending and reading need. */
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
