import type { Sql, Tx } from '../../platform/db/sql.ts'

export type ProcessRow = {
  id: string
  public_url: string | null
  media_store: string
  /** Id in the folder of files; null for a bucket, and for a process of an earlier version. */
  media_folder: string | null
  roles: readonly string[]
}

/** `seen_at`: the last heartbeat, as text. */
export type LivingProcess = ProcessRow & { seen_at: string }

/** The row of this process. */
export type OwnRow = ProcessRow & { version: string; host: string; pid: number; newest_migration: string }

/** A process as others see it. Null: a version that does not say. */
export type ProcessIdentity = {
  readonly roles: readonly string[]
  readonly started_at: Date
  readonly version: string | null
  readonly host: string | null
  readonly pid: number | null
  readonly newest_migration: string | null
}

/** Deletes dead processes and returns the live ones, oldest first. Serialises registrations. */
export const lockAlive = async (tx: Tx, seconds: number): Promise<LivingProcess[]> => {
  await tx.run`lock table processes in share row exclusive mode`
  await tx.run`delete from processes where seen_at < clock_timestamp() - make_interval(secs => ${seconds})`
  return await alive(tx, seconds)
}

/** Returns the processes with a heartbeat within the last `seconds`, oldest first. */
export const alive = (db: Sql, seconds: number) => db.many<LivingProcess>`
  select id, public_url, media_store, media_folder, roles, seen_at::text as seen_at from processes
  where seen_at >= clock_timestamp() - make_interval(secs => ${seconds}) order by started_at`

/**
 * Returns the identities of those processes, also from a schema whose table lacks them; none from a database without the
 * table.
 */
export const identities = async (sql: Sql, seconds: number): Promise<ProcessIdentity[]> => {
  const { found } = await sql.one<{ found: boolean }>`select to_regclass('processes') is not null as found`
  if (!found) return []
  return await sql.many<ProcessIdentity>`
    select p.roles, p.started_at, r ->> 'version' as version, r ->> 'host' as host, (r ->> 'pid')::integer as pid,
      r ->> 'newest_migration' as newest_migration
    from processes p cross join lateral (select to_jsonb(p) as r) j
    where p.seen_at >= clock_timestamp() - make_interval(secs => ${seconds}) order by p.started_at`
}

export const add = (tx: Tx, row: OwnRow) => tx.run`
  insert into processes (id, public_url, media_store, media_folder, roles, version, host, pid, newest_migration)
  values (${row.id}, ${row.public_url}, ${row.media_store}, ${row.media_folder}, ${row.roles}, ${row.version},
    ${row.host}, ${row.pid}, ${row.newest_migration})`

/**
 * Records a heartbeat. Restores the row if another process deleted it as dead.
 * @returns `now`: the time of the database in Unix milliseconds. `was_silent`: others took this process for dead before
 */
export const touch = (db: Sql, row: OwnRow, seconds: number) => db.one<{ now: number; was_silent: boolean }>`
  with before as materialized (select seen_at from processes where id = ${row.id}),
  touched as (
    insert into processes (id, public_url, media_store, media_folder, roles, version, host, pid, newest_migration)
    values (${row.id}, ${row.public_url}, ${row.media_store}, ${row.media_folder}, ${row.roles}, ${row.version},
      ${row.host}, ${row.pid}, ${row.newest_migration})
    on conflict (id) do update set seen_at = clock_timestamp()
    returning seen_at
  )
  select (extract(epoch from clock_timestamp()) * 1000)::float8 as now,
    coalesce((select seen_at from before) < clock_timestamp() - make_interval(secs => ${seconds}), true) as was_silent
  from touched`

export const remove = (db: Sql, id: string) => db.run`delete from processes where id = ${id}`

/** Gives a task to a process unless a live one has it. @returns whether the process has it now */
export const takeTask = async (tx: Tx, name: string, process: string, seconds: number): Promise<boolean> =>
  (await tx.run`
    insert into installation_state as s (name, value) values (${name}, ${{ process }})
    on conflict (name) do update set value = excluded.value
    where s.value ->> 'process' = ${process} or not exists (
      select from processes p where p.id::text = s.value ->> 'process'
        and p.seen_at >= clock_timestamp() - make_interval(secs => ${seconds}))`) === 1
