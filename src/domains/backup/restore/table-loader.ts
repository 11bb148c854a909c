import { finished } from 'node:stream/promises'
import type { Session } from '../../../platform/db/database-session.ts'
import { quoteIdentifier, quoteIdentifiers } from '../../../platform/db/identifier.ts'
import { migrate } from '../../../platform/db/migrate.ts'
import { connect, isUnavailable, sqlState, withoutValues } from '../../../platform/db/sql.ts'
import type { RowCounts } from '../create/database-dump.ts'
import { shown } from '../format/entry-name.ts'
import { BadBackup } from '../format/envelope.ts'
import * as store from '../store.ts'
import { selectTables } from './select-tables.ts'

/** Creates the schema of a backup in an empty database. @throws BadBackup when other migrations made the backup */
export const makeSchema = async (url: string, backup: readonly store.Migration[]): Promise<void> => {
  const db = connect({ url, connections: 2, unlimited: true })
  try {
    await migrate(db, { backup })
  } catch (error) {
    throw isUnavailable(error) ? error : new BadBackup(error instanceof Error ? error.message : String(error))
  } finally {
    await db.end()
  }
}

type Rows = ReturnType<Session['copyIn']>

/** Loads rows into the tables of a new schema, in one transaction. */
export type Loader = {
  /** @throws BadBackup for rows that the table cannot have */
  add(table: string, body: AsyncIterable<Buffer>): Promise<void>
  /**
   * Restores the constraints, which checks every row. The transaction is still open.
   * @returns the rows of each table
   * @throws BadBackup when rows violate one
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

/** An error of PostgreSQL about rows is a fault of the backup. */
const refused = (table: string, error: unknown): unknown =>
  sqlState(error) === null || isUnavailable(error) || !(error instanceof Error)
    ? error
    : new BadBackup(`The rows of the backup do not fit the table ${table}: ${withoutValues(error).message}`)

/** Copies rows into a table. */
const openTable = (session: Session, table: string, columns: readonly string[]) => {
  const rows = session.copyIn(
    `copy ${quoteIdentifier(table)} (${quoteIdentifiers(columns)}) from stdin (encoding 'UTF8')`,
  )
  const fault: { error: Error | null } = { error: null }
  rows.on('error', (error) => {
    fault.error ??= error
  })
  /** The first error says why; later ones only that the stream has ended. */
  const run = (work: () => Promise<void>): Promise<void> =>
    work().catch((error: unknown) => {
      throw refused(table, fault.error ?? error)
    })
  return {
    table,
    write: (part: Buffer) => run(() => writePart(rows, part)),
    close: async (): Promise<number> => {
      rows.end()
      await run(() => finished(rows))
      return rows.rowCount
    },
    destroy: () => rows.destroy(),
  }
}

/**
 * Begins to load. Foreign keys are dropped until the end, so that the order of tables does not matter. Triggers are
 * disabled: the rows that they would add are in the backup. A table's owner may do both; no superuser is needed.
 * @throws BadBackup when the backup has other tables than the schema
 */
export const beginLoading = async (session: Session, tables: readonly store.Table[]): Promise<Loader> => {
  const columns = selectTables(tables, await store.tables(session))
  const names = [...columns.keys()]
  const counts = new Map(names.map((name) => [name, 0]))
  await session.raw('begin')
  const constraints = await store.foreignKeys(session)
  for (const { name, table } of constraints)
    await session.raw(`alter table ${quoteIdentifier(table)} drop constraint ${quoteIdentifier(name)}`)
  for (const name of names) await session.raw(`alter table ${quoteIdentifier(name)} disable trigger user`)
  await session.raw(`truncate ${quoteIdentifiers(names)}`)

  let open: ReturnType<typeof openTable> | null = null
  const close = async (): Promise<void> => {
    if (!open) return
    const { table, close } = open
    open = null
    counts.set(table, (counts.get(table) ?? 0) + (await close()))
  }
  return {
    add: async (table, body) => {
      const into = columns.get(table)
      if (!into) throw new BadBackup(`The backup has rows of a table ${shown(table)} that its manifest does not name.`)
      if (open?.table !== table) {
        await close()
        open = openTable(session, table, into)
      }
      for await (const part of body) await open.write(part)
    },
    finish: async () => {
      await close()
      for (const { name, table, definition } of constraints)
        await session
          .raw(`alter table ${quoteIdentifier(table)} add constraint ${quoteIdentifier(name)} ${definition}`)
          .catch((error: unknown) => {
            throw refused(table, error)
          })
      for (const name of names) await session.raw(`alter table ${quoteIdentifier(name)} enable trigger user`)
      return counts
    },
    commit: async () => {
      await session.raw('commit')
      await session.raw('analyze')
    },
    abandon: async () => {
      open?.destroy()
      await session.raw('rollback').catch(() => {})
    },
  }
}
