import type { Sql, Tx } from '../db/sql.ts'

export type OperatorKeyRow = { id: string; label: string; hash: Buffer; last_four: string; created_at: Date }

export const add = (tx: Tx, id: string, label: string, hash: Buffer, lastFour: string) => tx.run`
  insert into operator_keys (id, label, hash, last_four) values (${id}, ${label}, ${hash}, ${lastFour})
  on conflict (hash) do nothing`

export const all = (db: Sql) => db.many<OperatorKeyRow>`
  select id, label, hash, last_four, created_at from operator_keys where revoked_at is null order by created_at, id`

export const find = (db: Sql, id: string) => db.maybe<OperatorKeyRow>`
  select id, label, hash, last_four, created_at from operator_keys where id = ${id} and revoked_at is null for update`

export const revoke = (tx: Tx, id: string) => tx.run`
  update operator_keys set revoked_at = app_now() where id = ${id} and revoked_at is null`
