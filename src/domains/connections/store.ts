import type { Sql, Tx } from '../../platform/db/sql.ts'
import type { ConnectionKind } from './connection-kinds.ts'

export type ConnectionRow = {
  id: string
  kind: ConnectionKind
  name: string
  settings: Record<string, unknown>
  sealed_secrets: Buffer | null
  enabled: boolean
  /** Every account may use the connection. */
  shared: boolean
  /** Ids of the accounts with access. */
  accounts: readonly string[]
  created_at: Date
  updated_at: Date
}

type Content = Pick<ConnectionRow, 'name' | 'settings' | 'sealed_secrets' | 'enabled'>

// The view connections_with_accounts (migrations/baseline/07_connections.sql) adds the accounts.

export const all = (db: Sql) => db.many<ConnectionRow>`select * from connections_with_accounts order by created_at, id`

export const find = (db: Sql, id: string) =>
  db.maybe<ConnectionRow>`select * from connections_with_accounts where id = ${id}`

/** Locks the row, waiting for concurrent changes. */
export const lock = async (tx: Tx, id: string): Promise<ConnectionRow | null> => {
  await tx.maybe`select 1 from connections where id = ${id} for update`
  return find(tx, id)
}

/** Null when the name is taken. */
export const create = async (
  tx: Tx,
  id: string,
  kind: ConnectionKind,
  c: Content & Pick<ConnectionRow, 'shared'>,
): Promise<ConnectionRow | null> => {
  await tx.run`
    insert into connections (id, kind, name, settings, sealed_secrets, enabled, shared)
    values (${id}, ${kind}, ${c.name}, ${c.settings}, ${c.sealed_secrets}, ${c.enabled}, ${c.shared})
    on conflict (name) do nothing`
  return find(tx, id)
}

export const isTaken = async (tx: Tx, name: string, id: string): Promise<boolean> =>
  (await tx.maybe`select 1 from connections where name = ${name} and id <> ${id}`) !== null

/** The running process restarts the connection: `updated_at` is its revision. */
export const change = (tx: Tx, id: string, c: Content) => tx.run`
  update connections set name = ${c.name}, settings = ${c.settings}, sealed_secrets = ${c.sealed_secrets},
    enabled = ${c.enabled}, updated_at = app_now()
  where id = ${id}`

export const share = (tx: Tx, id: string, shared: boolean) => tx.run`
  update connections set shared = ${shared} where id = ${id} and shared <> ${shared}`

/** Assigns a connection to these accounts and no others. @returns the ids that are accounts */
export const assign = async (tx: Tx, id: string, accounts: readonly string[]): Promise<Set<string>> => {
  await tx.run`delete from connection_accounts where connection_id = ${id} and account_id <> all(${accounts}::uuid[])`
  const rows = await tx.many<{ id: string }>`
    with known as (select id from accounts where id = any(${accounts}::uuid[])),
    assigned as (
      insert into connection_accounts (account_id, connection_id) select id, ${id}::uuid from known
      on conflict do nothing
    )
    select id from known`
  return new Set(rows.map((row) => row.id))
}

export const isOnlyUser = async (sql: Sql, id: string, account: string): Promise<boolean> =>
  (
    await sql.one<{
      is_only: boolean
    }>`select coalesce(connection_has_only_account(${id}, ${account}), false) as is_only`
  ).is_only

/** Null when there is no such connection. */
export const remove = (tx: Tx, id: string) => tx.maybe<ConnectionRow>`
  delete from connections where id = ${id} returning *`
