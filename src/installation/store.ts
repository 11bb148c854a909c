import type { Sql, Tx } from '../db/sql.ts'

export type ProcessRow = { id: string; public_url: string | null; media_store: string }

/** Processes seen within the last seconds, oldest first; one process at a time reads them and adds itself. */
export const lockAlive = async (tx: Tx, seconds: number): Promise<ProcessRow[]> => {
  await tx.run`lock table processes in share row exclusive mode`
  await tx.run`delete from processes where seen_at < clock_timestamp() - make_interval(secs => ${seconds})`
  return await tx.many<ProcessRow>`select id, public_url, media_store from processes order by started_at`
}

export const add = (tx: Tx, row: ProcessRow) => tx.run`
  insert into processes (id, public_url, media_store) values (${row.id}, ${row.public_url}, ${row.media_store})`

/** Says that a process is alive. A row that another one deleted for its silence is made again. */
export const touch = (db: Sql, row: ProcessRow) => db.run`
  insert into processes (id, public_url, media_store) values (${row.id}, ${row.public_url}, ${row.media_store})
  on conflict (id) do update set seen_at = clock_timestamp()`

export const remove = (db: Sql, id: string) => db.run`delete from processes where id = ${id}`
