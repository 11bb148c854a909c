import { canonicalNumber, dialledForms } from '@trunkline/phone/number-forms.ts'
import type { Sql } from '../../platform/db/sql.ts'
import { greatestId } from '../../platform/lib/id.ts'
import { blockedReason } from '../calls/refusals.ts'
import { searchedChannels } from './limits.ts'
import { anonymousCaller, hiddenCounterpart } from './narrowing/ops.ts'

/** A message or call on its way into a conversation. Ids have no prefix. */
export type NewItem = {
  readonly id: string
  readonly kind: 'sms' | 'msgapp' | 'call' | 'msgapp-call'
  readonly direction: 'inbound' | 'outbound'
  readonly at: Date
  readonly channel: string | null
  readonly user: string | null
  /** A number in its canonical form. */
  readonly counterpart: string
  /** The number as it was given, if that is another form. */
  readonly number?: string
  readonly group: string | null
  /** Name by the network; null if it has none. */
  readonly name: string | null
  /** Under this counterpart the conversation was before the network revealed the number. */
  readonly former: string | null
  /** Content, or what a list shows in its place. */
  readonly text: string
  /** A conversation begins with it. */
  readonly begins: boolean
  /** Opens a conversation that is closed or snoozed, and waits for an answer. */
  readonly opens: boolean
  /** A person answers with it. */
  readonly answers: boolean
}

/** Reference to a message or call. */
export type ItemRef = { readonly kind: 'sms' | 'msgapp' | 'call'; readonly id: string }

type SmsRow = {
  id: string
  channel_id: string
  direction: 'inbound' | 'outbound'
  contact: string
  text: string
  media_type: string | null
  created_at: Date
}

// An id is a range of one value in its own order, so that a plan made for an account that the planner does not know uses
// the primary key: other indexes begin with the account too, and 200 chats took 9,204 searches of one of them.

const smsOf = (sql: Sql, account: string, ids: readonly string[]) => sql.many<SmsRow>`
  select m.id, m.channel_id, m.direction, m.contact, m.text, m.created_at,
    case when m.text = '' and m.media_ids is not null then (
      select type from msgapp_media
      where account_id = ${account} and id >= m.media_ids[1] and id <= m.media_ids[1] order by id limit 1
    ) end as media_type
  from unnest(${ids}::uuid[]) i (id) cross join lateral (
    select * from sms_messages where account_id = ${account} and id >= i.id and id <= i.id order by id limit 1) m
  where m.sub_status is distinct from 'blocked'`

const itemOfSms = (row: SmsRow): NewItem => ({
  id: row.id,
  kind: 'sms',
  direction: row.direction,
  at: row.created_at,
  channel: row.channel_id,
  user: null,
  counterpart: row.contact,
  group: null,
  name: null,
  former: null,
  text: row.media_type === null ? row.text : `[${row.media_type}]`,
  begins: row.direction === 'inbound',
  opens: row.direction === 'inbound',
  answers: false,
})

type ChatRow = {
  id: string
  channel_id: string
  direction: 'inbound' | 'outbound'
  sent_by: 'user' | 'api' | 'agent'
  text: string | null
  has_pin: boolean
  template: string | null
  media_type: string | null
  created_at: Date
  number: string | null
  remote_id: string | null
  peer: string
  pushname: string | null
  group_id: string | null
  group_name: string | null
}

const chatsOf = (sql: Sql, account: string, ids: readonly string[]) => sql.many<ChatRow>`
  select m.id, m.channel_id, m.direction, m.sent_by, m.text, m.pin is not null as has_pin,
    m.template ->> 'name' as template, f.type as media_type, m.created_at, c.number, c.remote_id, m.peer, c.pushname,
    c.group_id, g.name as group_name
  from unnest(${ids}::uuid[]) i (id)
  cross join lateral (
    select * from msgapp_messages where account_id = ${account} and id >= i.id and id <= i.id order by id limit 1) m
  cross join lateral (
    select * from msgapp_chats
    where account_id = ${account} and channel_id = m.channel_id and peer >= m.peer and peer <= m.peer
    order by peer limit 1) c
  left join lateral (
    select name from msgapp_groups
    where account_id = ${account} and id >= c.group_id and id <= c.group_id order by id limit 1) g on true
  left join lateral (
    select type from msgapp_media
    where account_id = ${account} and id >= m.media_id and id <= m.media_id order by id limit 1) f on true
  where m.blocked is not true`

/** Returns the counterpart of a group. */
export const groupCounterpart = (group: string): string => `WAG${group}`

const chatText = ({ text, media_type, has_pin, template }: ChatRow): string =>
  text ?? (media_type ? `[${media_type}]` : has_pin ? '[location]' : template ? `[${template}]` : '')

const itemOfChat = (row: ChatRow): NewItem => {
  const remote = hiddenCounterpart(row.channel_id, row.remote_id ?? row.peer)
  const isInbound = row.direction === 'inbound'
  return {
    id: row.id,
    kind: 'msgapp',
    direction: row.direction,
    at: row.created_at,
    channel: row.channel_id,
    user: null,
    counterpart: row.group_id !== null ? groupCounterpart(row.group_id) : (row.number ?? remote),
    group: row.group_id,
    name: row.group_id !== null ? row.group_name : row.pushname || null,
    former: row.group_id === null && row.number !== null && row.remote_id !== null ? remote : null,
    text: chatText(row),
    // The owner of the number wrote on another device: a person, though none of the console.
    begins: isInbound || row.sent_by === 'agent',
    opens: isInbound,
    answers: row.sent_by === 'agent',
  }
}

type CallRow = {
  id: string
  direction: 'O' | 'I'
  user_id: string | null
  from_number: string | null
  to_number: string
  status: string
  is_msgapp: boolean
  channel_id: string | null
  remote_id: string | null
  number: string | null
  answered_at: Date | null
  created_at: Date
}

const callsOf = (sql: Sql, account: string, ids: readonly string[]) => sql.many<CallRow>`
  select c.id, c.direction, c.user_id, c.from_number, c.to_number, c.status, c.is_msgapp, c.answered_at, c.created_at,
    coalesce(w.channel_id, c.virtual_number_id) as channel_id, w.remote_id, w.number
  from unnest(${ids}::uuid[]) i (id)
  cross join lateral (
    select * from calls where account_id = ${account} and id >= i.id and id <= i.id order by id limit 1) c
  left join lateral (
    select channel_id, remote_id, number from msgapp_calls
    where c.is_msgapp and account_id = ${account} and id >= c.id and id <= c.id order by id limit 1) w on true
  where c.end_reason is distinct from ${blockedReason}`

const itemOfCall = (row: CallRow): NewItem[] => {
  const isInbound = row.direction === 'I'
  const other = isInbound ? row.from_number : row.to_number
  // Calls that the platform places, such as those that read out a code, belong to no conversation.
  if (!other || (!isInbound && row.user_id === null && !row.is_msgapp)) return []
  const remote = row.is_msgapp ? row.remote_id : other === anonymousCaller ? row.id : null
  const isHidden = row.number === null && remote !== null && row.channel_id !== null
  const isMissed = isInbound && row.answered_at === null
  return [
    {
      id: row.id,
      kind: row.is_msgapp ? 'msgapp-call' : 'call',
      direction: isInbound ? 'inbound' : 'outbound',
      at: row.created_at,
      channel: row.channel_id,
      user: row.user_id,
      counterpart: isHidden ? hiddenCounterpart(row.channel_id ?? '', remote ?? '') : other,
      group: null,
      name: isHidden && !row.is_msgapp ? other : null,
      former: null,
      text: isMissed ? 'missed call' : isInbound ? 'inbound call' : 'outbound call',
      begins: true,
      opens: isMissed,
      answers: row.answered_at !== null,
    },
  ]
}

const canonical = (item: NewItem): NewItem => {
  const counterpart = canonicalNumber(item.counterpart)
  return counterpart === item.counterpart ? item : { ...item, counterpart, number: item.counterpart }
}

/** Reads messages and calls as items, in the order of their ids. Those that no longer exist are left out, and so are
 *  those of blocked contacts. */
export const loadItems = async (sql: Sql, account: string, refs: readonly ItemRef[]): Promise<NewItem[]> => {
  const idsOf = (kind: ItemRef['kind']) => [...new Set(refs.filter((ref) => ref.kind === kind).map(({ id }) => id))]
  const [sms, chats, calls] = [idsOf('sms'), idsOf('msgapp'), idsOf('call')]
  const items = [
    ...(sms.length > 0 ? (await smsOf(sql, account, sms)).map(itemOfSms) : []),
    ...(chats.length > 0 ? (await chatsOf(sql, account, chats)).map(itemOfChat) : []),
    ...(calls.length > 0 ? (await callsOf(sql, account, calls)).flatMap(itemOfCall) : []),
  ]
  return items.map(canonical).sort((a, b) => (a.id < b.id ? -1 : 1))
}

/** The counterpart whose messages and calls are looked for. */
export type Thread = { readonly counterpart: string; readonly group: string | null }

const hiddenForm = /^remote:([0-9a-f-]{36}):(.*)$/s

/**
 * Finds the newest messages and calls with a counterpart, over all channels, along the index of each: see
 * migrations/baseline/17_inbox.sql.
 * @param before only older ids; null: the newest
 */
export const refsOf = async (
  sql: Sql,
  account: string,
  { counterpart, group }: Thread,
  before: string | null,
  limit: number,
): Promise<ItemRef[]> => {
  const below = before ?? greatestId
  if (group !== null)
    return sql.many<ItemRef>`
      with chats as (
        select array_agg(c.channel_id) as channels, array_agg(c.peer) as peers from msgapp_groups g
        join msgapp_chats c on c.account_id = g.account_id and c.channel_id = g.channel_id and c.group_id = g.id
        where g.account_id = ${account} and g.id = ${group})
      select r.kind, r.id from chats
      cross join lateral inbox_refs(${account}, null, chats.channels, chats.peers, ${below},
        ${searchedChannels}::integer, ${limit}::integer) r
      order by r.id desc`
  const [, channel, remote] = hiddenForm.exec(counterpart) ?? []
  if (channel !== undefined && remote !== undefined)
    return sql.many<ItemRef>`
      with chats as (
        select array_agg(peer) as peers from (
          select peer from msgapp_chats
          where account_id = ${account} and channel_id = ${channel} and remote_id = ${remote} and group_id is null
          limit 1) c)
      select r.kind, r.id from chats
      cross join lateral inbox_refs(${account}, null, ${[channel]}::uuid[], chats.peers, ${below},
        ${searchedChannels}::integer, ${limit}::integer) r
      order by r.id desc`
  return sql.many<ItemRef>`
    with chats as (
      select array_agg(id) as channels, array_agg(ltrim(${counterpart}, '+') || '@c.us') as peers from (
        select id from msgapp_channels where account_id = ${account} and deleted_at is null
        order by created_at desc, id desc limit ${searchedChannels}::integer) c)
    select r.kind, r.id from chats
    cross join unnest(${[...dialledForms(counterpart)]}::text[]) with ordinality as f (number, n)
    cross join lateral inbox_refs(${account}, f.number, case when f.n = 1 then chats.channels end,
      case when f.n = 1 then chats.peers end, ${below}, ${searchedChannels}::integer, ${limit}::integer) r
    order by r.id desc limit ${limit}::integer`
}
