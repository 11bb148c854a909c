import { finished } from 'node:stream/promises'
import { migrate } from '../../../platform/db/migrate.ts'
import type { Session } from '../../../platform/db/session.ts'
import { connect } from '../../../platform/db/sql.ts'
import type { Entry, Writer } from '../format/backup-archive.ts'
import { BadBackup } from '../format/envelope.ts'
import { portionBytes } from '../limits.ts'
import * as store from '../store.ts'

/** Begins a snapshot in which the text of every value is the same on each server and in each session. */
export const beginSnapshot = async (session: Session): Promise<void> => {
  await session.raw('begin transaction isolation level repeatable read, read only')
  await session.raw(
    `set local datestyle = 'ISO, MDY'; set local intervalstyle = 'postgres'; set local timezone = 'UTC';
     set local extra_float_digits = 1; set local bytea_output = 'hex'`,
  )
}

async function* portions(source: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let held: Buffer[] = []
  let length = 0
  for await (const part of source) {
    held.push(part)
    length += part.length
    if (length < portionBytes) continue
    yield Buffer.concat(held)
    held = []
    length = 0
  }
  if (length > 0) yield Buffer.concat(held)
}

/** Number of rows by table name. */
export type RowCounts = Record<string, number>

/** Writes the rows of every table as `database/<table>/<number>`, in the text form of COPY. */
export const dumpTables = async (
  session: Session,
  tables: readonly store.Table[],
  writer: Writer,
  tell: (line: string) => void,
): Promise<RowCounts> => {
  const counts: RowCounts = {}
  for (const { name, columns } of tables) {
    tell(`table ${name}`)
    const rows = session.copyOut(`copy (select ${columns.join(', ')} from ${name}) to stdout (encoding 'UTF8')`)
    let number = 0
    for await (const bytes of portions(rows)) {
      number += 1
      await writer.add(`database/${name}/${String(number).padStart(6, '0')}`, bytes)
    }
    counts[name] = rows.rowCount
  }
  return counts
}

/** Creates the schema of a backup in an empty database. @throws BadBackup when other migrations made the backup */
export const makeSchema = async (url: string, expected: readonly store.Migration[]): Promise<void> => {
  const db = connect({ url, connections: 2, unlimited: true })
  try {
    await migrate(db, { only: expected.map(({ name }) => name) }).catch((error: unknown) => {
      throw new BadBackup(error instanceof Error ? error.message : String(error))
    })
    const made = await store.migrations(db)
    const other = expected.find(({ name, checksum }, i) => made[i]?.name !== name || made[i].checksum !== checksum)
    if (other)
      throw new BadBackup(
        `The backup has another migration ${other.name} than this version: restore it with the version that made it.`,
      )
  } finally {
    await db.end()
  }
}

type Rows = ReturnType<Session['copyIn']>

type Constraint = { name: string; table: string; definition: string }

/** Loads rows into the tables of a new schema, in one transaction. */
export type Loader = {
  add(table: string, body: AsyncIterable<Buffer>): Promise<void>
  /**
   * Restores the constraints, which checks every row. The transaction is still open.
   * @returns the rows of each table
   */
  finish(): Promise<RowCounts>
  commit(): Promise<void>
  /** Leaves the tables unchanged. */
  abandon(): Promise<void>
}

/** Writes a part of the rows, and waits until the connection has accepted it. */
const writePart = (rows: Rows, part: Buffer): Promise<void> =>
  new Promise((resolve, reject) => {
    rows.once('error', reject)
    rows.write(part, (error) => {
      rows.off('error', reject)
      if (error) reject(error)
      else resolve()
    })
  })

/**
 * Begins to load. Foreign keys are dropped until the end, so that the order of tables does not matter. Triggers are
 * disabled: the rows that they would add are in the backup. A table's owner may do both; no superuser is needed.
 */
export const beginLoading = async (session: Session, tables: readonly store.Table[]): Promise<Loader> => {
  const columns = new Map(tables.map((table) => [table.name, table.columns]))
  const known = await store.tables(session)
  const unknown = tables.find(
    ({ name, columns }) => !columns.every((one) => known.find((it) => it.name === name)?.columns.includes(one)),
  )
  if (unknown) throw new BadBackup(`The backup has a table ${unknown.name} that its own migrations do not make.`)
  const counts: RowCounts = Object.fromEntries(tables.map(({ name }) => [name, 0]))
  await session.raw('begin')
  const constraints = await session.raw<Constraint>(`
    select quote_ident(conname) as name, conrelid::regclass::text as table, pg_get_constraintdef(oid) as definition
    from pg_constraint where contype = 'f' and conparentid = 0 and connamespace = current_schema()::regnamespace`)
  const names = known.map(({ name }) => name)
  for (const { name, table } of constraints) await session.raw(`alter table ${table} drop constraint ${name}`)
  for (const name of names) await session.raw(`alter table ${name} disable trigger user`)
  await session.raw(`truncate ${names.join(', ')}`)

  let open: { table: string; rows: Rows } | null = null
  const close = async (): Promise<void> => {
    if (!open) return
    const { table, rows } = open
    open = null
    rows.end()
    await finished(rows)
    counts[table] = (counts[table] ?? 0) + rows.rowCount
  }
  return {
    add: async (table, body) => {
      const known = columns.get(table)
      if (!known) throw new BadBackup(`The backup has rows of a table ${table} that its manifest does not name.`)
      if (open?.table !== table) {
        await close()
        const rows = session.copyIn(`copy ${table} (${known.join(', ')}) from stdin (encoding 'UTF8')`)
        // `finished` or the next write throws the error.
        rows.on('error', () => {})
        open = { table, rows }
      }
      const { rows } = open
      for await (const part of body) await writePart(rows, part)
    },
    finish: async () => {
      await close()
      for (const { name, table, definition } of constraints)
        await session.raw(`alter table ${table} add constraint ${name} ${definition}`)
      for (const name of names) await session.raw(`alter table ${name} enable trigger user`)
      return counts
    },
    commit: async () => {
      await session.raw('commit')
      await session.raw('analyze')
    },
    abandon: async () => {
      open?.rows.destroy()
      await session.raw('rollback').catch(() => {})
    },
  }
}

/** Returns the table of an entry such as `database/accounts/000001`; null for other entries. */
export const tableOf = ({ name }: Pick<Entry, 'name'>): string | null =>
  /^database\/([^/]+)\/\d+$/.exec(name)?.[1] ?? null
