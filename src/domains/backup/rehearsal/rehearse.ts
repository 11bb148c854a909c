import type { Config } from '../../../config.ts'
import { openSession, type Session } from '../../../platform/db/database-session.ts'
import { startEmbedded } from '../../../platform/db/embedded.ts'
import { openShared, silentLog } from '../../../platform/db/installation-database.ts'
import {
  type FinishedMigration,
  migrate,
  type PendingMigration,
  pendingMigrations,
} from '../../../platform/db/migrate.ts'
import { connect } from '../../../platform/db/sql.ts'
import { type Objection, upgrades } from '../../installation/ops.ts'
import { type RunControl, requireSpace } from '../create/create-backup.ts'
import { beginSnapshot, dumpTables } from '../create/database-dump.ts'
import { kindOf } from '../format/entry-name.ts'
import { BadBackup } from '../format/envelope.ts'
import { rehearsalReserveBytes } from '../limits.ts'
import { beginLoading, makeSchema } from '../restore/table-loader.ts'
import * as store from '../store.ts'
import { makeTemporaryHome } from '../temporary-home.ts'

// A rehearsal applies the pending migrations to a copy of the database. The copy is made as a backup is: by COPY in one
// snapshot, which needs no right but to read, and stops no process. It lies on a PostgreSQL of its own on this machine.

export type Rehearsal = {
  /** Bytes of the database, and rows of its copy; 0 when nothing is pending. */
  readonly bytes: number
  readonly rows: number
  readonly migrations: readonly FinishedMigration[]
  /** Living processes that do not bear the migrations. */
  readonly objections: readonly Objection[]
}

async function* one(bytes: Buffer): AsyncGenerator<Buffer> {
  yield bytes
}

/** Copies the rows of a snapshot into an empty database. @returns their number */
const copyDatabase = async (from: Session, url: string, { signal, report }: RunControl): Promise<number> => {
  await beginSnapshot(from)
  const tables = await store.tables(from)
  await makeSchema(url, await store.migrations(from))
  const to = await openSession(url)
  try {
    const loader = await beginLoading(to, tables)
    const add = async (name: string, bytes: Buffer): Promise<void> => {
      signal.throwIfAborted()
      const kind = kindOf(name)
      if (kind?.kind === 'rows') await loader.add(kind.table, one(bytes))
    }
    const counts = await dumpTables(from, tables, { add }, report)
    report('constraints')
    await loader.finish()
    for (const { name, value } of await store.sequences(from)) await store.setSequence(to, name, value)
    await loader.commit()
    return [...counts.values()].reduce((sum, count) => sum + count, 0)
  } finally {
    await to.end()
  }
}

/** Applies the pending migrations to a copy, and removes it. */
const rehearseOnCopy = async (from: Session, pending: readonly PendingMigration[], control: RunControl) => {
  const { signal, report } = control
  const { bytes } = await store.serverInfo(from)
  const { home, remove } = await makeTemporaryHome('rehearse')
  const endings: (() => Promise<void>)[] = [remove]
  try {
    await requireSpace(home, bytes * 2 + rehearsalReserveBytes)
    const { url, stop } = await startEmbedded({ home, log: silentLog })
    endings.push(stop)
    const rows = await copyDatabase(from, url, control)
    await from.raw('rollback')
    const db = connect({ url, connections: 2, unlimited: true })
    endings.push(db.end)
    const migrations: FinishedMigration[] = []
    const onApplied = (finished: FinishedMigration) => {
      migrations.push(finished)
      report(`${migrations.length} of ${pending.length} migrations`)
    }
    await migrate(db, { signal, onApplied, recordsLocks: true })
    return { bytes, rows, migrations }
  } finally {
    for (const end of endings.toReversed()) await end()
  }
}

/**
 * Applies the pending migrations of an installation to a copy of its database, whether the platform runs or not.
 * @throws BadBackup when the database is empty or the disk has too little room, Error when a migration fails, and the abort reason of `signal`
 */
export const rehearse = async (
  settings: Pick<Config, 'home' | 'databaseUrl'>,
  control: RunControl,
): Promise<Rehearsal> => {
  const database = await openShared(settings.home, settings.databaseUrl)
  try {
    const from = await openSession(database.url)
    try {
      if (!(await store.hasTables(from))) throw new BadBackup('The database is empty: there is nothing to rehearse.')
      const pending = await pendingMigrations(from)
      const objections = await upgrades.objections(from, pending)
      if (pending.length === 0) return { bytes: 0, rows: 0, migrations: [], objections }
      return { ...(await rehearseOnCopy(from, pending, control)), objections }
    } finally {
      await from.end().catch(() => {})
    }
  } finally {
    await database.close()
  }
}
