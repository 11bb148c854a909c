import { canonicalNumber } from '@trunkline/phone/number-forms.ts'
import { makeConditions } from '../../../platform/db/conditions.ts'
import { byTimeAndId, countRows, exactTime, type ListPage, makeListQuery } from '../../../platform/db/list-query.ts'
import type { Sql } from '../../../platform/db/sql.ts'
import type { Narrowing } from '../../inbox/narrowing/ops.ts'
import type { MessageRow } from './message-presenter.ts'
import { visibleChatSql, visibleMessageSql } from './narrowing.ts'
import { peerOf } from './peer.ts'

// Messages are read through the view msgapp_visible_messages (migrations/baseline/14_msgapp.sql), with their conversation and file.

/** A row of a page, with its time as the database prints it. */
export type ListedMessageRow = MessageRow & { exact: string }

type ChannelKey = { readonly account: string; readonly id: string }

/** Finds a message by its id, or by an alias published before the message was identified. */
export const find = (sql: Sql, account: string, id: string) => sql.maybe<MessageRow>`
  select * from msgapp_visible_messages
  where account_id = ${account} and id = coalesce(
    (select message_id from msgapp_aliases where account_id = ${account} and id = ${id}), ${id})`

/** Messages by account and id, in any order; deleted ones are absent. */
export const byId = (sql: Sql, messages: readonly { account: string; id: string }[]) => sql.many<MessageRow>`
  select * from msgapp_messages_by_id(
    ${messages.map(({ account }) => account)}::uuid[], ${messages.map(({ id }) => id)}::uuid[])`

/** Scope of a list of messages: of a channel, or of one of its conversations, and only what the reader may see. */
export type MessageList = {
  readonly channel: ChannelKey
  readonly peer: string | null
  readonly narrowing: Narrowing | null
}

/** Messages of a channel, or of one of its conversations, newest first. */
const messagesOf = ({ channel, peer, narrowing }: MessageList) => {
  const conditions = makeConditions()
  conditions.add('account_id = ?', channel.account)
  conditions.add('channel_id = ?', channel.id)
  conditions.add('peer = ?', peer)
  conditions.push('removed is null')
  const filters = narrowing === null ? [] : [{ text: visibleMessageSql('examined', '?'), value: narrowing.user }]
  return makeListQuery({ table: 'msgapp_messages', key: byTimeAndId(), isNewestFirst: true }, conditions, [], {
    filters,
  })
}

/** Returns a page, with the last message that was examined if the page is short and more may follow. */
export const list = async (sql: Sql, what: MessageList, at: ListPage) => {
  const query = messagesOf(what)
  const { text, values } = query.page('account_id, id, created_at', at)
  const rows = await sql.raw<ListedMessageRow>(
    `select m.*, ${exactTime('m.created_at')} as exact
     from (${text}) r cross join lateral (
       select * from msgapp_visible_messages v where v.account_id = r.account_id and v.id = r.id limit 1) m
     order by r.created_at desc, r.id desc`,
    values,
  )
  return { rows, examined: await lastExamined(sql, query, rows, at) }
}

/** Counts messages of a list, up to 10,000. */
export const total = (sql: Sql, what: MessageList) => countRows(sql, messagesOf(what).total())

/** Returns the key of the last row that a short page examined; null if nothing follows. */
const lastExamined = async (
  sql: Sql,
  query: ReturnType<typeof makeListQuery>,
  rows: readonly unknown[],
  { after, skip, limit }: ListPage,
): Promise<{ time: string; id: string } | null> => {
  const isShort = limit !== null && rows.length < limit && skip === 0
  const last = isShort ? query.lastExamined(after) : null
  return last === null ? null : ((await sql.raw<{ time: string; id: string }>(last.text, last.values))[0] ?? null)
}

/** Returns the peer id of a person known by network id, also after their number became known. */
export const peerByRemote = (sql: Sql, channel: { account: string; id: string }, remote: string) => sql.maybe<{
  peer: string
  number: string | null
}>`
  select peer, number from msgapp_chats
  where account_id = ${channel.account} and channel_id = ${channel.id} and remote_id = ${remote}
  order by number is null, last_at desc limit 1`

/** Returns the peer that a former peer moved to; null if it did not move. */
export const movedTo = async (sql: Sql, { account, id }: ChannelKey, peer: string): Promise<string | null> =>
  (
    await sql.maybe<{ current_peer: string }>`
      select current_peer from msgapp_former_peers where account_id = ${account} and channel_id = ${id} and peer = ${peer}`
  )?.current_peer ?? null

const hasMessages = async (sql: Sql, { account, id }: ChannelKey, peer: string): Promise<boolean> =>
  (await sql.maybe`
    select from msgapp_chats where account_id = ${account} and channel_id = ${id} and peer = ${peer}`) !== null

/** Resolves a published peer to its conversation, following a move. */
export const currentPeer = async (sql: Sql, place: ChannelKey, peer: string): Promise<string> =>
  (await hasMessages(sql, place, peer)) ? peer : ((await movedTo(sql, place, peer)) ?? peer)

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

/** Scope of a list of conversations: of a channel, or with one number, and only what the reader may see. */
export type SessionList = {
  readonly channel: ChannelKey
  readonly number: string | null
  readonly narrowing: Narrowing | null
}

/** Conversations of a channel, or with one number, newest activity first. */
const sessionsOf = ({ channel, number, narrowing }: SessionList) => {
  const conditions = makeConditions()
  conditions.add('account_id = ?', channel.account)
  conditions.add('channel_id = ?', channel.id)
  // The peer of a known number is made of it: the primary key finds it.
  conditions.add('peer = ?', number === null ? null : peerOf(number))
  conditions.add('number = ?', number === null ? null : canonicalNumber(number))
  const key = [
    { name: 'last_at', type: 'timestamptz' },
    { name: 'peer', type: 'text' },
  ] as const
  const filters = narrowing === null ? [] : [{ text: visibleChatSql('examined', '?'), value: narrowing.user }]
  return makeListQuery({ table: 'msgapp_chats', key, isNewestFirst: true }, conditions, [], { filters })
}

/** Returns a page, with the last conversation that was examined if the page is short and more may follow. */
export const sessions = async (sql: Sql, what: SessionList, at: ListPage) => {
  const query = sessionsOf(what)
  const { text, values } = query.page('*', at)
  const rows = await sql.raw<SessionRow>(
    `select c.*, g.name as group_name, ${exactTime('c.last_at')} as exact
     from (${text}) c left join msgapp_groups g on g.account_id = c.account_id and g.id = c.group_id
     order by c.last_at desc, c.peer desc`,
    values,
  )
  return { rows, examined: await lastExamined(sql, query, rows, at) }
}

export const sessionCount = (sql: Sql, what: SessionList) => countRows(sql, sessionsOf(what).total())

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

/** Whether a person wrote in a conversation within the last hours. */
export const hasWritten = async (
  sql: Sql,
  { account, id }: ChannelKey,
  peer: string,
  hours: number,
): Promise<boolean> =>
  (await sql.maybe`
    select from msgapp_messages
    where account_id = ${account} and channel_id = ${id} and peer = ${peer} and direction = 'inbound'
      and created_at > app_now() - make_interval(hours => ${hours}::integer) limit 1`) !== null
