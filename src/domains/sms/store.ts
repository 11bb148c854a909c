import { dialledForms } from '@trunkline/phone/number-forms.ts'
import { type Conditions, makeConditions } from '../../platform/db/conditions.ts'
import { byTimeAndId, countRows, exactTime, type ListPage, makeListQuery } from '../../platform/db/list-query.ts'
import type { Db, Sql, Tx, Value } from '../../platform/db/sql.ts'
import { decimal, type Micros } from '../../platform/lib/money.ts'
import type { ChatMediaType } from '../../ports/chat-message.ts'
import { sentBySql } from '../inbox/messages/ops.ts'
import { type Narrowing, visibleSql } from '../inbox/narrowing/ops.ts'
import type { Segmentation } from './accept/quote.ts'
import { maxSearchedChannels } from './limits.ts'
import type { InboundFile } from './mms/inbound-media.ts'
import type { Candidate } from './route/route-table.ts'

export type ChannelRow = {
  account_id: string
  id: string
  virtual_number_id: string
  voip_number_setup_id: number
  phone_number: string
  friendly_name: string
  iso_country_code: string
  supports_sms_in: boolean
  supports_sms_out: boolean
  enabled: boolean
  suspended: boolean
  /** True if the sandbox sold the number. */
  stock: boolean
  created_at: Date
  updated_at: Date
}

const channelsOf = (account: string) => {
  const asked = makeConditions()
  asked.add('account_id = ?', account)
  return makeListQuery({ table: 'sms_channels', key: byTimeAndId(), isNewestFirst: false }, asked)
}

/** Returns a page of channels, oldest first. */
export const channels = (db: Db, account: string, at: ListPage) => {
  const { text, values } = channelsOf(account).page('*', at)
  return db.raw<ChannelRow & { at: string }>(
    `select c.*, ${exactTime('c.created_at')} as at, v.voip_number_setup_id, v.status_text = 'SUSPENDED' as suspended,
       coalesce(g.supplier = 'sandbox', false) as stock
     from (${text}) c join virtual_numbers v on v.account_id = c.account_id and v.id = c.virtual_number_id
     left join number_groups g on g.id = v.group_id
     order by c.created_at, c.id`,
    values,
  )
}

export const channelTotal = (db: Db, account: string) => countRows(db, channelsOf(account).total())

export const channel = (db: Sql, account: string, id: string) => db.maybe<ChannelRow>`
  select c.*, v.voip_number_setup_id, v.status_text = 'SUSPENDED' as suspended, coalesce(g.supplier = 'sandbox', false) as stock
  from sms_channels c join virtual_numbers v on v.account_id = c.account_id and v.id = c.virtual_number_id
  left join number_groups g on g.id = v.group_id
  where c.account_id = ${account} and c.id = ${id}`

/** Returns the enabled channel of an account's number. */
export const channelOf = (db: Sql, account: string, number: string) => db.maybe<ChannelRow>`
  select c.*, v.voip_number_setup_id, v.status_text = 'SUSPENDED' as suspended, coalesce(g.supplier = 'sandbox', false) as stock
  from sms_channels c join virtual_numbers v on v.account_id = c.account_id and v.id = c.virtual_number_id
  left join number_groups g on g.id = v.group_id
  where c.account_id = ${account} and c.phone_number = ${number} and c.enabled`

/** Returns the number of the oldest channel that can send; null if there is none.
 *  @param isSandbox whether sandbox numbers count */
export const firstSender = async (db: Sql, account: string, isSandbox: boolean): Promise<string | null> =>
  (
    await db.maybe<{ phone_number: string }>`
      select c.phone_number
      from sms_channels c join virtual_numbers v on v.account_id = c.account_id and v.id = c.virtual_number_id
      left join number_groups g on g.id = v.group_id
      where c.account_id = ${account} and c.enabled and c.supports_sms_out and v.status_text <> 'SUSPENDED'
        and (g.supplier is distinct from 'sandbox' or ${isSandbox})
      order by c.created_at, c.id limit 1`
  )?.phone_number ?? null

/** Returns the channels that receive messages for these numbers, of all accounts. */
export const receivingChannels = (tx: Sql, numbers: readonly string[]) => tx.many<
  Pick<ChannelRow, 'account_id' | 'id' | 'phone_number'>
>`
  select account_id, id, phone_number from sms_channels
  where phone_number = any(${numbers}::text[]) and enabled and supports_sms_in`

/** Array literal of one column, at a third of the driver's cost. Only for values that need no quoting (uuids, numbers,
 *  words). */
export const arrayLiteral = <Row>(rows: readonly Row[], column: (row: Row) => string | number): string =>
  `{${rows.map(column).join()}}`

/** Array literal of a column. It has one element if all rows are equal. */
export const shortLiteral = <Row, Value>(
  rows: readonly Row[],
  column: (row: Row) => Value,
  text: (value: Value) => string,
): string => {
  const [first] = rows
  if (!first) return '{}'
  const value = column(first)
  return rows.every((row) => column(row) === value)
    ? `{${text(value)}}`
    : arrayLiteral(rows, (row) => text(column(row)))
}

export type NewMessage = {
  account: string
  id: string
  channel: string
  number: string
  contact: string
  text: string
  encoding: 'gsm7' | 'ucs2'
  fragments: number
  price: Micros
  transfer: string
  /** Send time; null: at once. */
  sendAt: Date | null
  decision: string
  long: Segmentation
}

/** A message that is due at once and still has to be charged. */
export type ValidMessage = Omit<NewMessage, 'transfer' | 'sendAt'>

/** Why a message was refused. */
export type Refusal = 'balance' | 'opted_out'

/**
 * Accepts outbound messages, each with its debit and a job of its own, in one statement. Refuses messages to contacts
 * who opted out, and messages that the balance does not cover after those before them. For messages with a send time,
 * messages that belong to the caller's transaction, and batches that were refused (accept/batch-store.ts).
 *
 * Opt-outs are read from the table, not from a cache, so that each holds in every process from its commit on. The
 * statement is a database function: see migrations/baseline/12_sms_functions.sql. Its parameters for leases are not
 * used any more.
 * @returns the refused messages with the reason
 */
export const accept = async (
  db: Db | Tx,
  rows: readonly NewMessage[],
  honoursOptOut: boolean,
): Promise<Map<string, Refusal>> => {
  const notes = await db.many<{ id: string; note: Refusal }>`
    select id, note from sms_accept(
      ${arrayLiteral(rows, (r) => r.account)}::uuid[], ${arrayLiteral(rows, (r) => r.id)}::uuid[], ${arrayLiteral(rows, (r) => r.channel)}::uuid[],
      ${arrayLiteral(rows, (r) => r.number)}::text[], ${arrayLiteral(rows, (r) => r.contact)}::text[], ${rows.map((r) => r.text)}::text[],
      ${arrayLiteral(rows, (r) => r.encoding)}::text[], ${arrayLiteral(rows, (r) => r.fragments)}::smallint[],
      ${arrayLiteral(rows, (r) => decimal(r.price))}::numeric[], ${arrayLiteral(rows, (r) => r.transfer)}::uuid[],
      ${arrayLiteral(rows, (r) => r.sendAt?.toISOString() ?? 'null')}::timestamptz[], ${arrayLiteral(rows, (r) => r.decision)}::uuid[],
      ${arrayLiteral(rows, (r) => r.long)}::text[],
      ${honoursOptOut}, 0, 0, null)`
  return new Map(notes.map(({ id, note }) => [id, note]))
}

export type Status =
  | 'received'
  | 'scheduled'
  | 'queued'
  | 'sending'
  | 'sent'
  | 'delivered'
  | 'undelivered'
  | 'rejected'
  | 'expired'
  | 'failed'
  | 'canceled'
  | 'unknown'

export type MessageRow = {
  id: string
  direction: 'inbound' | 'outbound'
  contact: string
  number: string
  text: string
  fragments: number
  price: string
  status: Status
  sub_status: string | null
  error_code: string | null
  created_at: Date
  updated_at: Date
  at: string
  send_at: Date | null
  voip_number_setup_id: number
  /** Set if one request sent it together with others. */
  sending_id: string | null
  /** Its files (MMS), in order; null without any. */
  media_ids: string[] | null
}

/** A file of a message in its form in the API. */
export type PresentedFile = {
  url?: string
  type: ChatMediaType
  mime_type: string
  name?: string
  size?: number
  error?: string
}

/** A message row as its events need it. */
export type EventRow = Omit<MessageRow, 'at' | 'send_at' | 'voip_number_setup_id' | 'media_ids'> & {
  account_id: string
  channel_id: string
  media?: readonly PresentedFile[]
}

const messagesByTime = { table: 'sms_messages', key: byTimeAndId(), isNewestFirst: true }

/** A scheduled message that is due reads `queued`. */
const shownStatus = "case when status = 'scheduled' and send_at <= app_now() then 'queued' else status end"

const messageColumns = `id, direction, contact, number, text, fragments, price, sub_status, error_code, send_at,
  sending_id, media_ids, created_at, updated_at, account_id, channel_id, ${shownStatus} as status`

type Thread = Pick<ChannelRow, 'account_id' | 'id' | 'voip_number_setup_id'>

/**
 * Condition on the account of messages that the index of threads finds. The comparison is not one that the indexes by
 * account serve: the planner takes an account that it does not know yet for empty, and would walk all its messages.
 */
const ofThread = '(account_id = ?) is true'

/** The condition of messages with a contact: a number that is dialled in two forms is one contact. */
const addContact = (conditions: Conditions, contact: string): void => {
  const forms = dialledForms(contact)
  if (forms.length === 1) conditions.add('contact = ?', contact)
  else conditions.add('contact = any (?::text[])', [...forms])
}

const threadOf = (channel: Thread, contact: string) => {
  const asked = makeConditions()
  asked.add(ofThread, channel.account_id)
  asked.add('channel_id = ?', channel.id)
  addContact(asked, contact)
  return makeListQuery(messagesByTime, asked)
}

/** Returns a page of a thread, newest first. */
export const thread = async (db: Sql, channel: Thread, contact: string, at: ListPage): Promise<MessageRow[]> => {
  const { text, values } = threadOf(channel, contact).page(`${messageColumns}, ${exactTime('created_at')} as at`, at)
  const rows = await db.raw<Omit<MessageRow, 'voip_number_setup_id'>>(text, values)
  return rows.map((row) => ({ ...row, voip_number_setup_id: channel.voip_number_setup_id }))
}

/** Counts the messages of a channel with a contact, up to 10,000. */
export const threadTotal = (db: Db, channel: Thread, contact: string) =>
  countRows(db, threadOf(channel, contact).total())

export type Filter = {
  channel: string | null
  contact: string | null
  direction: 'inbound' | 'outbound' | null
  status: Status | null
  error: string | null
  /** User who sent the messages in the inbox. */
  user: string | null
  /** Earliest time of the messages. */
  since: Date | null
  /** Conversations to which the list is limited; null: none. */
  narrowing: Narrowing | null
}

/** Statuses of messages that always have an error code. */
const statusesWithCode: ReadonlySet<Status> = new Set(['failed', 'expired', 'unknown'])

/**
 * The messages of an account, newest first. Contacts, inbound messages and messages with an error code have an index;
 * other filters examine the messages of the account, 10,000 for a page. More indexes would burden every message.
 * @param channels channels of the account, for a contact without a channel
 */
const messagesOf = (
  account: string,
  { channel, contact, direction, status, error, user, since, narrowing }: Filter,
  channels: readonly string[] | null,
) => {
  const asked = makeConditions()
  const filters: { text: string; value: Value }[] = []
  const isByThread = contact !== null && (channel !== null || channels !== null)
  asked.add(isByThread ? ofThread : 'account_id = ?', account)
  asked.add('created_at >= ?', since)
  const filter = (text: string, value: Value | null) => {
    if (value !== null) filters.push({ text, value })
  }
  if (isByThread) {
    addContact(asked, contact)
    asked.add('channel_id = ?', channel)
    filter('direction = ?', direction)
  } else {
    filter('channel_id = ?', channel)
    filter('contact = any (?::text[])', contact === null ? null : [...dialledForms(contact)])
    if (direction === 'inbound') asked.push("direction = 'inbound'")
    else if (error !== null || (status !== null && statusesWithCode.has(status))) asked.push('error_code is not null')
    if (direction === 'outbound') filter('direction = ?', direction)
  }
  filter(`${shownStatus} = ?`, status)
  filter('error_code = ?', error)
  filter(sentBySql('examined.account_id', 'examined.contact', 'examined.id', '?'), user)
  if (narrowing !== null)
    filters.push({
      text: visibleSql('array[examined.contact]', 'examined.account_id', '?'),
      value: narrowing.user,
    })
  const isEach = isByThread && channel === null
  if (isEach) asked.push('channel_id = each.channel')
  const each = isEach ? `unnest(${asked.bind(channels)}::uuid[]) each (channel)` : null
  return makeListQuery(messagesByTime, asked, [], { filters, each })
}

/** Ids of the first channels of an account; null if it has more than can be searched one by one. */
const searchedChannels = async (db: Sql, account: string): Promise<string[] | null> => {
  const rows = await db.many<{ id: string }>`
    select id from sms_channels where account_id = ${account}
    order by created_at, id limit ${maxSearchedChannels + 1}::integer`
  return rows.length > maxSearchedChannels ? null : rows.map(({ id }) => id)
}

/**
 * Returns a page of an account's messages, newest first, with the last message that was examined if the page is short
 * and more may follow.
 */
export const page = async (db: Sql, account: string, filter: Filter, at: ListPage) => {
  const isOfAny = filter.contact !== null && filter.channel === null
  const channels = isOfAny ? await searchedChannels(db, account) : null
  const list = messagesOf(account, filter, channels)
  const { text, values } = list.page(messageColumns, at)
  const rows = await db.raw<MessageRow>(
    `select m.*, ${exactTime('m.created_at')} as at, v.voip_number_setup_id
     from (${text}) m
     join sms_channels c on c.account_id = m.account_id and c.id = m.channel_id
     join virtual_numbers v on v.account_id = c.account_id and v.id = c.virtual_number_id
     order by m.created_at desc, m.id desc`,
    values,
  )
  const isShort = at.limit !== null && rows.length < at.limit && at.skip === 0
  const last = isShort ? list.lastExamined(at.after) : null
  const [examined = null] = last === null ? [] : await db.raw<{ time: string; id: string }>(last.text, last.values)
  return { rows, examined }
}

/** Counts the messages that match a filter, up to 10,000; with a filter without an index, among the newest 10,000.
 *  @param after key that precedes the list */
export const pageTotal = async (db: Db, account: string, filter: Filter, after: readonly string[] | null) => {
  const isOfAny = filter.contact !== null && filter.channel === null
  const list = messagesOf(account, filter, isOfAny ? await searchedChannels(db, account) : null)
  const last = list.lastExamined(after)
  const [total, more] = await Promise.all([
    countRows(db, list.total(after)),
    last === null ? [] : db.raw(last.text, last.values),
  ])
  return { total, isCut: more.length > 0 }
}

export const message = (db: Sql, account: string, id: string) => db.maybe<MessageRow>`
  select m.id, m.direction, m.contact, m.number, m.text, m.fragments, m.price, m.sub_status, m.error_code, m.send_at, m.sending_id, m.media_ids,
    case when m.status = 'scheduled' and m.send_at <= app_now() then 'queued' else m.status end as status, m.created_at, m.updated_at, '' as at, v.voip_number_setup_id
  from sms_messages m
  join sms_channels c on c.account_id = m.account_id and c.id = m.channel_id
  join virtual_numbers v on v.account_id = c.account_id and v.id = c.virtual_number_id
  where m.account_id = ${account} and m.id = ${id}`

/** Messages by their ids, in any order. */
export const messagesById = (db: Sql, account: string, ids: readonly string[]) => db.many<MessageRow>`
  select m.id, m.direction, m.contact, m.number, m.text, m.fragments, m.price, m.sub_status, m.error_code, m.send_at, m.sending_id, m.media_ids,
    case when m.status = 'scheduled' and m.send_at <= app_now() then 'queued' else m.status end as status, m.created_at, m.updated_at, '' as at, v.voip_number_setup_id
  from unnest(${ids}::uuid[]) i (id)
  cross join lateral (select * from sms_messages where account_id = ${account} and id = i.id limit 1) m
  join sms_channels c on c.account_id = m.account_id and c.id = m.channel_id
  join virtual_numbers v on v.account_id = c.account_id and v.id = c.virtual_number_id`

/** Replaces the stored text of a message. */
export const setText = (tx: Tx, account: string, id: string, text: string) => tx.run`
  update sms_messages set text = ${text} where account_id = ${account} and id = ${id}`

/** Returns the time of the platform's clock, which the sandbox moves. */
export const now = async (sql: Sql): Promise<Date> => (await sql.one<{ now: Date }>`select app_now() as now`).now

/** Sets the address that each status of a message is reported to: a trigger adds a job for each (migration twilio). */
export const setCallback = (tx: Tx, account: string, id: string, url: string) => tx.run`
  update sms_messages set callback_url = ${url} where account_id = ${account} and id = ${id}`

/** Erases the text of a message whose status is final. @returns whether there is such a message */
export const eraseText = async (tx: Tx, account: string, id: string): Promise<boolean> =>
  (await tx.run`
    update sms_messages set text = '', updated_at = app_now()
    where account_id = ${account} and id = ${id} and status not in ('scheduled', 'queued', 'sending')`) === 1

/** Sets the files of a message; null for none. */
export const setMedia = (tx: Tx, account: string, id: string, media: readonly string[] | null) => tx.run`
  update sms_messages set media_ids = ${media}::uuid[] where account_id = ${account} and id = ${id}`

export type ReceivedMessage = Pick<
  NewMessage,
  'account' | 'id' | 'channel' | 'number' | 'contact' | 'text' | 'encoding' | 'price'
> & {
  /** True if some parts never arrived. */
  isIncomplete: boolean
  isBlocked: boolean
  /** The connection that brought it. */
  connection: string
  /** Its files (MMS). */
  media: readonly InboundFile[]
}

/** Stores inbound messages. */
export const receive = (tx: Tx, rows: readonly ReceivedMessage[]) => tx.many<EventRow>`
  insert into sms_messages (account_id, id, channel_id, direction, contact, number, text, encoding, fragments, price, status,
    sub_status, media_ids, created_at, updated_at)
  select g.account_id, g.id, g.channel_id, 'inbound', g.contact, g.number, g.text, g.encoding, 1, g.price, 'received',
    case when g.is_blocked then 'blocked' when g.is_incomplete then 'incomplete' end, g.media::uuid[], (select app_now()), (select app_now())
  from unnest(
    ${rows.map((r) => r.account)}::uuid[], ${rows.map((r) => r.id)}::uuid[], ${rows.map((r) => r.channel)}::uuid[],
    ${rows.map((r) => r.contact)}::text[], ${rows.map((r) => r.number)}::text[], ${rows.map((r) => r.text)}::text[],
    ${rows.map((r) => r.encoding)}::text[], ${rows.map((r) => decimal(r.price))}::numeric[],
    ${rows.map((r) => r.isIncomplete)}::boolean[], ${rows.map((r) => r.isBlocked)}::boolean[],
    ${rows.map((r) => (r.media.length === 0 ? null : `{${r.media.map(({ id }) => id).join()}}`))}::text[]
  ) as g (account_id, id, channel_id, contact, number, text, encoding, price, is_incomplete, is_blocked, media)
  returning account_id, id, channel_id, direction, contact, number, text, fragments, price, status, sub_status, error_code,
    sending_id, created_at, updated_at`

/** Returns the setup ids (the public ids of virtual numbers) of SMS channels. */
export const setupIds = (sql: Sql, channels: readonly Pick<EventRow, 'account_id' | 'channel_id'>[]) => sql.many<{
  id: string
  voip_number_setup_id: number
}>`
  select c.id, v.voip_number_setup_id
  from unnest(${channels.map((c) => c.account_id)}::uuid[], ${channels.map((c) => c.channel_id)}::uuid[]) as g (account_id, id)
  cross join lateral (
    select id, virtual_number_id from sms_channels where account_id = g.account_id and id >= g.id and id <= g.id
    order by id limit 1) c
  cross join lateral (
    select voip_number_setup_id from virtual_numbers
    where account_id = g.account_id and id >= c.virtual_number_id and id <= c.virtual_number_id
    order by id limit 1) v`

/** Stores a route decision, if new. */
export const saveDecision = (sql: Sql, id: string, candidates: readonly Candidate[]) => sql.run`
  insert into sms_route_decisions (id, candidates) values (${id}, ${JSON.stringify(candidates)}::jsonb) on conflict do nothing`

/** Returns the scheduled messages whose send time has not come. */
export const scheduledMessages = (tx: Tx, account: string) => tx.many<{ id: string }>`
  select id from sms_messages
  where account_id = ${account} and status = 'scheduled' and send_at > (select app_now()) order by id`
