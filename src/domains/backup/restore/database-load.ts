import { openSession, type Session } from '../../../platform/db/session.ts'
import { beginLoading, type Loader, makeSchema, tableOf } from '../create/database-dump.ts'
import type { Entry } from '../format/backup-archive.ts'
import { BadBackup } from '../format/envelope.ts'
import type { Manifest, Summary } from '../format/manifest.ts'
import { addPresentNames } from '../former-names.ts'
import * as store from '../store.ts'

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

export const makeDatabaseLoad = (url: string, report: (line: string) => void): DatabaseLoad => {
  let opened: { session: Session; loader: Loader; manifest: Manifest } | null = null
  let counts: Record<string, number> | null = null
  const given = () => {
    if (!opened) throw new BadBackup('The backup has rows before its manifest.')
    return opened
  }
  const end = async (): Promise<Session> => {
    const { session, loader } = given()
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
        await addPresentNames(session)
      } catch (error) {
        await session.end()
        throw error
      }
    },
    entry: async (entry) => {
      const table = tableOf(entry)
      if (table === null) return false
      if (counts !== null) throw new BadBackup('The backup has rows after its files.')
      report(`table ${table}`)
      await given().loader.add(table, entry.body)
      return true
    },
    end,
    commit: async (summary) => {
      const session = await end()
      const { loader, manifest } = given()
      for (const [table, rows] of Object.entries(summary.rows))
        if (counts?.[table] !== rows)
          throw new BadBackup(`The table ${table} has ${counts?.[table] ?? 0} rows; the backup has ${rows}.`)
      const [restored, expected] = [await store.money(session), manifest.money]
      for (const name of ['accounts', 'transfers', 'transferred', 'balances', 'held'] as const)
        if (restored[name] !== expected[name])
          throw new BadBackup(
            `Money: ${name} is ${restored[name]} after the restore, but ${expected[name]} in the backup.`,
          )
      for (const { name, value } of summary.sequences) await store.setSequence(session, name, value)
      await loader.commit()
    },
    close: async () => {
      if (!opened) return
      await opened.loader.abandon()
      await opened.session.end()
    },
  }
}
