import { exactTime } from '../../platform/db/list-query.ts'
import type { Sql } from '../../platform/db/sql.ts'
import type { Cursor } from '../../platform/lib/cursor.ts'
import { greatestId } from '../../platform/lib/id.ts'
import { examinedNumbers, maxCountries, searchedChannels, shownText } from './limits.ts'

/** A page of a list by time and id. @property before its first rows are older than this key; null: the newest */
type NewestFirst = { readonly before: Cursor | null; readonly limit: number }

// Keys that precede the first page, so that each page is read along the index by the same condition.
const newest: Cursor = { time: 'infinity', id: greatestId }
const oldest: Cursor = { time: '-infinity', id: '00000000-0000-0000-0000-000000000000' }

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
  /** Time for a cursor; empty for a row that was found by its id. */
  exact: string
}

const selectNumbers = `
  select id, number, friendly_name, status_text, created_at, ${exactTime('created_at')} as exact from (
    select id, number, friendly_name, status_text, created_at from virtual_numbers
    where account_id = $1 and released_at is null order by created_at, id limit ${examinedNumbers}) v
  where (number = any ($2::text[]) or ($3::text is not null and strpos(number, $3) > 0)
    or strpos(lower(friendly_name), lower($4)) > 0) and (created_at, id) > ($5::timestamptz, $6::uuid)
  order by created_at, id limit $7`

/** Numbers of an account that contain digits, or whose name contains a text. @param part null: by name only */
export const numbers = (
  sql: Sql,
  account: string,
  { meant, part, name }: { meant: readonly string[]; part: string | null; name: string },
  { after, limit }: { readonly after: Cursor | null; readonly limit: number },
) => {
  const { time, id } = after ?? oldest
  return sql.raw<NumberRow>(selectNumbers, [account, meant, part, name, time, id, limit])
}

export const numberById = (sql: Sql, account: string, id: string) => sql.many<NumberRow>`
  select id, number, friendly_name, status_text, created_at, '' as exact
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
  /** Time for a cursor; empty for a row that was found by its id. */
  exact: string
}

// Parameters of the statements by number: $1 account, $2 numbers, $3 and $4 key before the page, $5 limit.

const selectSmsWith = `
  select m.id, 'sms' as kind, m.direction, m.channel_id, null as peer, m.contact, m.number,
    left(m.text, ${shownText}) as text, m.created_at, ${exactTime('m.created_at')} as exact
  from (
    select id from sms_channels where account_id = $1 order by created_at, id limit ${searchedChannels}) c
  cross join unnest($2::text[]) n (contact)
  cross join lateral (
    select id, direction, channel_id, contact, number, text, created_at from sms_messages
    where channel_id = c.id and contact = n.contact and account_id = $1
      and (created_at, id) < ($3::timestamptz, $4::uuid)
    order by created_at desc, id desc limit $5) m
  order by m.created_at desc, m.id desc limit $5`

const selectMessagesWith = `
  select m.id, 'msgapp' as kind, m.direction, m.channel_id, m.peer, n.contact, c.phone_number as number,
    left(coalesce(m.text, ''), ${shownText}) as text, m.created_at, ${exactTime('m.created_at')} as exact
  from (
    select id, phone_number from msgapp_channels where account_id = $1 and deleted_at is null
    order by created_at desc, id desc limit ${searchedChannels}) c
  cross join unnest($2::text[]) n (contact)
  cross join lateral (
    select id, direction, channel_id, peer, text, created_at from msgapp_messages
    where account_id = $1 and channel_id = c.id and peer = ltrim(n.contact, '+') || '@c.us'
      and removed is null and (created_at, id) < ($3::timestamptz, $4::uuid)
    order by created_at desc, id desc limit $5) m
  order by m.created_at desc, m.id desc limit $5`

const byNumber = (account: string, numbers: readonly string[], { before, limit }: NewestFirst) => {
  const { time, id } = before ?? newest
  return [account, numbers, time, id, limit]
}

/** The newest SMS with numbers, of each channel, along the index of threads. */
export const smsWith = (sql: Sql, account: string, contacts: readonly string[], page: NewestFirst) =>
  sql.raw<TextRow>(selectSmsWith, byNumber(account, contacts, page))

/** The newest messages of the messaging app with numbers, of each channel. */
export const messagesWith = (sql: Sql, account: string, contacts: readonly string[], page: NewestFirst) =>
  sql.raw<TextRow>(selectMessagesWith, byNumber(account, contacts, page))

export const smsById = (sql: Sql, account: string, id: string) => sql.many<TextRow>`
  select id, 'sms' as kind, direction, channel_id, null as peer, contact, number,
    left(text, ${shownText}::integer) as text, created_at, '' as exact
  from sms_messages where account_id = ${account} and id = ${id}`

export const messageById = (sql: Sql, account: string, id: string) => sql.many<TextRow>`
  select m.id, 'msgapp' as kind, m.direction, m.channel_id, m.peer, coalesce(c.number, c.remote_id, m.peer) as contact,
    n.phone_number as number, left(coalesce(m.text, ''), ${shownText}::integer) as text, m.created_at,
    '' as exact
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
  /** Time for a cursor; empty for a row that was found by its id. */
  exact: string
}

const selectEnded = (direction: 'O' | 'I', number: string) => `
  (select id, direction, from_number, to_number, status, duration, created_at from calls
   where account_id = $1 and direction = '${direction}' and ${number} = n.contact and ended_at is not null
     and (created_at, id) < ($3::timestamptz, $4::uuid)
   order by created_at desc, id desc limit $5)`

const selectCallsWith = `
  select c.*, ${exactTime('c.created_at')} as exact from unnest($2::text[]) n (contact)
  cross join lateral (${selectEnded('O', 'to_number')} union all ${selectEnded('I', 'from_number')}) c
  order by c.created_at desc, c.id desc limit $5`

/** Calls with numbers, newest first. The indexes by number contain calls that have ended. */
export const callsWith = (sql: Sql, account: string, contacts: readonly string[], page: NewestFirst) =>
  sql.raw<CallRow>(selectCallsWith, byNumber(account, contacts, page))

export const callById = (sql: Sql, account: string, id: string) => sql.many<CallRow>`
  select id, direction, from_number, to_number, status, duration, created_at, '' as exact
  from calls where account_id = ${account} and id = ${id}`

export const eventById = (sql: Sql, account: string, id: string) =>
  sql.many<{
    id: string
    name: string
    created_at: Date
  }>`select id, name, created_at from events where account_id = ${account} and id = ${id}`
