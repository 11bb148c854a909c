import { createHash } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import pg from 'pg'
import type { TableLock } from './lock-modes.ts'
import {
  type AppliedMigration,
  allOf,
  type Migration,
  type MigrationFiles,
  newestOf,
  ownFolder,
  readMigrationFiles,
} from './migration-files.ts'
import { isLockFailure, locksHeld, tablesBefore, watchBlockers, watchLocks } from './migration-locks.ts'
import { inTurn, nameSession, type TurnOptions, turnRow } from './migration-turns.ts'
import { type Db, type Sql, sqlState, type Tx } from './sql.ts'

/** A migration that the database lacks. */
export type PendingMigration = Pick<Migration, 'name' | 'compatibleSince'>

/** A migration that was just applied. `locks`: those of tables that existed before; empty unless they are recorded. */
export type FinishedMigration = PendingMigration & {
  readonly milliseconds: number
  readonly locks: readonly TableLock[]
}

export type MigrateOptions = {
  log?: { info(text: string): void; debug(text: string): void }
  /** The folder of the files, for tests. Default: that of the product. */
  folder?: string
  /** The migrations of a backup, to make its schema in an empty database. Default: all that the folder has. */
  backup?: readonly AppliedMigration[]
  /** Called in the transaction of each migration, before it, with all that are pending. Throws to refuse it. */
  permit?: (tx: Tx, pending: readonly PendingMigration[]) => Promise<void>
  /** Receives each migration once it is applied, in place of the line of the log. */
  onApplied?: (finished: FinishedMigration) => void
  /** Records the locks of each migration. */
  recordsLocks?: boolean
  /** Aborts: the running migration is canceled, and changes nothing. */
  signal?: AbortSignal
  /** Milliseconds that a migration waits for a lock, and those after which it is given up. */
  patience?: { readonly lockMs: number; readonly totalMs: number }
  /** Milliseconds that this process waits for the migrations of others. Default: 9 minutes. */
  turnMs?: number
}

/**
 * Statements that need a lock queue behind a migration that waits for it. So a migration waits 2 s, lets them pass, and
 * tries again.
 */
const usualPatience = { lockMs: 2_000, totalMs: 300_000 }

/** Milliseconds between two attempts to get a lock. */
const lockPauseMs = 1_000

/** The oldest supported version of PostgreSQL. */
const oldestVersion = 15

/**
 * The schema before the baseline, which is the schema of the baseline. `commit` was the last one that migrated earlier
 * schemas to it. `digest` is that of its migrations named by time, as `digestOf` makes it; the ones before these had two
 * forms of one result.
 */
const former = {
  commit: 'ab8c613e',
  digest: '818c807807f894275b94c04bb2c40301d07c4049cf5b5e3a38318d49de49b4a8',
}

const readApplied = (sql: Sql) =>
  sql.many<AppliedMigration>`select name, checksum from schema_migrations where name <> ${turnRow} order by name`

const digestOf = (migrations: readonly AppliedMigration[]): string => {
  const lines = migrations.map(({ name, checksum }) => `${name} ${checksum}\n`)
  return createHash('sha256').update(lines.sort().join('')).digest('hex')
}

/**
 * Returns the migrations by the names of this version: the baseline in place of those before it. Returns the same list
 * when nothing is to be replaced.
 * @throws Error for an earlier schema than that of the baseline
 */
const recognise = (
  { baseline }: MigrationFiles,
  applied: readonly AppliedMigration[],
  source: 'database' | 'backup',
): readonly AppliedMigration[] => {
  if (!baseline || applied.some(({ name }) => name === baseline.name)) return applied
  const before = applied.filter(({ name }) => name < baseline.name)
  if (before.length === 0) return applied
  if (digestOf(before.filter(({ name }) => /^\d{8}T/.test(name))) !== former.digest) {
    const { commit } = former
    const fix =
      source === 'database'
        ? `start commit ${commit} of Trunkline on it once, and then this version`
        : `restore it with commit ${commit} of Trunkline, and make a new backup there`
    throw new Error(
      `The ${source} has the schema of an earlier version, up to ${before
        .map(({ name }) => name)
        .sort()
        .at(-1)}: ${fix}.`,
    )
  }
  return [baseline, ...applied.filter(({ name }) => name > baseline.name)]
}

/**
 * Names of migrations of a newer version that processes of this one bear: each is marked as compatible with a schema
 * that this version knows.
 */
const readTolerated = async (
  sql: Sql,
  files: MigrationFiles,
  applied: readonly AppliedMigration[],
): Promise<ReadonlySet<string>> => {
  const known = new Set(allOf(files).map(({ name }) => name))
  const unknown = applied.map(({ name }) => name).filter((name) => !known.has(name))
  if (unknown.length === 0 || !(await hasCompatibility(sql))) return new Set()
  const rows = await sql.many<{ name: string }>`
    select name from schema_compatibility where name = any (${unknown}::text[]) and since <= ${newestOf(files)}`
  return new Set(rows.map(({ name }) => name))
}

/** Whether the migration that makes the table has been applied. */
const hasCompatibility = async (sql: Sql): Promise<boolean> =>
  (await sql.one<{ found: boolean }>`select to_regclass('schema_compatibility') is not null as found`).found

/** A schema that this version did not make and does not bear. */
export class UnknownSchema extends Error {}

/** @throws Error when other files made the database or the backup */
const check = (
  files: MigrationFiles,
  migrations: readonly AppliedMigration[],
  source: 'database' | 'backup',
  tolerated: ReadonlySet<string> = new Set(),
) => {
  const { baseline } = files
  const known = new Map(allOf(files).map((one) => [one.name, one]))
  for (const { name, checksum } of migrations) {
    const file = known.get(name)
    if (!file && tolerated.has(name)) continue
    if (!file)
      throw new UnknownSchema(
        `The ${source} has the migration ${name}, which this version does not know: a newer version made it${source === 'database' ? ', and it is not marked as compatible with this one' : ''}.`,
      )
    if (file.checksum !== checksum)
      throw new UnknownSchema(
        source === 'database'
          ? `${file.path} was changed after it had been applied: put it back, and make the change in a new file.`
          : `The backup has another migration ${name} than this version: restore it with the version that made it.`,
      )
  }
  const [first] = migrations
  if (baseline && first && !migrations.some(({ name }) => name === baseline.name))
    throw new Error(`The ${source} has the migration ${first.name} but not the baseline, which comes before it.`)
}

/**
 * The migrations still to be applied, in order.
 * @throws Error when other files made the database, or the backup whose schema is made
 */
const pending = async (
  sql: Sql,
  files: MigrationFiles,
  applied: readonly AppliedMigration[],
  backup?: readonly AppliedMigration[],
): Promise<readonly Migration[]> => {
  check(files, applied, 'database', await readTolerated(sql, files, applied))
  const listed = backup && recognise(files, backup, 'backup')
  if (listed) check(files, listed, 'backup')
  const done = new Set(applied.map(({ name }) => name))
  const listedNames = listed && new Set(listed.map(({ name }) => name))
  // A file named by time may be applied out of turn: two branches may add one each.
  return allOf(files).filter(({ name }) => !done.has(name) && (listedNames?.has(name) ?? true))
}

/**
 * Returns the migrations that the database lacks, in order; all for a new database.
 * @throws Error when other files made the database
 */
export const pendingMigrations = async (sql: Sql, folder = ownFolder): Promise<readonly PendingMigration[]> => {
  const files = await readMigrationFiles(folder)
  try {
    return await pending(sql, files, recognise(files, await readApplied(sql), 'database'))
  } catch (error) {
    // 42P01: a new database, without the table.
    if (sqlState(error) !== '42P01') throw error
    return allOf(files)
  }
}

/** The newest migration that this version knows. */
export const newestKnown = async (): Promise<string> => newestOf(await readMigrationFiles(ownFolder))

/**
 * Checks that this version bears the schema, once no migration runs.
 * @throws UnknownSchema when a newer version made another one; Error when a migration goes on for too long
 */
export const requireKnownSchema = async (db: Db, options: TurnOptions = {}): Promise<void> => {
  const files = await readMigrationFiles(ownFolder)
  await inTurn(
    db,
    'share',
    options,
    async (tx) => void (await pending(tx, files, recognise(files, await readApplied(tx), 'database'))),
  )
}

const makeTable = async (db: Db): Promise<void> => {
  try {
    await db.raw(`create table if not exists schema_migrations (
      name text primary key,
      checksum text not null,
      applied_at timestamptz not null default now()
    )`)
  } catch (error) {
    // Two nodes at once: "if not exists" checks first and creates later, and the slower one fails in the catalogue.
    if (!['23505', '42P07', '42710'].includes(sqlState(error) ?? '')) throw error
  }
}

/** Statements of a file that runs outside a transaction: each ends with a semicolon at the end of a line. */
const statements = (text: string) => text.split(/;[ \t]*$/m).filter((one) => one.replace(/--.*$/gm, '').trim() !== '')

/** Runs SQL of a file; an error names the line. */
const execute = async (sql: Sql, path: string, text: string): Promise<void> => {
  try {
    await sql.raw(text)
  } catch (error) {
    const position = error instanceof pg.DatabaseError ? Number(error.position ?? 0) : 0
    const line = text.slice(0, position).split('\n').pop() + (text.slice(position).split('\n')[0] ?? '')
    const where = position ? ` at \`${line.trim()}\`` : ''
    throw new Error(`${path} failed${where}: ${error instanceof Error ? error.message : error}`, { cause: error })
  }
}

/** A migration did not get a lock in time, and changed nothing. */
class LockedOut extends Error {
  readonly blockers: string

  constructor(blockers: string | null, cause: unknown) {
    super(cause instanceof Error ? cause.message : String(cause), { cause })
    this.blockers = blockers ?? 'a session that has ended'
  }
}

/** Runs a file that has a transaction, and waits for each lock only a moment. @throws Error with the sessions that had it */
const runInTransaction = async (
  db: Db,
  tx: Tx,
  pid: number,
  { path, text }: Migration,
  { signal, patience = usualPatience }: MigrateOptions,
): Promise<void> => {
  await tx.raw(`set local lock_timeout = ${patience.lockMs}`)
  const cancel = () => void db.run`select pg_cancel_backend(${pid})`.catch(() => {})
  signal?.addEventListener('abort', cancel)
  const watch = watchBlockers(db, pid)
  try {
    await execute(tx, path, text)
    await watch.end()
  } catch (error) {
    const blockers = await watch.end()
    signal?.throwIfAborted()
    if (isLockFailure(error)) throw new LockedOut(blockers, error)
    throw error
  } finally {
    signal?.removeEventListener('abort', cancel)
  }
}

/** Runs a file. @returns the locks that it took, if they are recorded */
const run = async (
  db: Db,
  tx: Tx,
  pid: number,
  next: Migration,
  options: MigrateOptions,
): Promise<readonly TableLock[]> => {
  const tables = options.recordsLocks ? await tablesBefore(tx) : null
  if (next.transaction) {
    await runInTransaction(db, tx, pid, next, options)
    return tables === null ? [] : await locksHeld(tx, tables)
  }
  // A concurrent index waits for all older snapshots, and a finished prepared query keeps its own until the next
  // statement of its connection: an empty one in the simple protocol releases it.
  await tx.raw('select')
  const watch = tables === null ? null : watchLocks(tx, tables)
  try {
    // On a second connection, while this one holds the row. Without a limit: such statements let others pass, and one
    // that is cut short leaves an invalid index.
    for (const statement of statements(next.text)) await execute(db, next.path, statement)
    return (await watch?.end()) ?? []
  } finally {
    await watch?.end()
  }
}

/**
 * Applies the next file, unless another node did. A database of the schema before the baseline first gets the baseline's
 * row in place of its own.
 * @returns what was applied, or null when nothing is left
 */
const step = (db: Db, files: MigrationFiles, options: MigrateOptions): Promise<FinishedMigration | null> =>
  inTurn(db, 'update', options, async (tx) => {
    const { log, backup, permit } = options
    await nameSession(tx)
    const { pid } = await tx.one<{ pid: number }>`select pg_backend_pid() as pid`
    const applied = await readApplied(tx)
    const present = recognise(files, applied, 'database')
    const left = await pending(tx, files, present, backup)
    const [next] = left
    if (present !== applied && files.baseline) {
      const { name, checksum } = files.baseline
      await tx.run`delete from schema_migrations where name < ${name} and name <> ${turnRow}`
      await tx.run`insert into schema_migrations (name, checksum) values (${name}, ${checksum})`
      log?.info(`the schema is that of commit ${former.commit}: marked as ${name}`)
    }
    if (!next) return null
    await permit?.(tx, left)
    const began = performance.now()
    const locks = await run(db, tx, pid, next, options)
    const milliseconds = msSince(began)
    const { name, checksum, compatibleSince } = next
    await tx.run`insert into schema_migrations (name, checksum) values (${name}, ${checksum})`
    if (compatibleSince !== null && (await hasCompatibility(tx)))
      await tx.run`
        insert into schema_compatibility (name, since) values (${name}, ${compatibleSince}) on conflict do nothing`
    return { name, compatibleSince, milliseconds, locks }
  })

/** @throws Error if the server is older than the platform supports */
const requireSupported = async (db: Db): Promise<void> => {
  const { version, number } = await db.one<{ version: string; number: number }>`
    select current_setting('server_version') as version, current_setting('server_version_num')::integer as number`
  if (number < oldestVersion * 10_000)
    throw new Error(
      `PostgreSQL ${version} is too old: version ${oldestVersion} or newer is required. Upgrade the server of DATABASE_URL, or name another one. Nothing was changed`,
    )
}

const msSince = (began: number): number => Math.round(performance.now() - began)

/** Applies the next file, and tries again while another session holds a lock that it needs. */
const patientStep = async (
  db: Db,
  files: MigrationFiles,
  options: MigrateOptions,
): Promise<FinishedMigration | null> => {
  const { log, signal, patience = usualPatience } = options
  const deadline = performance.now() + patience.totalMs
  for (let attempt = 1; ; attempt++) {
    try {
      return await step(db, files, options)
    } catch (error) {
      signal?.throwIfAborted()
      if (!(error instanceof LockedOut)) throw error
      if (performance.now() > deadline)
        throw new Error(
          `${error.message}. It was tried ${attempt} times; the lock was held by ${error.blockers}. End that session, and migrate again.`,
          { cause: error },
        )
      log?.info(`schema: attempt ${attempt} found a lock held by ${error.blockers}: ${error.message}; trying again`)
      await pause(lockPauseMs, null, signal ? { signal } : {})
    }
  }
}

/**
 * Brings the schema up to the files, each in a transaction of its own and only forward. A new database gets the
 * baseline, and the files named by time follow. A database with the last schema before the baseline is marked as having
 * it. Nodes that start at the same time take turns. When nothing is left to do, it costs one query.
 *
 * A file whose first line is `-- no transaction` runs outside one (`create index concurrently`). A crash may cut it
 * short, so it must tolerate a second run.
 * @param db made with `patient: true`, two connections at least
 * @returns how many files were applied here
 * @throws Error when an applied file was changed, a newer version made another schema, the database is older than the
 * baseline, the server older than supported, a number is double, a lock is not had within five minutes, another process migrates
 * for nine minutes; and what `permit` throws
 */
export const migrate = async (db: Db, options: MigrateOptions = {}): Promise<number> => {
  const { log, folder = ownFolder, backup, onApplied, signal } = options
  const files = await readMigrationFiles(folder)
  let isNew = false
  try {
    const applied = await readApplied(db)
    const present = recognise(files, applied, 'database')
    if (present === applied && (await pending(db, files, applied, backup)).length === 0) return 0
  } catch (error) {
    // 42P01: a new database, without the table.
    if (sqlState(error) !== '42P01') throw error
    isNew = true
  }
  await requireSupported(db)
  if (isNew) await makeTable(db)
  // Also where another node has made the table a moment ago and not yet its row.
  await db.run`insert into schema_migrations (name, checksum) values (${turnRow}, '') on conflict do nothing`
  const startedAt = performance.now()
  for (let count = 0, last = ''; ; count++) {
    signal?.throwIfAborted()
    const finished = await patientStep(db, files, options)
    if (finished === null) {
      const amount = count === 1 ? '1 file' : `${count} files`
      if (count > 0 && !onApplied)
        log?.info(`schema: migrated by ${amount}, up to ${last}, in ${msSince(startedAt)} ms`)
      return count
    }
    last = finished.name
    log?.debug(`schema: ${last} took ${finished.milliseconds} ms`)
    onApplied?.(finished)
  }
}
