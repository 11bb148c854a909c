import type { Sql, Tx } from '../db/sql.ts'
import type { KeyLimits } from '../http/auth.ts'
import type { QuotaValues } from '../lib/quotas.ts'

export type AccountRow = {
  id: string
  name: string
  on_trial: boolean
  blocked: boolean
  block_reason: string | null
  requests_per_minute: number
  max_api_requests: number | null
  max_number_checks: number | null
  a2p_us: boolean
  quotas: QuotaValues
  sandbox: boolean
  created_at: Date
  updated_at: Date
  expires_at: Date | null
  balance: string
  low_balance: string | null
  api_requests: number
  number_checks: number
}

export type NewAccount = {
  id: string
  name: string
  onTrial: boolean
  requestsPerMinute: number
  maxApiRequests: number | null
  maxNumberChecks: number | null
  quotas: QuotaValues
  sandbox: boolean
}

/** An account with its empty meter and balance. */
export const create = async (tx: Tx, a: NewAccount): Promise<void> => {
  await tx.run`
    insert into accounts (id, name, on_trial, requests_per_minute, max_api_requests, max_number_checks, quotas, sandbox)
    values (${a.id}, ${a.name}, ${a.onTrial}, ${a.requestsPerMinute}, ${a.maxApiRequests}, ${a.maxNumberChecks},
      ${a.quotas}, ${a.sandbox})`
  await tx.run`insert into meters (account_id, tokens) values (${a.id}, ${a.requestsPerMinute})`
  await tx.run`insert into balances (account_id) values (${a.id})`
}

export const find = (db: Sql, id: string) => db.maybe<AccountRow>`
  select a.*, b.balance, b.low_balance, m.api_requests, m.number_checks
  from accounts a join balances b on b.account_id = a.id join meters m on m.account_id = a.id
  where a.id = ${id}`

/** Locks an account, so that the second of two concurrent changes reads the first. */
export const lock = (tx: Tx, id: string) => tx.run`select from accounts where id = ${id} for no key update`

export const all = (db: Sql) => db.many<AccountRow>`
  select a.*, b.balance, b.low_balance, m.api_requests, m.number_checks
  from accounts a join balances b on b.account_id = a.id join meters m on m.account_id = a.id
  order by a.created_at, a.id`

/** What an account uses of its quotas: each count is bounded by its quota, or kept. */
export const used = (db: Sql, id: string) => db.one<{
  webhooks: number
  channels: number
  contacts: number
  reservations: number
  stored_bytes: number
}>`
  select
    (select (count(*) filter (where enabled) + count(*) filter (where not enabled) / 10)::integer
      from webhooks where account_id = ${id} and deleted_at is null) as webhooks,
    (select count(*)::integer from msgapp_channels where account_id = ${id} and deleted_at is null) as channels,
    (select coalesce(sum(contacts), 0)::bigint from contact_counts where account_id = ${id}) as contacts,
    (select count(*)::integer from reservations
      where account_id = ${id} and state = 'active' and expires_at > (select app_now())) as reservations,
    (select coalesce(sum(bytes), 0)::bigint from stored_bytes where account_id = ${id}) as stored_bytes`

type Changed = Pick<
  AccountRow,
  | 'name'
  | 'on_trial'
  | 'blocked'
  | 'block_reason'
  | 'requests_per_minute'
  | 'max_api_requests'
  | 'max_number_checks'
  | 'a2p_us'
  | 'quotas'
  | 'sandbox'
>

export const change = (tx: Tx, id: string, a: Changed) => tx.run`
  update accounts set name = ${a.name}, on_trial = ${a.on_trial}, blocked = ${a.blocked}, block_reason = ${a.block_reason},
    requests_per_minute = ${a.requests_per_minute}, max_api_requests = ${a.max_api_requests},
    max_number_checks = ${a.max_number_checks}, a2p_us = ${a.a2p_us}, quotas = ${a.quotas}, sandbox = ${a.sandbox},
    updated_at = app_now()
  where id = ${id}`

/** Accounts that are not marked as sandbox accounts. */
export const outsideSandbox = (db: Sql, most: number) => db.many<{ id: string }>`
  select id from accounts where not sandbox limit ${most}`

/** @param limit null: the account is not told of a low balance */
export const setLowBalance = (tx: Tx, id: string, limit: string | null) => tx.run`
  update balances set low_balance = ${limit}::numeric where account_id = ${id}`

export type KeyRow = KeyLimits & {
  id: string
  label: string
  last_four: string
  created_at: Date
  last_used_at: Date | null
}

export type NewKey = KeyLimits & { id: string; label: string; hash: Buffer; lastFour: string }

export const addKey = (tx: Tx, account: string, key: NewKey) => tx.run`
  insert into api_keys (account_id, id, label, hash, last_four, scopes, expires_at, allowed_addresses)
  values (${account}, ${key.id}, ${key.label}, ${key.hash}, ${key.lastFour}, ${key.scopes}::text[],
    ${key.expires_at}::timestamptz, ${key.allowed_addresses}::text[])
  on conflict (hash) do nothing`

/** Counts the keys of an account, revoked ones of the last day too, and lets no other transaction add one meanwhile. Keys
 *  that were revoked a month ago are forgotten. */
export const countKeys = async (tx: Tx, account: string): Promise<{ kept: number; recent: number }> => {
  await tx.run`select 1 from accounts where id = ${account} for no key update`
  await tx.run`
    delete from api_keys where account_id = ${account} and revoked_at < app_now() - interval '30 days'`
  return await tx.one`
    select count(*) filter (where revoked_at is null)::integer as kept,
      count(*) filter (where created_at > app_now() - interval '24 hours')::integer as recent
    from api_keys where account_id = ${account}`
}

export const keys = (db: Sql, account: string) => db.many<KeyRow>`
  select id, label, last_four, scopes, expires_at, allowed_addresses, created_at, last_used_at from api_keys
  where account_id = ${account} and revoked_at is null order by created_at, id`

/** Null when the account has no such key. */
export const revoke = (tx: Tx, account: string, id: string) => tx.maybe<Pick<KeyRow, 'label' | 'last_four'>>`
  update api_keys set revoked_at = app_now() where account_id = ${account} and id = ${id} and revoked_at is null
  returning label, last_four`

export const first = (sql: Sql) =>
  sql.maybe<{ value: { account: string } }>`select value from facts where name = 'first-account'`
