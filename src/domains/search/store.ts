import type { Sql } from '../../platform/db/sql.ts'
import type { Key } from './cursor.ts'
import { examinedNumbers, maxCountries, searchedChannels, shownText } from './limits.ts'

/** A page of a list by time and id. @property before its first rows are older than this key; null: the newest */
type NewestFirst = { readonly before: Key | null; readonly limit: number }

// Keys that precede the first page, so that each page is read along the index by the same condition.
const newest: Key = { time: 'infinity', id: 'ffffffff-ffff-ffff-ffff-ffffffffffff' }
const oldest: Key = { time: '-infinity', id: '00000000-0000-0000-0000-000000000000' }

/** Countries of the numbers that an account has. */
export const countries = async (sql: Sql, account: string): Promise<string[]> =>
  (
    await sql.many<{ iso: string }>`
      select distinct iso_country_code as iso from (
        select iso_country_code from virtual_numbers where account_id = ${account} and released_at is null
        order by created_at, id limit ${examinedNumbers}::integer) v
      limit ${maxCountries}::integer`
  ).map(({ iso }) => iso)

export type NumberRow = {
  id: string
  number: string
  friendly_name: string
  status_text: string
  created_at: Date
  exact: string
}

/** Numbers of an account that contain digits, or whose name contains a text. @param part null: by name only */
export const numbers = (
  sql: Sql,
  account: string,
  { meant, part, name }: { meant: readonly string[]; part: string | null; name: string },
  { after, limit }: { readonly after: Key | null; readonly limit: number },
) => {
  const { time, id } = after ?? oldest
  return sql.many<NumberRow>`
  select id, number, friendly_name, status_text, created_at, to_char(created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as exact from (
    select id, number, friendly_name, status_text, created_at from virtual_numbers
    where account_id = ${account} and released_at is null
    order by created_at, id limit ${examinedNumbers}::integer) v
  where (number = any (${meant}::text[]) or (${part}::text is not null and strpos(number, ${part}::text) > 0)
    or strpos(lower(friendly_name), lower(${name})) > 0) and (created_at, id) > (${time}::timestamptz, ${id}::uuid)
  order by created_at, id limit ${limit}`
}

export const numberById = (sql: Sql, account: string, id: string) => sql.many<NumberRow>`
  select id, number, friendly_name, status_text, created_at, to_char(created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as exact
  from virtual_numbers where account_id = ${account} and id = ${id}`

export type TextRow = {
  id: string
  kind: 'sms' | 'msgapp'
  direction: 'inbound' | 'outbound'
  channel_id: string
  /** Messaging app: the conversation. */
  peer: string | null
  contact: string
  number: string
  text: string
  created_at: Date
  exact: string
}

/** The newest SMS with numbers, of each channel, along the index of threads. */
export const smsWith = (sql: Sql, account: string, contacts: readonly string[], { before, limit }: NewestFirst) => {
  const { time, id } = before ?? newest
  return sql.many<TextRow>`
  select m.id, 'sms' as kind, m.direction, m.channel_id, null as peer, m.contact, m.number,
    left(m.text, ${shownText}::integer) as text, m.created_at,
    to_char(m.created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as exact
  from (
    select id from sms_channels where account_id = ${account}
    order by created_at, id limit ${searchedChannels}::integer) c
  cross join unnest(${contacts}::text[]) n (contact)
  cross join lateral (
    select id, direction, channel_id, contact, number, text, created_at from sms_messages
    where channel_id = c.id and contact = n.contact and account_id = ${account}
      and (created_at, id) < (${time}::timestamptz, ${id}::uuid)
    order by created_at desc, id desc limit ${limit}::integer) m
  order by m.created_at desc, m.id desc limit ${limit}::integer`
}

/** The newest messages of the messaging app with numbers, of each channel. */
export const messagesWith = (
  sql: Sql,
  account: string,
  contacts: readonly string[],
  { before, limit }: NewestFirst,
) => {
  const { time, id } = before ?? newest
  return sql.many<TextRow>`
    select m.id, 'msgapp' as kind, m.direction, m.channel_id, m.peer, n.contact, c.phone_number as number,
      left(coalesce(m.text, ''), ${shownText}::integer) as text, m.created_at,
      to_char(m.created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as exact
    from (
      select id, phone_number from msgapp_channels where account_id = ${account} and deleted_at is null
      order by created_at desc, id desc limit ${searchedChannels}::integer) c
    cross join unnest(${contacts}::text[]) n (contact)
    cross join lateral (
      select id, direction, channel_id, peer, text, created_at from msgapp_messages
      where account_id = ${account} and channel_id = c.id and peer = ltrim(n.contact, '+') || '@c.us'
        and removed is null and (created_at, id) < (${time}::timestamptz, ${id}::uuid)
      order by created_at desc, id desc limit ${limit}::integer) m
    order by m.created_at desc, m.id desc limit ${limit}::integer`
}

export const smsById = (sql: Sql, account: string, id: string) => sql.many<TextRow>`
  select id, 'sms' as kind, direction, channel_id, null as peer, contact, number,
    left(text, ${shownText}::integer) as text, created_at, to_char(created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as exact
  from sms_messages where account_id = ${account} and id = ${id}`

export const messageById = (sql: Sql, account: string, id: string) => sql.many<TextRow>`
  select m.id, 'msgapp' as kind, m.direction, m.channel_id, m.peer, coalesce(c.number, c.remote_id, m.peer) as contact,
    n.phone_number as number, left(coalesce(m.text, ''), ${shownText}::integer) as text, m.created_at,
    to_char(m.created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as exact
  from msgapp_messages m
  join msgapp_channels n on n.account_id = m.account_id and n.id = m.channel_id
  left join msgapp_chats c on c.account_id = m.account_id and c.channel_id = m.channel_id and c.peer = m.peer
  where m.account_id = ${account} and m.id = ${id} and m.removed is null`

export type CallRow = {
  id: string
  direction: 'O' | 'I'
  from_number: string | null
  to_number: string
  status: string
  duration: number
  created_at: Date
  exact: string
}

/** Calls with numbers, newest first. The indexes by number contain calls that have ended. */
export const callsWith = (sql: Sql, account: string, contacts: readonly string[], { before, limit }: NewestFirst) => {
  const { time, id } = before ?? newest
  return sql.many<CallRow>`
  select c.*, to_char(c.created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as exact from unnest(${contacts}::text[]) n (contact)
  cross join lateral (
    (select id, direction, from_number, to_number, status, duration, created_at from calls
     where account_id = ${account} and direction = 'O' and to_number = n.contact and ended_at is not null
       and (created_at, id) < (${time}::timestamptz, ${id}::uuid)
     order by created_at desc, id desc limit ${limit}::integer)
    union all
    (select id, direction, from_number, to_number, status, duration, created_at from calls
     where account_id = ${account} and direction = 'I' and from_number = n.contact and ended_at is not null
       and (created_at, id) < (${time}::timestamptz, ${id}::uuid)
     order by created_at desc, id desc limit ${limit}::integer)) c
  order by c.created_at desc, c.id desc limit ${limit}::integer`
}

export const callById = (sql: Sql, account: string, id: string) => sql.many<CallRow>`
  select id, direction, from_number, to_number, status, duration, created_at,
    to_char(created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as exact
  from calls where account_id = ${account} and id = ${id}`

export const eventById = (sql: Sql, account: string, id: string) =>
  sql.many<{
    id: string
    name: string
    created_at: Date
  }>`select id, name, created_at from events where account_id = ${account} and id = ${id}`
