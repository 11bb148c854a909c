import { createHash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import pg from 'pg'
import { type Db, type Sql, sqlState } from './sql.ts'

export type MigrateOptions = {
  log?: { info(text: string): void }
  /** The folder of the files, for tests. */
  folder?: string
  /** Lets numbers be missing, for tests beside work in hand: the missing ones come with other changes. */
  gaps?: boolean
}

type Migration = { name: string; number: number; text: string; checksum: string; transaction: boolean }
type Applied = { name: string; checksum: string }

const own = join(import.meta.dirname, 'migrations')

/** The row by which nodes that start together take turns. An advisory lock would not do on every engine that speaks PostgreSQL. */
const lock = '0000_lock'

const readMigrations = async (folder: string, gaps: boolean): Promise<Migration[]> => {
  const names = (await readdir(folder)).filter((name) => name.endsWith('.sql')).sort()
  const migrations = await Promise.all(
    names.map(async (name) => {
      const [, digits] = /^(\d{4})_[a-z0-9_]+\.sql$/.exec(name) ?? []
      if (!digits) throw new Error(`${join(folder, name)} is not named like 0001_name.sql`)
      // Git may write files with CRLF on some systems: that is not a change.
      const text = (await readFile(join(folder, name), 'utf8')).replaceAll('\r\n', '\n')
      return {
        name: name.slice(0, -'.sql'.length),
        number: Number(digits),
        text,
        checksum: createHash('sha256').update(text).digest('hex'),
        transaction: !/^-- no transaction\b/.test(text),
      }
    }),
  )
  for (const [i, { name, number }] of migrations.entries()) {
    if (number === migrations[i - 1]?.number) throw new Error(`Two migrations have the number of ${name}.sql`)
    if (number !== i + 1 && !gaps) throw new Error(`A migration is missing before ${name}.sql`)
  }
  return migrations
}

const readApplied = (sql: Sql) =>
  sql.many<Applied>`select name, checksum from schema_migrations where name <> ${lock} order by name`

/** What is still to do. @throws Error when the database was not made by these files */
const pending = (migrations: Migration[], applied: Applied[]): Migration[] => {
  for (const [i, { name, checksum }] of applied.entries()) {
    const file = migrations[i]
    if (!file || file.number < Number.parseInt(name, 10))
      throw new Error(
        file
          ? `The database has ${name} but not ${file.name}.sql, which comes before it: a migration takes the next free number.`
          : `The database has the migration ${name}, which this version does not know: it was migrated by a newer one.`,
      )
    if (file.name !== name) throw new Error(`The applied migration ${name} is no longer among the files.`)
    if (file.checksum !== checksum)
      throw new Error(
        `${name}.sql was changed after it had been applied: put it back, and make the change in a new file.`,
      )
  }
  return migrations.slice(applied.length)
}

const makeTable = async (db: Db): Promise<void> => {
  try {
    await db.raw(`create table if not exists schema_migrations (
      name text primary key,
      checksum text not null,
      applied_at timestamptz not null default now()
    )`)
  } catch (error) {
    // Two nodes at once: "if not exists" looks first and makes after, and the slower one fails in the catalogue (23505, 42P07).
    if (!['23505', '42P07', '42710'].includes(sqlState(error) ?? '')) throw error
  }
}

/** Statements of a file that runs outside a transaction: each ends with a semicolon at the end of a line. */
const statements = (text: string) => text.split(/;[ \t]*$/m).filter((one) => one.replace(/--.*$/gm, '').trim() !== '')

/** Runs SQL of a file; an error says where it stands. */
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
const step = (db: Db, migrations: Migration[]): Promise<string | null> =>
  db.begin(async (tx) => {
    await tx.one`select from schema_migrations where name = ${lock} for update`
    const [next] = pending(migrations, await readApplied(tx))
    if (!next) return null
    const { name, checksum, text, transaction } = next
    if (transaction) await execute(tx, name, text)
    else {
      // A concurrent index waits for all older snapshots, and a finished prepared query keeps its own until the next
      // statement of its connection: an empty one in the simple protocol lets it go.
      await tx.raw('select')
      // On a second connection, while this one holds the row.
      for (const statement of statements(text)) await execute(db, name, statement)
    }
    await tx.run`insert into schema_migrations (name, checksum) values (${name}, ${checksum})`
    return name
  })

/**
 * Brings the schema up to the numbered files, each in a transaction of its own and only forward. Nodes that start at the
 * same time take turns. When there is nothing to do it costs one query.
 *
 * A file whose first line is `-- no transaction` runs outside one (`create index concurrently`); since it may be cut short, it
 * must bear being run again.
 * @param db made with `patient: true`, two connections at least
 * @returns how many files were applied here
 * @throws Error when an applied file was changed, or a number is double or missing
 */
export const migrate = async (db: Db, { log, folder = own, gaps = false }: MigrateOptions = {}): Promise<number> => {
  const migrations = await readMigrations(folder, gaps)
  try {
    if (pending(migrations, await readApplied(db)).length === 0) return 0
  } catch (error) {
    // 42P01: a new database, without the table.
    if (sqlState(error) !== '42P01') throw error
    await makeTable(db)
  }
  // Also where another node has made the table a moment ago and has not come to its row.
  await db.run`insert into schema_migrations (name, checksum) values (${lock}, '') on conflict do nothing`
  for (let count = 0; ; count++) {
    const began = performance.now()
    const name = await step(db, migrations)
    if (name === null) return count
    log?.info(`migrated ${name} in ${Math.round(performance.now() - began)} ms`)
  }
}
