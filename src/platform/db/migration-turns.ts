import { processName } from '../lib/process-name.ts'
import { isLockFailure } from './migration-locks.ts'
import type { Db, Sql, Tx } from './sql.ts'

// Processes that start at the same time migrate in turn: each holds a row meanwhile.

/**
 * Name of the row that serialises processes which start together. Some engines that speak PostgreSQL's protocol have no
 * advisory locks.
 */
export const turnRow = '0000_lock'

/** How a process waits for the migration of another one. */
export type TurnOptions = {
  readonly log?: { info(text: string): void } | undefined
  readonly signal?: AbortSignal | undefined
  /** Milliseconds. Default: 9 minutes, less than `TimeoutStartSec` of deploy/trunkline.service. */
  readonly turnMs?: number
}

const usualTurnMs = 540_000

/** Milliseconds of the first wait, which lets other processes pass that only look, and of further ones. */
const waitMs = { first: 500, further: 2_000 }

/** Milliseconds between two lines of the log. */
const reportMs = 10_000

/** Another process migrates. */
class OtherMigration extends Error {}

const lockRow = async (tx: Tx, strength: 'share' | 'update', milliseconds: number): Promise<void> => {
  // A statement that waits longer would end by the time limit of its connection.
  await tx.raw(`set local lock_timeout = ${milliseconds}`)
  try {
    if (strength === 'share') await tx.run`select from schema_migrations where name = ${turnRow} for share`
    else await tx.run`select from schema_migrations where name = ${turnRow} for update`
  } catch (error) {
    if (isLockFailure(error)) throw new OtherMigration('another process migrates', { cause: error })
    throw error
  }
  await tx.raw('set local lock_timeout to default')
}

/** Names the session of a transaction that migrates, for other processes that wait for it. PostgreSQL cuts it at 63 bytes. */
export const nameSession = (tx: Tx) =>
  tx.run`select set_config('application_name', ${`trunkline of ${processName}`.slice(0, 63)}, true)`

/** Describes the session that migrates. */
const describeHolder = async (sql: Sql): Promise<string> => {
  const found = await sql.maybe<{ text: string }>`
    select format('session %s (%s, for %s s)', a.pid, coalesce(nullif(a.application_name, ''), a.usename),
      coalesce(extract(epoch from clock_timestamp() - a.xact_start)::integer, 0)) as text
    from pg_locks l join pg_stat_activity a on a.pid = l.pid
    where l.locktype = 'relation' and l.granted and l.relation = 'schema_migrations'::regclass
      and l.database = (select oid from pg_database where datname = current_database()) and a.pid <> pg_backend_pid()
      and not exists (
        select from pg_locks w where w.pid = a.pid and not w.granted and w.locktype in ('tuple', 'transactionid'))
    order by a.xact_start limit 1`
  return found?.text ?? 'a session that has ended'
}

/**
 * Does work in a transaction during which no other process migrates. Waits for a migration that runs, and logs at once and
 * every 10 s whose it is.
 * @param strength `share`: others may look at the schema meanwhile
 * @throws Error that names the session which still migrates at the end of the time
 */
export const inTurn = async <T>(
  db: Db,
  strength: 'share' | 'update',
  { log, signal, turnMs = usualTurnMs }: TurnOptions,
  work: (tx: Tx) => Promise<T>,
): Promise<T> => {
  const deadline = performance.now() + turnMs
  let reportAt = Number.NEGATIVE_INFINITY
  for (let milliseconds = waitMs.first; ; milliseconds = waitMs.further) {
    try {
      return await db.begin(async (tx) => {
        await lockRow(tx, strength, milliseconds)
        return await work(tx)
      })
    } catch (error) {
      signal?.throwIfAborted()
      if (!(error instanceof OtherMigration)) throw error
      const now = performance.now()
      const isOver = now > deadline
      if (!isOver && now < reportAt) continue
      const holder = await describeHolder(db)
      if (isOver)
        throw new Error(
          `The database is still being migrated by ${holder}. Start this process again once that has ended; the command "npx trunkline migrate" there, or the log of that process, shows its progress.`,
          { cause: error },
        )
      log?.info(`schema: waiting for the migration of ${holder}`)
      reportAt = now + reportMs
    }
  }
}
