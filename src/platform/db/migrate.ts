import { createHash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import pg from 'pg'
import { type Db, type Sql, sqlState } from './sql.ts'

export type MigrateOptions = {
  log?: { info(text: string): void }
  /** The folder of the files, for tests. Default: that of the product. */
  folder?: string
  /** The names of the migrations to apply, as a backup lists them. Default: all. */
  only?: readonly string[]
}

type Migration = { name: string; text: string; checksum: string; transaction: boolean }
type AppliedMigration = { name: string; checksum: string }

/** Every file: `baseline` for new databases, `numbered` for databases made before it, and `later` for both. */
type Files = { baseline: Migration[]; numbered: Migration[]; later: Migration[] }

const own = join(import.meta.dirname, 'migrations')

/**
 * Name of the row that serialises nodes which start together. Some engines that speak PostgreSQL's protocol have no
 * advisory locks.
 */
const lock = '0000_lock'

const readMigrations = async (folder: string, named: RegExp, example: string): Promise<Migration[]> => {
  const found = await readdir(folder).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return []
    throw error
  })
  const names = found.filter((name) => name.endsWith('.sql')).sort()
  return await Promise.all(
    names.map(async (name) => {
      if (!named.test(name)) throw new Error(`${join(folder, name)} is not named like ${example}`)
      // Git may write files with CRLF on some systems: that is not a change.
      const text = (await readFile(join(folder, name), 'utf8')).replaceAll('\r\n', '\n')
      return {
        name: name.slice(0, -'.sql'.length),
        text,
        checksum: createHash('sha256').update(text).digest('hex'),
        transaction: !/^-- no transaction\b/.test(text),
      }
    }),
  )
}

/** @throws Error when a number is double or missing */
const checkNumbers = (migrations: Migration[]): Migration[] => {
  for (const [i, { name }] of migrations.entries()) {
    const number = Number.parseInt(name, 10)
    if (number === i) throw new Error(`Two migrations have the number of ${name}.sql`)
    if (number !== i + 1) throw new Error(`A migration is missing before ${name}.sql`)
  }
  return migrations
}

const readFiles = async (folder: string): Promise<Files> => {
  const [baseline, numbered, later] = await Promise.all([
    readMigrations(join(folder, 'baseline'), /^\d{2}_[a-z0-9_]+\.sql$/, '01_name.sql'),
    readMigrations(join(folder, 'numbered'), /^\d{4}_[a-z0-9_]+\.sql$/, '0001_name.sql'),
    readMigrations(folder, /^\d{8}T\d{6}_[a-z0-9_]+\.sql$/, '20261201T093000_name.sql'),
  ])
  if (baseline.length + numbered.length + later.length === 0) throw new Error(`${folder} has no migrations`)
  return { baseline: checkNumbers(baseline), numbered: checkNumbers(numbered), later }
}

const readApplied = (sql: Sql) =>
  sql.many<AppliedMigration>`select name, checksum from schema_migrations where name <> ${lock} order by name`

/** The first series of a database: `numbered` once it has one of these, or must get one. */
const firstSeries = ({ baseline, numbered }: Files, names: readonly string[]): Migration[] => {
  const known = new Set(numbered.map(({ name }) => name))
  return names.some((name) => known.has(name)) ? numbered : baseline
}

/** The migrations still to be applied, in order. @throws Error when other files made the database */
const pending = (files: Files, applied: AppliedMigration[], only?: readonly string[]): Migration[] => {
  const first = firstSeries(files, only ?? applied.map(({ name }) => name))
  const migrations = [...first, ...files.later]
  const known = new Map(migrations.map((migration) => [migration.name, migration]))
  for (const { name, checksum } of applied) {
    const file = known.get(name)
    if (!file)
      throw new Error(
        `The database has the migration ${name}, which this version does not know: it was migrated by a newer one.`,
      )
    if (file.checksum !== checksum)
      throw new Error(
        `${name}.sql was changed after it had been applied: put it back, and make the change in a new file.`,
      )
  }
  const unknown = only?.find((name) => !known.has(name))
  if (unknown !== undefined)
    throw new Error(`This version does not know the migration ${unknown}: it was made by a newer one.`)
  const done = new Set(applied.map(({ name }) => name))
  const left = migrations.filter(({ name }) => !done.has(name) && (only?.includes(name) ?? true))
  // A later migration may be applied out of turn: two branches may add one each. A series has one order.
  const missing = first.find(({ name }) => !done.has(name))
  const beyond = applied.findLast(({ name }) => missing && name > missing.name)
  if (missing && beyond)
    throw new Error(`The database has ${beyond.name} but not ${missing.name}.sql, which comes before it.`)
  return left
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
const execute = async (sql: Sql, name: string, text: string): Promise<void> => {
  try {
    await sql.raw(text)
  } catch (error) {
    const position = error instanceof pg.DatabaseError ? Number(error.position ?? 0) : 0
    const line = text.slice(0, position).split('\n').pop() + (text.slice(position).split('\n')[0] ?? '')
    const where = position ? ` at \`${line.trim()}\`` : ''
    throw new Error(`${name}.sql failed${where}: ${error instanceof Error ? error.message : error}`, { cause: error })
  }
}

/** Applies the next file, unless another node did. @returns its name, or null when nothing is left */
const step = (db: Db, files: Files, only?: readonly string[]): Promise<string | null> =>
  db.begin(async (tx) => {
    await tx.one`select from schema_migrations where name = ${lock} for update`
    const [next] = pending(files, await readApplied(tx), only)
    if (!next) return null
    const { name, checksum, text, transaction } = next
    if (transaction) await execute(tx, name, text)
    else {
      // A concurrent index waits for all older snapshots, and a finished prepared query keeps its own until the next
      // statement of its connection: an empty one in the simple protocol releases it.
      await tx.raw('select')
      // On a second connection, while this one holds the row.
      for (const statement of statements(text)) await execute(db, name, statement)
    }
    await tx.run`insert into schema_migrations (name, checksum) values (${name}, ${checksum})`
    return name
  })

/**
 * Brings the schema up to the files, each in a transaction of its own and only forward. A new database gets the
 * baseline. A database made before the baseline gets the rest of the numbered files; the last one gives it the names of
 * the baseline. Files named by time follow in both. Nodes that start at the same time take turns. When
 * nothing is left to do, it costs one query.
 *
 * A file whose first line is `-- no transaction` runs outside one (`create index concurrently`). A crash may cut it
 * short, so it must tolerate a second run.
 * @param db made with `patient: true`, two connections at least
 * @returns how many files were applied here
 * @throws Error when an applied file was changed, or a number is double or missing
 */
export const migrate = async (db: Db, { log, folder = own, only }: MigrateOptions = {}): Promise<number> => {
  const files = await readFiles(folder)
  try {
    if (pending(files, await readApplied(db), only).length === 0) return 0
  } catch (error) {
    // 42P01: a new database, without the table.
    if (sqlState(error) !== '42P01') throw error
    await makeTable(db)
  }
  // Also where another node has made the table a moment ago and not yet its row.
  await db.run`insert into schema_migrations (name, checksum) values (${lock}, '') on conflict do nothing`
  for (let count = 0; ; count++) {
    const began = performance.now()
    const name = await step(db, files, only)
    if (name === null) return count
    log?.info(`migrated ${name} in ${Math.round(performance.now() - began)} ms`)
  }
}
