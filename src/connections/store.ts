import type { Sql, Tx } from '../db/sql.ts'
import type { Kind } from './kinds.ts'

export type ConnectionRow = {
  id: string
  kind: Kind
  name: string
  settings: Record<string, unknown>
  sealed_secrets: Buffer | null
  enabled: boolean
  created_at: Date
  updated_at: Date
}

type Content = Pick<ConnectionRow, 'name' | 'settings' | 'sealed_secrets' | 'enabled'>

export const all = (db: Sql) => db.many<ConnectionRow>`select * from connections order by created_at, id`

export const find = (db: Sql, id: string) => db.maybe<ConnectionRow>`select * from connections where id = ${id}`

/** Waits for whoever changes it. */
export const lock = (tx: Tx, id: string) =>
  tx.maybe<ConnectionRow>`select * from connections where id = ${id} for update`

/** Null when the name is taken. */
export const create = (tx: Tx, id: string, kind: Kind, c: Content) => tx.maybe<ConnectionRow>`
  insert into connections (id, kind, name, settings, sealed_secrets, enabled)
  values (${id}, ${kind}, ${c.name}, ${c.settings}, ${c.sealed_secrets}, ${c.enabled})
  on conflict (name) do nothing
  returning *`

export const isTaken = async (tx: Tx, name: string, id: string): Promise<boolean> =>
  (await tx.maybe`select 1 from connections where name = ${name} and id <> ${id}`) !== null

export const change = (tx: Tx, id: string, c: Content) => tx.one<ConnectionRow>`
  update connections set name = ${c.name}, settings = ${c.settings}, sealed_secrets = ${c.sealed_secrets},
    enabled = ${c.enabled}, updated_at = app_now()
  where id = ${id}
  returning *`

/** Null when there is no such connection. */
export const remove = (tx: Tx, id: string) => tx.maybe<ConnectionRow>`
  delete from connections where id = ${id} returning *`
