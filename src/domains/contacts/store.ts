import { makeConditions } from '../../platform/db/conditions.ts'
import { countRows, exactTime, type ListPage, makeListQuery } from '../../platform/db/list-query.ts'
import type { Sql, Tx } from '../../platform/db/sql.ts'
import type { FieldValues, SearchedValues } from './contact-fields.ts'
import type { Detail, DetailRow } from './details.ts'

export type ContactRow = FieldValues & {
  account_id: string
  id: string
  channel_id: string | null
  /** State in the address book of its channel; null without a channel. */
  sync_state: 'queued' | 'synced' | 'failed' | 'not_supported' | null
  sync_error: string | null
  synced_at: Date | null
  /** Null: not blocked. */
  blocked_at: Date | null
  created_at: Date
  updated_at: Date | null
}

/** Contacts by id, in the order of their ids. */
export const byIds = (sql: Sql, account: string, ids: readonly string[]) => sql.many<ContactRow>`
  select account_id, id, first_name, last_name, profile_pic_url, channel_id, sync_state, sync_error, synced_at,
    blocked_at, created_at, updated_at
  from contacts where account_id = ${account} and id = any (${ids}::uuid[]) order by id`

/** Details of contacts, in the order in which they were added. */
export const details = (sql: Sql, account: string, contacts: readonly string[]) => sql.many<DetailRow>`
  select contact_id, id, type, value, label, extension, floor(extract(epoch from created_at))::bigint as created_at,
    coalesce(floor(extract(epoch from updated_at)), 0)::bigint as updated_at
  from contact_details where account_id = ${account} and contact_id = any (${contacts}::uuid[]) order by contact_id, id`

/** Filters and order of a list of contacts. */
export type ContactList = {
  readonly channel: string | null
  readonly isBlocked: boolean
  readonly sort: 'created_at' | '-created_at' | 'name'
}

/** The contacts with the key of their names: the planner uses the indexes of that expression. */
const named = '(select *, contacts_name_key(first_name, last_name) collate "C" as name_key from contacts) contacts'

const byName = [
  { name: 'name_key', type: 'text' },
  { name: 'id', type: 'uuid' },
] as const

const listOf = (account: string, { channel, isBlocked, sort }: ContactList) => {
  const conditions = makeConditions()
  conditions.add('account_id = ?', account)
  conditions.add('channel_id = ?', channel)
  if (isBlocked) conditions.push('blocked_at is not null')
  const key = sort === 'name' ? byName : ([{ name: 'id', type: 'uuid' }] as const)
  return makeListQuery({ table: { rows: named }, key, isNewestFirst: sort === '-created_at' }, conditions)
}

export const page = (sql: Sql, account: string, list: ContactList, at: ListPage) => {
  const { text, values } = listOf(account, list).page(`id, name_key, ${exactTime('created_at')} as at`, at)
  return sql.raw<{ id: string; name_key: string; at: string }>(text, values)
}

/** Counts the contacts of a filtered list, at most one above 10,000. */
export const filteredTotal = (sql: Sql, account: string, list: ContactList) =>
  countRows(sql, listOf(account, list).total())

export const total = async (sql: Sql, account: string): Promise<number> =>
  (
    await sql.one<{ total: number }>`
      select coalesce(sum(contacts), 0)::bigint as total from contact_counts where account_id = ${account}`
  ).total

/** The id of the newest contact, or none. */
export const newest = async (sql: Sql, account: string): Promise<string[]> => {
  const rows = await sql.many<{ id: string }>`
    select id from contacts where account_id = ${account} order by id desc limit 1`
  return rows.map(({ id }) => id)
}

/**
 * Adds to the contact count. Must be the last statement of its transaction, because others may wait for the row.
 * @returns false, without counting, if the account would exceed `most`
 */
export const count = async (tx: Tx, account: string, more: number, most: number | null): Promise<boolean> =>
  (
    await tx.one<{ total: number | null }>`
      select contacts_adjust_count(${account}, ${more}::bigint, ${most}::bigint) as total`
  ).total !== null

/** An index query: all grams of `whole`, and one gram of each list in `any` (at most three lists). */
export type GramQuery = { readonly whole: readonly number[]; readonly any: readonly (readonly number[])[] }

/** Fields of a contact that the ranking reads: numbers and e-mail addresses, each preceded by a space. */
export type FoundRow = SearchedValues & { id: string; numbers: string; emails: string }

/**
 * Finds contacts by grams; one may occur twice. See `contacts_search` in the migrations.
 * @param sample the same query for the sample
 */
export const findByGrams = (
  sql: Sql,
  account: string,
  { whole, any: [one = [], two = [], three = []] }: GramQuery,
  { whole: sampleWhole, any: [sampleOne = [], sampleTwo = [], sampleThree = []] }: GramQuery,
  most: number,
) => sql.many<FoundRow>`
  select id, first_name, last_name, numbers, emails
  from contacts_search(${account}, ${whole}::integer[], ${one}::integer[], ${two}::integer[], ${three}::integer[],
    ${sampleWhole}::integer[], ${sampleOne}::integer[], ${sampleTwo}::integer[], ${sampleThree}::integer[], ${most})`

/** Filters contacts to those of a channel, or to blocked ones. */
export const among = async (
  sql: Sql,
  account: string,
  { channel, isBlocked }: { channel: string | null; isBlocked: boolean },
  ids: readonly string[],
) => {
  const rows = await sql.many<{ id: string }>`
    select id from contacts where account_id = ${account} and id = any (${ids}::uuid[])
      and (${channel}::uuid is null or channel_id = ${channel}) and (not ${isBlocked} or blocked_at is not null)`
  return rows.map(({ id }) => id)
}

/** Blocks or unblocks a contact. */
export const setBlocked = (tx: Tx, account: string, id: string, isBlocked: boolean) => tx.run`
  update contacts set blocked_at = case when ${isBlocked} then app_now() end, updated_at = app_now()
  where account_id = ${account} and id = ${id} and (blocked_at is not null) <> ${isBlocked}`

export type NewContact = FieldValues & {
  readonly id: string
  readonly channel_id: string | null
  readonly numbers: string
  readonly emails: string
  readonly grams: readonly number[]
}

export const insert = (tx: Tx, account: string, rows: readonly NewContact[]) => tx.run`
  insert into contacts (account_id, id, first_name, last_name, profile_pic_url, channel_id, numbers, emails, grams,
    created_at)
  select ${account}, g.id, g.first_name, g.last_name, g.profile_pic_url, g.channel_id, g.numbers, g.emails,
    g.grams::integer[], (select app_now())
  from unnest(
    ${rows.map((r) => r.id)}::uuid[], ${rows.map((r) => r.first_name)}::text[], ${rows.map((r) => r.last_name)}::text[],
    ${rows.map((r) => r.profile_pic_url)}::text[], ${rows.map((r) => r.channel_id)}::uuid[],
    ${rows.map((r) => r.numbers)}::text[], ${rows.map((r) => r.emails)}::text[],
    ${rows.map((r) => `{${r.grams.join()}}`)}::text[]
  ) as g (id, first_name, last_name, profile_pic_url, channel_id, numbers, emails, grams)`

export const addDetails = (tx: Tx, account: string, rows: readonly (Detail & { contact: string })[]) => tx.run`
  insert into contact_details (account_id, contact_id, type, value, match_key, label, extension, created_at)
  select ${account}, g.contact_id, g.type, g.value, g.match_key, g.label, g.extension, (select app_now())
  from unnest(
    ${rows.map((r) => r.contact)}::uuid[], ${rows.map((r) => r.type)}::text[], ${rows.map((r) => r.value)}::text[],
    ${rows.map((r) => (r.type === 'A' ? null : r.key))}::text[],
    ${rows.map((r) => r.label)}::text[], ${rows.map((r) => r.extension)}::text[]
  ) with ordinality as g (contact_id, type, value, match_key, label, extension, n) order by g.n`

/** Locks existing contacts until the transaction ends. */
export const lock = (tx: Tx, account: string, ids: readonly string[]) => tx.many<{ id: string }>`
  select id from contacts where account_id = ${account} and id = any (${ids}::uuid[]) order by id for update`

export const change = (tx: Tx, account: string, row: NewContact) => tx.run`
  update contacts set first_name = ${row.first_name}, last_name = ${row.last_name},
    profile_pic_url = ${row.profile_pic_url}, channel_id = ${row.channel_id}, numbers = ${row.numbers}, emails = ${row.emails}, grams = ${row.grams}::integer[], updated_at = app_now()
  where account_id = ${account} and id = ${row.id}`

export const changeDetail = (tx: Tx, account: string, contact: string, id: number, detail: Detail) => tx.run`
  update contact_details set type = ${detail.type}, value = ${detail.value}, label = ${detail.label}, updated_at = app_now()
  where account_id = ${account} and contact_id = ${contact} and id = ${id}`

export const removeDetails = (tx: Tx, account: string, contact: string, ids: readonly number[]) => tx.run`
  delete from contact_details
  where account_id = ${account} and contact_id = ${contact} and id = any (${ids}::bigint[])`

/**
 * Deletes contacts with their details.
 * @returns how many were deleted
 */
export const remove = (tx: Tx, account: string, ids: readonly string[]) => tx.run`
  delete from contacts where account_id = ${account} and id = any (${ids}::uuid[])`

/** Contacts that have these numbers, in their canonical forms; the oldest wins if several have one number. */
export const byNumbers = (sql: Sql, pairs: readonly { account: string; number: string }[]) => sql.many<
  Pick<ContactRow, 'account_id' | 'id' | 'first_name' | 'last_name' | 'profile_pic_url'> & { number: string }
>`
  select distinct on (g.account_id, g.number) c.account_id, c.id, c.first_name, c.last_name, c.profile_pic_url, g.number
  from unnest(${pairs.map((w) => w.account)}::uuid[], ${pairs.map((w) => w.number)}::text[]) as g (account_id, number)
  join contact_details d on d.account_id = g.account_id and d.match_key = g.number
  join contacts c on c.account_id = d.account_id and c.id = d.contact_id
  order by g.account_id, g.number, c.id`

/** Contacts that have details with these keys, oldest contact first. */
export const byKeys = (sql: Sql, account: string, keys: readonly string[]) => sql.many<{
  match_key: string
  extension: string | null
  contact_id: string
}>`
  select match_key, extension, contact_id from contact_details
  where account_id = ${account} and match_key = any (${keys}::text[]) order by contact_id, id`

type Sync = Pick<ContactRow, 'sync_state' | 'sync_error'>

export const setSync = (tx: Tx, account: string, id: string, { sync_state, sync_error }: Sync) => tx.run`
  update contacts set sync_state = ${sync_state}, sync_error = ${sync_error},
    synced_at = case when ${sync_state} = 'synced' then app_now() else synced_at end
  where account_id = ${account} and id = ${id}`

/** Stores the sync result, only while the contact still belongs to that channel. */
export const storeSyncResult = (tx: Tx, account: string, id: string, channel: string, error: string | null) => tx.run`
  update contacts set sync_state = case when ${error}::text is null then 'synced' else 'failed' end, sync_error = ${error},
    synced_at = case when ${error}::text is null then app_now() else synced_at end
  where account_id = ${account} and id = ${id} and channel_id = ${channel}`

/**
 * Marks numbers, in their canonical forms, found on the messaging app.
 * @returns the contacts that have them
 */
export const markOnMsgapp = (tx: Tx, account: string, numbers: readonly string[]) => tx.many<{ contact_id: string }>`
  update contact_details set type = 'WAPH', updated_at = app_now()
  where account_id = ${account} and match_key = any (${numbers}::text[]) and type = 'PH'
  returning contact_id`
