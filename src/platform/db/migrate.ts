import { createHash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import pg from 'pg'
import { type Db, type Sql, sqlState } from './sql.ts'

/** A migration that a database has, or that a backup lists. */
export type AppliedMigration = { name: string; checksum: string }

export type MigrateOptions = {
  log?: { info(text: string): void; debug(text: string): void }
  /** The folder of the files, for tests. Default: that of the product. */
  folder?: string
  /** The migrations of a backup, to make its schema in an empty database. Default: all that the folder has. */
  backup?: readonly AppliedMigration[]
}

type Migration = AppliedMigration & { path: string; text: string; transaction: boolean }

/** `baseline`: the files of its folder as one migration; null in folders of tests that have none. */
type Files = { baseline: Migration | null; later: Migration[] }

/** The oldest supported version of PostgreSQL. */
const oldestVersion = 15

const own = join(import.meta.dirname, 'migrations')

/** The name of the baseline as a migration. Files named by a later time follow it. */
const baselineName = '20261128T000000_baseline'

/**
 * The schema before the baseline, which is the schema of the baseline. `commit` was the last one that migrated earlier
 * schemas to it. `digest` is that of its migrations named by time, as `digestOf` makes it; the ones before these had two
 * forms of one result.
 */
const former = {
  commit: 'ab8c613e',
  digest: '818c807807f894275b94c04bb2c40301d07c4049cf5b5e3a38318d49de49b4a8',
}

/**
 * Name of the row that serialises nodes which start together. Some engines that speak PostgreSQL's protocol have no
 * advisory locks.
 */
const lock = '0000_lock'

const readSql = async (folder: string, named: RegExp, example: string) => {
  const found = await readdir(folder).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return []
    throw error
  })
  const names = found.filter((name) => name.endsWith('.sql')).sort()
  return await Promise.all(
    names.map(async (name) => {
      if (!named.test(name)) throw new Error(`${join(folder, name)} is not named like ${example}`)
      // Git may write files with CRLF on some systems: that is not a change.
      return { name, text: (await readFile(join(folder, name), 'utf8')).replaceAll('\r\n', '\n') }
    }),
  )
}

const migrationOf = (name: string, path: string, text: string): Migration => ({
  name,
  path,
  text,
  checksum: createHash('sha256').update(text).digest('hex'),
  transaction: !/^-- no transaction\b/.test(text),
})

/** @throws Error when a number is double or missing */
const checkNumbers = (names: string[]): void => {
  for (const [i, name] of names.entries()) {
    const number = Number.parseInt(name, 10)
    if (number === i) throw new Error(`Two files of the baseline have the number of ${name}`)
    if (number !== i + 1) throw new Error(`A file of the baseline is missing before ${name}`)
  }
}

const readFiles = async (folder: string): Promise<Files> => {
  const [parts, later] = await Promise.all([
    readSql(join(folder, 'baseline'), /^\d{2}_[a-z0-9_]+\.sql$/, '01_name.sql'),
    readSql(folder, /^\d{8}T\d{6}_[a-z0-9_]+\.sql$/, '20261201T093000_name.sql'),
  ])
  if (parts.length + later.length === 0) throw new Error(`${folder} has no migrations`)
  checkNumbers(parts.map(({ name }) => name))
  return {
    baseline:
      parts.length === 0 ? null : migrationOf(baselineName, 'baseline/', parts.map(({ text }) => text).join('\n')),
    later: later.map(({ name, text }) => migrationOf(name.slice(0, -'.sql'.length), name, text)),
  }
}

const readApplied = (sql: Sql) =>
  sql.many<AppliedMigration>`select name, checksum from schema_migrations where name <> ${lock} order by name`

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
  { baseline }: Files,
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

/** @throws Error when other files made the database or the backup */
const check = ({ baseline, later }: Files, migrations: readonly AppliedMigration[], source: 'database' | 'backup') => {
  const known = new Map([...(baseline ? [baseline] : []), ...later].map((one) => [one.name, one]))
  for (const { name, checksum } of migrations) {
    const file = known.get(name)
    if (!file)
      throw new Error(
        `The ${source} has the migration ${name}, which this version does not know: a newer version made it.`,
      )
    if (file.checksum !== checksum)
      throw new Error(
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
const pending = (files: Files, applied: readonly AppliedMigration[], backup?: readonly AppliedMigration[]) => {
  check(files, applied, 'database')
  const listed = backup && recognise(files, backup, 'backup')
  if (listed) check(files, listed, 'backup')
  const done = new Set(applied.map(({ name }) => name))
  const listedNames = listed && new Set(listed.map(({ name }) => name))
  // A file named by time may be applied out of turn: two branches may add one each.
  const all = [...(files.baseline ? [files.baseline] : []), ...files.later]
  return all.filter(({ name }) => !done.has(name) && (listedNames?.has(name) ?? true))
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

/**
 * Applies the next file, unless another node did. A database of the schema before the baseline first gets the baseline's
 * row in place of its own.
 * @returns its name, or null when nothing is left
 */
const step = (db: Db, files: Files, { log, backup }: MigrateOptions): Promise<string | null> =>
  db.begin(async (tx) => {
    await tx.one`select from schema_migrations where name = ${lock} for update`
    const applied = await readApplied(tx)
    const present = recognise(files, applied, 'database')
    const [next] = pending(files, present, backup)
    if (present !== applied && files.baseline) {
      const { name, checksum } = files.baseline
      await tx.run`delete from schema_migrations where name < ${name} and name <> ${lock}`
      await tx.run`insert into schema_migrations (name, checksum) values (${name}, ${checksum})`
      log?.info(`the schema is that of commit ${former.commit}: marked as ${name}`)
    }
    if (!next) return null
    const { name, checksum, path, text, transaction } = next
    if (transaction) await execute(tx, path, text)
    else {
      // A concurrent index waits for all older snapshots, and a finished prepared query keeps its own until the next
      // statement of its connection: an empty one in the simple protocol releases it.
      await tx.raw('select')
      // On a second connection, while this one holds the row.
      for (const statement of statements(text)) await execute(db, path, statement)
    }
    await tx.run`insert into schema_migrations (name, checksum) values (${name}, ${checksum})`
    return name
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

/**
 * Brings the schema up to the files, each in a transaction of its own and only forward. A new database gets the
 * baseline, and the files named by time follow. A database with the last schema before the baseline is marked as having
 * it. Nodes that start at the same time take turns. When nothing is left to do, it costs one query.
 *
 * A file whose first line is `-- no transaction` runs outside one (`create index concurrently`). A crash may cut it
 * short, so it must tolerate a second run.
 * @param db made with `patient: true`, two connections at least
 * @returns how many files were applied here
 * @throws Error when an applied file was changed, the schema is older than the baseline, the server older than supported,
 * or a number is double
 */
export const migrate = async (db: Db, options: MigrateOptions = {}): Promise<number> => {
  const { log, folder = own, backup } = options
  const files = await readFiles(folder)
  let isNew = false
  try {
    const applied = await readApplied(db)
    const present = recognise(files, applied, 'database')
    if (present === applied && pending(files, applied, backup).length === 0) return 0
  } catch (error) {
    // 42P01: a new database, without the table.
    if (sqlState(error) !== '42P01') throw error
    isNew = true
  }
  await requireSupported(db)
  if (isNew) await makeTable(db)
  // Also where another node has made the table a moment ago and not yet its row.
  await db.run`insert into schema_migrations (name, checksum) values (${lock}, '') on conflict do nothing`
  const startedAt = performance.now()
  for (let count = 0, last = ''; ; count++) {
    const began = performance.now()
    const name = await step(db, files, options)
    if (name === null) {
      const amount = count === 1 ? '1 file' : `${count} files`
      if (count > 0) log?.info(`schema: migrated by ${amount}, up to ${last}, in ${msSince(startedAt)} ms`)
      return count
    }
    last = name
    log?.debug(`schema: ${name} took ${msSince(began)} ms`)
  }
}
