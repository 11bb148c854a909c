import type { Sql, Tx } from '../db/sql.ts'

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
  sandbox: boolean
}

/** An account with its empty meter and balance. */
export const create = async (tx: Tx, a: NewAccount): Promise<void> => {
  await tx.run`
    insert into accounts (id, name, on_trial, requests_per_minute, max_api_requests, max_number_checks, sandbox)
    values (${a.id}, ${a.name}, ${a.onTrial}, ${a.requestsPerMinute}, ${a.maxApiRequests}, ${a.maxNumberChecks}, ${a.sandbox})`
  await tx.run`insert into meters (account_id, tokens) values (${a.id}, ${a.requestsPerMinute})`
  await tx.run`insert into balances (account_id) values (${a.id})`
}

export const find = (db: Sql, id: string) => db.maybe<AccountRow>`
  select a.*, b.balance, b.low_balance, m.api_requests, m.number_checks
  from accounts a join balances b on b.account_id = a.id join meters m on m.account_id = a.id
  where a.id = ${id}`

export const all = (db: Sql) => db.many<AccountRow>`
  select a.*, b.balance, b.low_balance, m.api_requests, m.number_checks
  from accounts a join balances b on b.account_id = a.id join meters m on m.account_id = a.id
  order by a.created_at, a.id`

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
  | 'sandbox'
>

export const change = (tx: Tx, id: string, a: Changed) => tx.run`
  update accounts set name = ${a.name}, on_trial = ${a.on_trial}, blocked = ${a.blocked}, block_reason = ${a.block_reason},
    requests_per_minute = ${a.requests_per_minute}, max_api_requests = ${a.max_api_requests},
    max_number_checks = ${a.max_number_checks}, a2p_us = ${a.a2p_us}, sandbox = ${a.sandbox},
    updated_at = app_now()
  where id = ${id}`

/** Accounts that are not marked as sandbox accounts. */
export const outsideSandbox = (db: Sql, most: number) => db.many<{ id: string }>`
  select id from accounts where not sandbox limit ${most}`

/** @param limit null: the account is not told of a low balance */
export const setLowBalance = (tx: Tx, id: string, limit: string | null) => tx.run`
  update balances set low_balance = ${limit}::numeric where account_id = ${id}`

export type KeyRow = { id: string; label: string; last_four: string; created_at: Date; last_used_at: Date | null }

export const addKey = (tx: Tx, account: string, id: string, label: string, hash: Buffer, lastFour: string) => tx.run`
  insert into api_keys (account_id, id, label, hash, last_four) values (${account}, ${id}, ${label}, ${hash}, ${lastFour})
  on conflict (hash) do nothing`

export const keys = (db: Sql, account: string) => db.many<KeyRow>`
  select id, label, last_four, created_at, last_used_at from api_keys
  where account_id = ${account} and revoked_at is null order by created_at, id`

export const revoke = (tx: Tx, account: string, id: string) => tx.run`
  update api_keys set revoked_at = app_now() where account_id = ${account} and id = ${id} and revoked_at is null`
