import { setTimeout as pause } from 'node:timers/promises'
import type { TableLock } from './lock-modes.ts'
import { type Db, type Sql, sqlState } from './sql.ts'

// Locks that a migration waits for, and those that it takes.

/** The tables that exist before a migration. Others are its own, and no process waits for them. */
export const tablesBefore = async (sql: Sql): Promise<ReadonlyMap<number, string>> => {
  const rows = await sql.many<{ id: number; name: string }>`
    select oid::bigint as id, relname as name from pg_class
    where relkind in ('r', 'p') and relnamespace = current_schema()::regnamespace
      and relname not like 'schema\\_%'`
  return new Map(rows.map(({ id, name }) => [id, name]))
}

/** The locks of these tables that sessions of this role hold now. Autovacuum has another one. */
export const locksHeld = async (sql: Sql, tables: ReadonlyMap<number, string>): Promise<TableLock[]> => {
  const rows = await sql.many<{ id: number; mode: string }>`
    select l.relation::bigint as id, l.mode from pg_locks l
    join pg_stat_activity a on a.pid = l.pid and a.datname = current_database() and a.usename = current_user
    where l.locktype = 'relation' and l.granted
      and l.database = (select oid from pg_database where datname = current_database())`
  return rows.flatMap(({ id, mode }) => {
    const table = tables.get(id)
    return table === undefined ? [] : [{ table, mode }]
  })
}

/** Milliseconds between two looks at what a migration waits for, and at the locks of one outside a transaction. */
const lookMs = 500

const describeBlockers = async (sql: Sql, pid: number): Promise<string | null> => {
  const { text } = await sql.one<{ text: string | null }>`
    select string_agg(format('session %s (%s, %s for %s s)', pid,
      coalesce(nullif(application_name, ''), usename, 'of the server'), coalesce(state, 'active'),
      coalesce(extract(epoch from clock_timestamp() - xact_start)::integer, 0)), ', ' order by xact_start) as text
    from pg_stat_activity where pid = any (pg_blocking_pids(${pid}))`
  return text
}

/** Repeats a look until it is ended. Failed looks are left out: a look is never worth the migration. */
const repeat = (firstMs: number, look: () => Promise<void>): { end(): Promise<void> } => {
  const stop = new AbortController()
  const looking = (async () => {
    for (let waitMs = firstMs; ; waitMs = lookMs) {
      await pause(waitMs, null, { signal: stop.signal }).catch(() => {})
      if (stop.signal.aborted) return
      await look().catch(() => {})
    }
  })()
  return {
    end: async () => {
      stop.abort()
      await looking
    },
  }
}

/**
 * Watches what the session of a migration waits for.
 * @param db has a connection besides that session
 * @returns the sessions that held the lock at the last look; null: it waited for none
 */
export const watchBlockers = (db: Db, pid: number): { end(): Promise<string | null> } => {
  let last: string | null = null
  const looks = repeat(lookMs, async () => {
    last = (await describeBlockers(db, pid)) ?? last
  })
  return { end: () => looks.end().then(() => last) }
}

/** Collects the locks of a migration outside a transaction, by looks while it runs. */
export const watchLocks = (sql: Sql, tables: ReadonlyMap<number, string>): { end(): Promise<TableLock[]> } => {
  const found: TableLock[] = []
  const looks = repeat(0, async () => {
    found.push(...(await locksHeld(sql, tables)))
    // Releases the snapshot of the look, for which a concurrent index would wait.
    await sql.raw('select')
  })
  return { end: () => looks.end().then(() => found) }
}

/** Whether an error says that a lock was not had in time (55P03), or that a deadlock was resolved (40P01). */
export const isLockFailure = (error: unknown): boolean => {
  const cause = error instanceof Error && error.cause !== undefined ? error.cause : error
  return ['55P03', '40P01'].includes(sqlState(cause) ?? '')
}
