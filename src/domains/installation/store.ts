import type { Sql, Tx } from '../../platform/db/sql.ts'

export type ProcessRow = { id: string; public_url: string | null; media_store: string; roles: readonly string[] }

/** Deletes dead processes and returns the live ones, oldest first. Serialises registrations. */
export const lockAlive = async (tx: Tx, seconds: number): Promise<ProcessRow[]> => {
  await tx.run`lock table processes in share row exclusive mode`
  await tx.run`delete from processes where seen_at < clock_timestamp() - make_interval(secs => ${seconds})`
  return await alive(tx, seconds)
}

/** Returns the processes with a heartbeat within the last `seconds`, oldest first. */
export const alive = (db: Sql, seconds: number) => db.many<ProcessRow>`
  select id, public_url, media_store, roles from processes
  where seen_at >= clock_timestamp() - make_interval(secs => ${seconds}) order by started_at`

export const add = (tx: Tx, row: ProcessRow) => tx.run`
  insert into processes (id, public_url, media_store, roles)
  values (${row.id}, ${row.public_url}, ${row.media_store}, ${row.roles})`

/** Records a heartbeat. Restores the row if another process deleted it as dead. */
export const touch = (db: Sql, row: ProcessRow) => db.run`
  insert into processes (id, public_url, media_store, roles)
  values (${row.id}, ${row.public_url}, ${row.media_store}, ${row.roles})
  on conflict (id) do update set seen_at = clock_timestamp()`

export const remove = (db: Sql, id: string) => db.run`delete from processes where id = ${id}`

/** Gives a task to a process unless a live one has it. @returns whether the process has it now */
export const takeTask = async (tx: Tx, name: string, process: string, seconds: number): Promise<boolean> =>
  (await tx.run`
    insert into installation_state as s (name, value) values (${name}, ${{ process }})
    on conflict (name) do update set value = excluded.value
    where s.value ->> 'process' = ${process} or not exists (
      select from processes p where p.id::text = s.value ->> 'process'
        and p.seen_at >= clock_timestamp() - make_interval(secs => ${seconds}))`) === 1
