import { makeConditions } from '../../platform/db/conditions.ts'
import { byTimeAndId, exactTime, type ListPage, makeListQuery } from '../../platform/db/list-query.ts'
import type { Sql, Tx } from '../../platform/db/sql.ts'

/** A token with the API key that it is. */
type TokenRow = { key_id: string; last_four: string; created_at: Date; sealed_token: Buffer }

/** Returns the valid tokens of an account, oldest first: the first one signs. */
export const tokens = (sql: Sql, account: string) => sql.many<TokenRow>`
  select t.key_id, k.last_four, t.created_at, t.sealed_token
  from twilio_tokens t join api_keys k on k.account_id = t.account_id and k.id = t.key_id
  where t.account_id = ${account} and k.revoked_at is null
    -- The real clock, as for all keys.
    and (k.expires_at is null or k.expires_at > now())
  order by t.created_at, t.key_id`

/** Counts the valid tokens of an account, and blocks concurrent additions. */
export const countTokens = async (tx: Tx, account: string): Promise<number> => {
  await tx.run`select 1 from accounts where id = ${account} for no key update`
  return (
    await tx.one<{ count: number }>`
      select count(*)::integer as count
      from twilio_tokens t join api_keys k on k.account_id = t.account_id and k.id = t.key_id
      where t.account_id = ${account} and k.revoked_at is null and (k.expires_at is null or k.expires_at > now())`
  ).count
}

export const addToken = (tx: Tx, account: string, key: string, sealed: Buffer) => tx.run`
  insert into twilio_tokens (account_id, key_id, sealed_token) values (${account}, ${key}, ${sealed})`

export const hasToken = async (sql: Sql, account: string, key: string): Promise<boolean> =>
  (await sql.maybe`select 1 from twilio_tokens where account_id = ${account} and key_id = ${key}`) !== null

/** True if the account has a valid token. */
export const isOn = async (sql: Sql, account: string): Promise<boolean> =>
  (await sql.maybe`
    select 1 from twilio_tokens t join api_keys k on k.account_id = t.account_id and k.id = t.key_id
    where t.account_id = ${account} and k.revoked_at is null limit 1`) !== null

/** Addresses of a number. Empty: none. */
export type NumberAddresses = {
  sms_url: string
  sms_method: 'GET' | 'POST'
  sms_fallback_url: string
  sms_fallback_method: 'GET' | 'POST'
}

export const noAddresses: NumberAddresses = {
  sms_url: '',
  sms_method: 'POST',
  sms_fallback_url: '',
  sms_fallback_method: 'POST',
}

/** Returns the addresses of numbers by the id of the number. */
export const addresses = async (
  sql: Sql,
  account: string,
  numbers: readonly string[],
): Promise<ReadonlyMap<string, NumberAddresses>> => {
  const rows = await sql.many<NumberAddresses & { virtual_number_id: string }>`
    select virtual_number_id, sms_url, sms_method, sms_fallback_url, sms_fallback_method
    from twilio_numbers where account_id = ${account} and virtual_number_id = any (${numbers}::uuid[])`
  return new Map(rows.map((row) => [row.virtual_number_id, row]))
}

/** Locks a number of the account, so that concurrent changes of its addresses follow each other. */
export const lockNumber = (tx: Tx, account: string, number: string) => tx.run`
  select 1 from virtual_numbers where account_id = ${account} and id = ${number} for no key update`

/** Returns the addresses of the number that a message came to; null without one. */
export const addressesOfNumber = (sql: Sql, account: string, number: string) => sql.maybe<NumberAddresses>`
  select n.sms_url, n.sms_method, n.sms_fallback_url, n.sms_fallback_method
  from sms_channels c join twilio_numbers n on n.account_id = c.account_id and n.virtual_number_id = c.virtual_number_id
  where c.account_id = ${account} and c.phone_number = ${number} and c.enabled and n.sms_url <> ''`

export const setAddresses = (tx: Tx, account: string, number: string, a: NumberAddresses) => tx.run`
  insert into twilio_numbers (account_id, virtual_number_id, sms_url, sms_method, sms_fallback_url, sms_fallback_method)
  values (${account}, ${number}, ${a.sms_url}, ${a.sms_method}, ${a.sms_fallback_url}, ${a.sms_fallback_method})
  on conflict (account_id, virtual_number_id) do update
  set sms_url = excluded.sms_url, sms_method = excluded.sms_method, sms_fallback_url = excluded.sms_fallback_url,
    sms_fallback_method = excluded.sms_fallback_method, updated_at = app_now()`

/** Returns which of the messages were deleted in this interface. */
export const deletedAmong = async (sql: Sql, account: string, ids: readonly string[]): Promise<ReadonlySet<string>> => {
  if (ids.length === 0) return new Set()
  const rows = await sql.many<{ id: string }>`
    select message_id as id from twilio_deleted_messages
    where account_id = ${account} and message_id = any (${ids}::uuid[])`
  return new Set(rows.map(({ id }) => id))
}

export const markDeleted = (tx: Tx, account: string, id: string) => tx.run`
  insert into twilio_deleted_messages (account_id, message_id) values (${account}, ${id}) on conflict do nothing`

/** Returns the address that the statuses of a message are reported to; null if it was removed. */
export const callbackOf = async (sql: Sql, account: string, id: string): Promise<string | null> =>
  (
    await sql.maybe<{ url: string | null }>`
      select callback_url as url from sms_messages where account_id = ${account} and id = ${id}`
  )?.url ?? null

/** Whether the account is blocked, and may be opened again. */
export const isBlocked = async (sql: Sql, account: string): Promise<boolean> =>
  (await sql.maybe`select 1 from accounts where id = ${account} and blocked and closed_at is null`) !== null

/** Returns the account as a request needs it; null if it is closed or blocked. */
export const activeAccount = (sql: Sql, account: string) => sql.maybe<{ id: string; a2pUs: boolean }>`
  select id, a2p_us as "a2pUs" from accounts where id = ${account} and not blocked and closed_at is null`

/** Returns which of the calls were deleted in this interface. */
export const deletedCallsAmong = async (
  sql: Sql,
  account: string,
  ids: readonly string[],
): Promise<ReadonlySet<string>> => {
  if (ids.length === 0) return new Set()
  const rows = await sql.many<{ id: string }>`
    select call_id as id from twilio_deleted_calls where account_id = ${account} and call_id = any (${ids}::uuid[])`
  return new Set(rows.map(({ id }) => id))
}

export const markCallDeleted = (tx: Tx, account: string, id: string) => tx.run`
  insert into twilio_deleted_calls (account_id, call_id) values (${account}, ${id}) on conflict do nothing`

/** Returns the ids of a page of the calls that a call dialled, newest first. @param since the earliest time; null: any */
export const pageOfChildren = (
  sql: Sql,
  account: string,
  { parent, since }: { readonly parent: string; readonly since: Date | null },
  at: ListPage,
) => {
  const conditions = makeConditions()
  const [own, dialler] = [conditions.bind(account), conditions.bind(parent)]
  // Apart, so that the index of the parent is used, and not that of all calls by time.
  const rows = `(select id, created_at from calls where account_id = ${own} and parent_id = ${dialler} offset 0) children`
  conditions.add('created_at >= ?', since)
  const list = makeListQuery({ table: { rows }, key: byTimeAndId(), isNewestFirst: true }, conditions)
  const { text, values } = list.page(`id, ${exactTime('created_at')} as at`, at)
  return sql.raw<{ id: string; at: string }>(text, values)
}
