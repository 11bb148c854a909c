import type { Db, Sql, Tx } from '../../../platform/db/sql.ts'
import { clearBatchSize } from '../limits.ts'
import type { Draft } from '../ops.ts'

export type Entry = { readonly line: number; readonly entry: Draft }

/** Stages contacts until the whole file is read. */
export const stage = (db: Db, account: string, id: string, entries: readonly Entry[]) => db.run`
  insert into contact_import_entries (account_id, import_id, line, entry)
  select ${account}, ${id}, g.line, g.entry::json
  from unnest(
    ${entries.map(({ line }) => line)}::integer[], ${entries.map(({ entry }) => JSON.stringify(entry))}::text[]
  ) as g (line, entry)`

/** Staged contacts, in the order of their lines. */
export const readStaged = (sql: Sql, account: string, id: string, after: number, limit: number) => sql.many<Entry>`
  select line, entry from contact_import_entries
  where account_id = ${account} and import_id = ${id} and line > ${after} order by line limit ${limit}`

/** Takes the account's import lock until the transaction ends; false if another import holds it. */
export const tryLock = async (tx: Tx, account: string): Promise<boolean> =>
  (
    await tx.one<{ is_mine: boolean }>`
      select pg_try_advisory_xact_lock(hashtextextended('contacts.import', 0) # hashtextextended(${account}, 0)) as is_mine`
  ).is_mine

/** Registers a running import. */
export const register = (tx: Tx, account: string, id: string) => tx.run`
  insert into contact_imports (account_id, id) values (${account}, ${id})`

/** Counts running imports; those not renewed within `seconds` are expired. */
export const countRunning = async (tx: Tx, account: string, seconds: number): Promise<number> => {
  await tx.run`
    delete from contact_imports
    where account_id = ${account} and renewed_at < clock_timestamp() - make_interval(secs => ${seconds})`
  const { used } = await tx.one<{ used: number }>`
    select count(*)::integer as used from contact_imports where account_id = ${account}`
  return used
}

export const renew = (db: Db, account: string, id: string) => db.run`
  update contact_imports set renewed_at = clock_timestamp() where account_id = ${account} and id = ${id}`

export const unregister = (db: Db, account: string, id: string) => db.run`
  delete from contact_imports where account_id = ${account} and id = ${id}`

export const clear = async (db: Db, account: string, id: string): Promise<void> => {
  let gone = clearBatchSize
  while (gone === clearBatchSize)
    gone = await db.run`
      delete from contact_import_entries where (account_id, import_id, line) in (
        select account_id, import_id, line from contact_import_entries
        where account_id = ${account} and import_id = ${id} limit ${clearBatchSize})`
}

/** Deletes what imports of killed processes left behind. */
export const purgeExpired = (tx: Tx) => tx.run`
  delete from contact_import_entries where created_at < clock_timestamp() - interval '2 days'`
