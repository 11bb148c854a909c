import { makeConditions } from '../../platform/db/conditions.ts'
import { byTimeAndId, countRows, exactTime, type ListPage, makeListQuery } from '../../platform/db/list-query.ts'
import type { Sql, Tx } from '../../platform/db/sql.ts'
import type { KeyLimits } from '../../platform/http/auth.ts'
import type { QuotaValues } from '../../platform/lib/quota-definitions.ts'
import type { WorkingHours } from './working-hours.ts'

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
  agents_see_log: boolean
  agents_see_all: boolean
  second_factor_required: boolean
  working_hours: WorkingHours | null
  close_after_days: number | null
  created_at: Date
  updated_at: Date
  expires_at: Date | null
  closed_at: Date | null
  close_reason: string | null
  balance: string
  low_balance: string | null
  push_names: boolean
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

/** Creates an account with a full request allowance and an empty balance. */
export const create = async (tx: Tx, a: NewAccount): Promise<void> => {
  await tx.run`
    insert into accounts (id, name, on_trial, requests_per_minute, max_api_requests, max_number_checks, quotas, sandbox)
    values (${a.id}, ${a.name}, ${a.onTrial}, ${a.requestsPerMinute}, ${a.maxApiRequests}, ${a.maxNumberChecks},
      ${a.quotas}, ${a.sandbox})`
  await tx.run`insert into rate_limit_usage (account_id, tokens) values (${a.id}, ${a.requestsPerMinute})`
  await tx.run`insert into balances (account_id) values (${a.id})`
}

export const find = (db: Sql, id: string) => db.maybe<AccountRow>`
  select a.*, b.balance, b.low_balance, m.api_requests, m.number_checks
  from accounts a join balances b on b.account_id = a.id join rate_limit_usage m on m.account_id = a.id
  where a.id = ${id}`

/** Whether an account is closed. An open account remains open until the transaction ends. */
export const exists = async (sql: Sql, id: string): Promise<boolean> =>
  (await sql.maybe`select 1 from accounts where id = ${id}`) !== null

export const isClosed = async (tx: Tx, id: string): Promise<boolean> =>
  (
    await tx.maybe<{ closed: boolean }>`
    select closed_at is not null as closed from accounts where id = ${id} for share`
  )?.closed ?? false

export const blockedOf = async (sql: Sql, ids: readonly string[]): Promise<string[]> =>
  (await sql.many<{ id: string }>`select id from accounts where id = any(${ids}::uuid[]) and blocked`).map(
    ({ id }) => id,
  )

/** Locks an account, so that the second of two concurrent changes reads the first. */
export const lock = (tx: Tx, id: string) => tx.run`select from accounts where id = ${id} for no key update`

export type State = 'open' | 'blocked' | 'closed'

type Search = { name: string | null; part: string | null; state: State | null }

const accountsOf = ({ name, part, state }: Search) => {
  const conditions = makeConditions()
  conditions.add('lower(name) = lower(?)', name)
  conditions.add('account_name_grams(name) @> account_name_terms(?)', part)
  conditions.add('position(lower(?) in lower(name)) > 0', part)
  conditions.add("case when closed_at is not null then 'closed' when blocked then 'blocked' else 'open' end = ?", state)
  return makeListQuery({ table: 'accounts', key: byTimeAndId(), isNewestFirst: false }, conditions)
}

/** Returns a page of accounts, oldest first. */
export const page = (db: Sql, search: Search, at: ListPage) => {
  const { text, values } = accountsOf(search).page('*', at)
  return db.raw<AccountRow & { at: string }>(
    `select a.*, ${exactTime('a.created_at')} as at, b.balance, b.low_balance, m.api_requests, m.number_checks
     from (${text}) a join balances b on b.account_id = a.id join rate_limit_usage m on m.account_id = a.id
     order by a.created_at, a.id`,
    values,
  )
}

export const count = (db: Sql, search: Search) => countRows(db, accountsOf(search).total())

/** Returns the quota usage of an account. Each count is bounded by its quota or maintained as a counter. */
export const quotaUsage = (db: Sql, id: string) => db.one<{
  webhooks: number
  members: number
  channels: number
  contacts: number
  reservations: number
  stored_bytes: number
}>`
  select
    (select (count(*) filter (where enabled) + count(*) filter (where not enabled) / 10)::integer
      from webhooks where account_id = ${id} and deleted_at is null) as webhooks,
    (select count(*)::integer from users where account_id = ${id} and status <> 'DELETED') as members,
    (select count(*)::integer from msgapp_channels where account_id = ${id} and deleted_at is null) as channels,
    (select coalesce(sum(contacts), 0)::bigint from contact_counts where account_id = ${id}) as contacts,
    (select count(*)::integer from reservations
      where account_id = ${id} and state = 'active' and expires_at > (select app_now())) as reservations,
    (select coalesce(sum(bytes), 0)::bigint from stored_bytes where account_id = ${id}) as stored_bytes`

type AccountChanges = Pick<
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
  | 'agents_see_log'
  | 'agents_see_all'
  | 'second_factor_required'
  | 'working_hours'
  | 'close_after_days'
>

export const change = (tx: Tx, id: string, a: AccountChanges) => tx.run`
  update accounts set name = ${a.name}, on_trial = ${a.on_trial}, blocked = ${a.blocked}, block_reason = ${a.block_reason},
    requests_per_minute = ${a.requests_per_minute}, max_api_requests = ${a.max_api_requests},
    max_number_checks = ${a.max_number_checks}, a2p_us = ${a.a2p_us}, quotas = ${a.quotas}, sandbox = ${a.sandbox},
    agents_see_log = ${a.agents_see_log}, agents_see_all = ${a.agents_see_all},
    second_factor_required = ${a.second_factor_required}, working_hours = ${a.working_hours}::jsonb,
    close_after_days = ${a.close_after_days}::smallint, updated_at = app_now()
  where id = ${id}`

export const workingHours = (sql: Sql, account: string) => sql.maybe<Pick<AccountRow, 'working_hours'>>`
  select working_hours from accounts where id = ${account}`

/** Returns the accounts that are not marked as sandbox accounts. */
export const outsideSandbox = (db: Sql, most: number) => db.many<{ id: string }>`
  select id from accounts where not sandbox limit ${most}`

/** Whether a person has an authenticator app or a passkey. */
export const hasSecondFactor = async (sql: Sql, person: string): Promise<boolean> =>
  (await sql.one<{ has: boolean }>`select has_second_factor(${person}::uuid) as has`).has

/** @param limit null: no event for a low balance */
export const setLowBalance = (tx: Tx, id: string, limit: string | null) => tx.run`
  update balances set low_balance = ${limit}::numeric where account_id = ${id}`

/** @param isOn notifications of browsers name the sender */
export const setPushNames = (tx: Tx, id: string, isOn: boolean) => tx.run`
  update accounts set push_names = ${isOn} where id = ${id}`

export type KeyRow = KeyLimits & {
  id: string
  label: string
  last_four: string
  created_at: Date
  last_used_at: Date | null
  /** Bare uuid of the user who made it in the console, with the user's name. */
  made_by: string | null
  maker_name: string | null
  /** USD that it has paid today or that is held for it; null for a key without a limit. */
  spent_today: string | null
}

export type NewKey = KeyLimits & {
  id: string
  label: string
  hash: Buffer
  lastFour: string
  madeBy: string | null
  /** Keys with a spend limit that count what it spends. */
  limitedKeys: readonly string[] | null
}

export const addKey = (tx: Tx, account: string, key: NewKey) => tx.run`
  insert into api_keys (account_id, id, label, hash, last_four, scopes, expires_at, allowed_addresses, made_by,
    spend_per_day, limited_keys)
  values (${account}, ${key.id}, ${key.label}, ${key.hash}, ${key.lastFour}, ${key.scopes}::text[],
    ${key.expires_at}::timestamptz, ${key.allowed_addresses}::text[], ${key.madeBy}::uuid,
    ${key.spend_per_day}::numeric, ${key.limitedKeys}::uuid[])
  on conflict (hash) do nothing`

/** Counts the keys of an account, including those revoked within a day, and blocks concurrent additions. Deletes keys
 *  that were revoked a month ago, but for those whose spend limit holds for others that were made with them. */
export const countKeys = async (tx: Tx, account: string): Promise<{ valid: number; recent: number }> => {
  await tx.run`select 1 from accounts where id = ${account} for no key update`
  await tx.run`
    delete from api_keys k where k.account_id = ${account} and k.revoked_at < app_now() - interval '30 days'
      and not exists (
        select from api_keys o
        where o.account_id = k.account_id and o.revoked_at is null and o.limited_keys @> array[k.id])`
  return await tx.one`
    select count(*) filter (where revoked_at is null)::integer as valid,
      count(*) filter (where created_at > app_now() - interval '24 hours')::integer as recent
    from api_keys where account_id = ${account}`
}

export const keys = (db: Sql, account: string) => db.many<KeyRow>`
  select k.id, k.label, k.last_four, k.scopes, k.expires_at, k.allowed_addresses, k.created_at, k.last_used_at, k.made_by,
    full_name(u.first_name, u.last_name) as maker_name, k.spend_per_day,
    case when k.spend_per_day is not null then key_spent_today(k.account_id, k.id) end as spent_today
  from api_keys k left join users u on u.account_id = k.account_id and u.id = k.made_by
  where k.account_id = ${account} and k.revoked_at is null order by k.created_at, k.id`

/** Returns the user who made a key in the console, itself or by another key; null for none, and for a key of no account. */
export const makerOfKey = async (sql: Sql, account: string, id: string): Promise<string | null> =>
  (
    await sql.maybe<{ made_by: string | null }>`
      select made_by from api_keys where account_id = ${account} and id = ${id}`
  )?.made_by ?? null

/** Revokes the keys that a user made. */
export const revokeMadeBy = (tx: Tx, account: string, user: string) =>
  tx.many<Pick<KeyRow, 'id' | 'label' | 'last_four' | 'scopes'>>`
    update api_keys set revoked_at = app_now()
    where account_id = ${account} and made_by = ${user} and revoked_at is null
    returning id, label, last_four, scopes`

/** Revokes a key. Null if the account has no such key. */
export const revoke = (tx: Tx, account: string, id: string) => tx.maybe<Pick<KeyRow, 'label' | 'last_four' | 'scopes'>>`
  update api_keys set revoked_at = app_now() where account_id = ${account} and id = ${id} and revoked_at is null
  returning label, last_four, scopes`

/** Revokes all keys of an account. @returns the number of revoked keys */
export const revokeAll = (tx: Tx, account: string) => tx.run`
  update api_keys set revoked_at = app_now() where account_id = ${account} and revoked_at is null`

/** Marks an account as closed. Keys revoked in the same transaction are recognised by the same timestamp. */
export const close = (tx: Tx, id: string, reason: string) => tx.run`
  update accounts set closed_at = app_now(), close_reason = ${reason}, blocked = true, updated_at = app_now()
  where id = ${id}`

export const first = (sql: Sql) =>
  sql.maybe<{ value: { account: string } }>`select value from installation_state where name = 'first-account'`
