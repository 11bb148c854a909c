import type { Sql, Tx } from '../../platform/db/sql.ts'
import type { OperatorKey } from '../../platform/http/auth.ts'

export type OperatorKeyRow = {
  id: string
  label: string
  role: OperatorKey['role']
  hash: Buffer
  last_four: string
  created_at: Date
}

export const add = (tx: Tx, k: Omit<OperatorKeyRow, 'created_at'>) => tx.run`
  insert into operator_keys (id, label, role, hash, last_four)
  values (${k.id}, ${k.label}, ${k.role}, ${k.hash}, ${k.last_four})
  on conflict (hash) do nothing`

export const all = (db: Sql) => db.many<OperatorKeyRow>`
  select id, label, role, hash, last_four, created_at from operator_keys
  where revoked_at is null order by created_at, id`

/** Locks all valid keys in sorted order. If two keys revoke each other, the second waits and sees the first revoked. */
export const lockAll = (tx: Tx) => tx.many<OperatorKeyRow>`
  select id, label, role, hash, last_four, created_at from operator_keys
  where revoked_at is null order by id for update`

export const revoke = (tx: Tx, id: string) => tx.run`
  update operator_keys set revoked_at = app_now() where id = ${id} and revoked_at is null`
