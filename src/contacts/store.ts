import type { Sql, Tx } from '../db/sql.ts'
import type { Detail, DetailType } from './details.ts'

export type ContactRow = {
  account_id: string
  id: string
  first_name: string
  last_name: string
  profile_pic_url: string | null
  channel_id: string | null
  /** On the account of its channel; null where it has none. */
  sync_state: 'queued' | 'synced' | 'failed' | 'not_supported' | null
  sync_error: string | null
  synced_at: Date | null
  created_at: Date
  updated_at: Date | null
}

/** Times in Unix seconds. */
export type DetailRow = {
  contact_id: string
  id: number
  type: DetailType
  value: string
  created_at: number
  updated_at: number
}

/** In the order of their ids. */
export const byIds = (sql: Sql, account: string, ids: readonly string[]) => sql.many<ContactRow>`
  select account_id, id, first_name, last_name, profile_pic_url, channel_id, sync_state, sync_error, synced_at,
    created_at, updated_at
  from contacts where account_id = ${account} and id = any (${ids}::uuid[]) order by id`

/** The details of contacts, in the order in which they came. */
export const details = (sql: Sql, account: string, contacts: readonly string[]) => sql.many<DetailRow>`
  select contact_id, id, type, value, floor(extract(epoch from created_at))::bigint as created_at,
    coalesce(floor(extract(epoch from updated_at)), 0)::bigint as updated_at
  from contact_details where account_id = ${account} and contact_id = any (${contacts}::uuid[]) order by contact_id, id`

/** A page in the order of creation. @param after the id of the last one before it */
export const page = (sql: Sql, account: string, after: string | null, limit: number, offset: number) => sql.many<{
  id: string
}>`
  select id from contacts
  where account_id = ${account} and id > coalesce(${after}::uuid, '00000000-0000-0000-0000-000000000000')
  order by id limit ${limit} offset ${offset}`

/** The same of the contacts of a channel. */
export const channelPage = (
  sql: Sql,
  account: string,
  channel: string,
  after: string | null,
  limit: number,
  offset: number,
) => sql.many<{ id: string }>`
  select id from contacts
  where account_id = ${account} and channel_id = ${channel}
    and id > coalesce(${after}::uuid, '00000000-0000-0000-0000-000000000000')
  order by id limit ${limit} offset ${offset}`

export const channelTotal = async (sql: Sql, account: string, channel: string): Promise<number> =>
  (
    await sql.one<{ total: number }>`
      select count(*) as total from contacts where account_id = ${account} and channel_id = ${channel}`
  ).total

export const total = async (sql: Sql, account: string): Promise<number> =>
  (
    await sql.one<{ total: number }>`
      select coalesce(sum(contacts), 0)::bigint as total from contact_counts where account_id = ${account}`
  ).total

/** Counts contacts that came or went: the last statement of its transaction, since others may wait for the row.
 *  @returns false, with nothing counted, where the account would have more than `most` */
export const count = async (tx: Tx, account: string, more: number, most: number | null): Promise<boolean> =>
  (
    await tx.one<{ total: number | null }>`
      select contacts_count(${account}, ${more}::bigint, ${most}::bigint) as total`
  ).total !== null

/** All of one list of grams, and one of each of at most three further lists. */
export type Wanted = { readonly whole: readonly number[]; readonly any: readonly (readonly number[])[] }

/** What a search looks at of a contact: numbers and e-mail addresses each after a space. */
export type FoundRow = Pick<ContactRow, 'id' | 'first_name' | 'last_name'> & { numbers: string; emails: string }

/** Contacts by their grams; one may come twice. See `contacts_found` in the migrations. @param sample of all in the sample */
export const found = (
  sql: Sql,
  account: string,
  { whole, any: [one = [], two = [], three = []] }: Wanted,
  { whole: sampleWhole, any: [sampleOne = [], sampleTwo = [], sampleThree = []] }: Wanted,
  most: number,
) => sql.many<FoundRow>`
  select id, first_name, last_name, numbers, emails
  from contacts_found(${account}, ${whole}::integer[], ${one}::integer[], ${two}::integer[], ${three}::integer[],
    ${sampleWhole}::integer[], ${sampleOne}::integer[], ${sampleTwo}::integer[], ${sampleThree}::integer[], ${most})`

/** Those of these contacts that are of a channel. */
export const amongChannel = async (sql: Sql, account: string, channel: string, ids: readonly string[]) => {
  const rows = await sql.many<{ id: string }>`
    select id from contacts where account_id = ${account} and id = any (${ids}::uuid[]) and channel_id = ${channel}`
  return rows.map(({ id }) => id)
}

export type NewContact = Pick<ContactRow, 'id' | 'first_name' | 'last_name' | 'profile_pic_url' | 'channel_id'> & {
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
  insert into contact_details (account_id, contact_id, type, value, match_key, created_at)
  select ${account}, g.contact_id, g.type, g.value, g.match_key, (select app_now())
  from unnest(
    ${rows.map((r) => r.contact)}::uuid[], ${rows.map((r) => r.type)}::text[], ${rows.map((r) => r.value)}::text[],
    ${rows.map((r) => (r.type === 'A' ? null : r.key))}::text[]
  ) with ordinality as g (contact_id, type, value, match_key, n) order by g.n`

/** Those of these contacts that are there: nobody else changes them until the transaction ends. */
export const lock = (tx: Tx, account: string, ids: readonly string[]) => tx.many<{ id: string }>`
  select id from contacts where account_id = ${account} and id = any (${ids}::uuid[]) order by id for update`

export const change = (tx: Tx, account: string, row: NewContact) => tx.run`
  update contacts set first_name = ${row.first_name}, last_name = ${row.last_name},
    profile_pic_url = ${row.profile_pic_url}, channel_id = ${row.channel_id}, numbers = ${row.numbers}, emails = ${row.emails}, grams = ${row.grams}::integer[], updated_at = app_now()
  where account_id = ${account} and id = ${row.id}`

export const changeDetail = (tx: Tx, account: string, contact: string, id: number, { type, value }: Detail) => tx.run`
  update contact_details set type = ${type}, value = ${value}, updated_at = app_now()
  where account_id = ${account} and contact_id = ${contact} and id = ${id}`

export const removeDetails = (tx: Tx, account: string, contact: string, ids: readonly number[]) => tx.run`
  delete from contact_details
  where account_id = ${account} and contact_id = ${contact} and id = any (${ids}::bigint[])`

/** The number of contacts that went, with their details. */
export const remove = (tx: Tx, account: string, id: string) => tx.run`
  delete from contacts where account_id = ${account} and id = ${id}`

/** The contacts that have these numbers; of several with one number the oldest. */
export const byNumbers = (sql: Sql, wanted: readonly { account: string; number: string }[]) => sql.many<
  Pick<ContactRow, 'account_id' | 'id' | 'first_name' | 'last_name' | 'profile_pic_url'> & { number: string }
>`
  select distinct on (g.account_id, g.number) c.account_id, c.id, c.first_name, c.last_name, c.profile_pic_url, g.number
  from unnest(${wanted.map((w) => w.account)}::uuid[], ${wanted.map((w) => w.number)}::text[]) as g (account_id, number)
  join contact_details d on d.account_id = g.account_id and d.match_key = g.number
  join contacts c on c.account_id = d.account_id and c.id = d.contact_id
  order by g.account_id, g.number, c.id`

/** Which contacts have details of these keys, oldest contact first. */
export const byKeys = (sql: Sql, account: string, keys: readonly string[]) => sql.many<{
  match_key: string
  contact_id: string
}>`
  select match_key, contact_id from contact_details
  where account_id = ${account} and match_key = any (${keys}::text[]) order by contact_id, id`

type Sync = Pick<ContactRow, 'sync_state' | 'sync_error'>

export const setSync = (tx: Tx, account: string, id: string, { sync_state, sync_error }: Sync) => tx.run`
  update contacts set sync_state = ${sync_state}, sync_error = ${sync_error},
    synced_at = case when ${sync_state} = 'synced' then app_now() else synced_at end
  where account_id = ${account} and id = ${id}`

/** Only while the contact is still of that channel. */
export const endSync = (tx: Tx, account: string, id: string, channel: string, error: string | null) => tx.run`
  update contacts set sync_state = case when ${error}::text is null then 'synced' else 'failed' end, sync_error = ${error},
    synced_at = case when ${error}::text is null then app_now() else synced_at end
  where account_id = ${account} and id = ${id} and channel_id = ${channel}`

/** Numbers that were found on the messaging app. @returns the contacts that have them */
export const markOnMsgapp = (tx: Tx, account: string, numbers: readonly string[]) => tx.many<{ contact_id: string }>`
  update contact_details set type = 'WAPH', updated_at = app_now()
  where account_id = ${account} and match_key = any (${numbers}::text[]) and type = 'PH'
  returning contact_id`
