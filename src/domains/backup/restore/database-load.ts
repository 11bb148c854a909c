import { openSession, type Session } from '../../../platform/db/database-session.ts'
import type { RowCounts } from '../create/database-dump.ts'
import type { Entry } from '../format/backup-archive.ts'
import { shown } from '../format/entry-name.ts'
import { BadBackup } from '../format/envelope.ts'
import type { Manifest, Summary } from '../format/manifest.ts'
import * as store from '../store.ts'
import { withoutQuotes } from './select-tables.ts'
import { beginLoading, type Loader, makeSchema } from './table-loader.ts'

/** Restores the database of a backup into an empty one. */
export type DatabaseLoad = {
  begin(manifest: Manifest): Promise<void>
  /** @returns false for an entry that does not belong to the database */
  entry(entry: Entry): Promise<boolean>
  /** Ends the rows; may be called once. The transaction is still open: only this session sees them. */
  end(): Promise<Session>
  /**
   * Compares the rows and the sums of money with those of the backup, and commits.
   * @throws BadBackup when they differ
   */
  commit(summary: Summary): Promise<void>
  /** Rolls back everything uncommitted. */
  close(): Promise<void>
}

/** Compares the rows of every table with the summary. @throws BadBackup */
const compareRows = (counts: RowCounts, { rows }: Summary): void => {
  const written = new Map(Object.entries(rows))
  for (const name of written.keys())
    if (!counts.has(name))
      throw new BadBackup(`summary.json of the backup counts rows of ${shown(name)}, which is no table.`)
  for (const [name, count] of counts)
    if (written.get(name) !== count)
      throw new BadBackup(`The table ${name} has ${count} rows; the backup has ${written.get(name) ?? 'no number'}.`)
}

export const makeDatabaseLoad = (url: string, report: (line: string) => void): DatabaseLoad => {
  let opened: { session: Session; loader: Loader; manifest: Manifest } | null = null
  let counts: RowCounts | null = null
  const requireOpened = () => {
    if (!opened) throw new BadBackup('The backup has rows before its manifest.')
    return opened
  }
  const end = async (): Promise<Session> => {
    const { session, loader } = requireOpened()
    if (counts === null) {
      report('constraints')
      counts = await loader.finish()
    }
    return session
  }
  return {
    begin: async (manifest) => {
      await makeSchema(url, manifest.migrations)
      const session = await openSession(url)
      try {
        opened = { session, manifest, loader: await beginLoading(session, manifest.tables) }
      } catch (error) {
        await session.end()
        throw error
      }
    },
    entry: async ({ kind, body }) => {
      if (kind.kind !== 'rows') return false
      report(`table ${kind.table}`)
      await requireOpened().loader.add(kind.table, body)
      return true
    },
    end,
    commit: async (summary) => {
      const session = await end()
      const { loader, manifest } = requireOpened()
      compareRows(counts ?? new Map(), summary)
      const [restored, expected] = [await store.money(session), manifest.money]
      for (const name of ['accounts', 'transfers', 'transferred', 'balances', 'held'] as const)
        if (restored[name] !== expected[name])
          throw new BadBackup(
            `Money: ${name} is ${restored[name]} after the restore, but ${expected[name]} in the backup.`,
          )
      for (const { name, value } of summary.sequences)
        if (!(await store.setSequence(session, withoutQuotes(name), value)))
          throw new BadBackup(
            `summary.json of the backup sets a sequence ${shown(name)} that the schema does not have.`,
          )
      await loader.commit()
    },
    close: async () => {
      if (!opened) return
      await opened.loader.abandon()
      await opened.session.end()
    },
  }
}
