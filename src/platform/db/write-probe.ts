import type { OutageMonitor } from './outage-monitor.ts'
import { type Db, sqlState, type Tx } from './sql.ts'
import { DatabaseUnavailable } from './unavailability.ts'

export type WrittenDatabase = { /** The number of applied migrations. */ readonly migrations: number }

/** Proves that the database stores a write. */
export type WriteProbe = {
  /**
   * Resolves if a write succeeded within the last second. All callers share one write a second; without a caller there
   * is none.
   * @throws the error of the write; DatabaseUnavailable after 2 s without an answer
   */
  check(): Promise<WrittenDatabase>
  end(): Promise<void>
}

type Limits = {
  /** Milliseconds for which a result holds, and within which a write must succeed. Default: 1 s and 2 s. */
  readonly freshMs?: number
  readonly timeoutMs?: number
  readonly now?: () => number
}

/**
 * Milliseconds after which the probe opens a new connection. Autovacuum never freezes a temporary table, so a session that
 * keeps one for weeks would hold back the transaction ids of the whole database (PostgreSQL, 25.1.5).
 */
const connectionMs = 3_600_000

/** SQLSTATE of a role that may not create temporary tables: insufficient_privilege. */
const noPrivilege = '42501'

/**
 * Extends a file, which a full disk refuses: the row of `write_probe` fits in a page that it has. The table belongs to
 * the session, is empty after each transaction, and writes no log.
 */
const extendFile = async (tx: Tx) => {
  const { is_made } = await tx.one<{ is_made: boolean }>`
    select to_regclass('pg_temp.probed_pages') is not null as is_made`
  if (!is_made) await tx.raw('create temporary table probed_pages (page integer) on commit delete rows')
  await tx.raw('insert into pg_temp.probed_pages values (1)')
}

/** The commit flushes the log, and waits for a synchronous standby. */
const writeRow = (tx: Tx) => tx.one<WrittenDatabase>`
  insert into write_probe (id, written_at) values (true, clock_timestamp())
  on conflict (id) do update set written_at = excluded.written_at
  returning (select count(*) from schema_migrations where name <> '0000_lock') as migrations`

/** @param outage notes a write that hangs; the statements note their errors themselves */
export const makeWriteProbe = (
  db: Db,
  outage: OutageMonitor | null = null,
  { freshMs = 1_000, timeoutMs = 2_000, now = () => performance.now() }: Limits = {},
): WriteProbe => {
  // A connection of its own: a busy pool does not mean that the database takes no writes.
  let own: Db | null = null
  let openedAt = 0
  let running: Promise<WrittenDatabase> | null = null
  let last: { readonly at: number; readonly result: WrittenDatabase | { readonly error: unknown } } | null = null
  let mayExtend = true

  const write = async (): Promise<WrittenDatabase> => {
    if (own && now() - openedAt > connectionMs) {
      void own.end().catch(() => {})
      own = null
    }
    if (!own) openedAt = now()
    own ??= db.dedicated(timeoutMs)
    try {
      return await own.begin(async (tx) => {
        if (mayExtend) await extendFile(tx)
        // Last: all processes write this row, and one that is lost here would lock it.
        return await writeRow(tx)
      })
    } catch (error) {
      if (!mayExtend || sqlState(error) !== noPrivilege) throw error
      mayExtend = false
      return await write()
    }
  }

  const writeInTime = async (): Promise<WrittenDatabase> => {
    let timer: NodeJS.Timeout | undefined
    const tooLate = new Promise<never>((_, reject) => {
      timer = setTimeout(() => {
        const error = new DatabaseUnavailable(`the database stored no write within ${timeoutMs} ms`, 'no-writes')
        outage?.failed(error)
        reject(error)
      }, timeoutMs)
    })
    const writing = write()
    writing.catch(() => {}) // reported by the race, or too late
    return await Promise.race([writing, tooLate]).finally(() => clearTimeout(timer))
  }

  const measure = async (): Promise<WrittenDatabase> => {
    try {
      const result = await writeInTime()
      last = { at: now(), result }
      return result
    } catch (error) {
      last = { at: now(), result: { error } }
      throw error
    } finally {
      running = null
    }
  }

  const check = async (): Promise<WrittenDatabase> => {
    if (running === null && last !== null && now() - last.at < freshMs) {
      if ('error' in last.result) throw last.result.error
      return last.result
    }
    running ??= measure()
    return await running
  }

  outage?.proveWritesBy(check)
  return { check, end: async () => await own?.end() }
}
