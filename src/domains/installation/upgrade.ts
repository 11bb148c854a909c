import { setTimeout as pause } from 'node:timers/promises'
import type { Config } from '../../config.ts'
import { openExclusively } from '../../platform/db/installation-database.ts'
import {
  type FinishedMigration,
  type MigrateOptions,
  migrate,
  type PendingMigration,
  pendingMigrations,
} from '../../platform/db/migrate.ts'
import { baselineName } from '../../platform/db/migration-files.ts'
import { connect, type Db, type Sql } from '../../platform/db/sql.ts'
import { heartbeatTimeoutSeconds, processPollMs } from './limits.ts'
import * as store from './store.ts'

// Upgrades while other processes run: which of them bear a migration, and who applies it.

/** Returns the first of the migrations that the process does not bear; null when it bears all. */
const unbearable = (
  { newest_migration }: store.ProcessIdentity,
  pending: readonly PendingMigration[],
): PendingMigration | null => {
  // A process that does not say which schema it knows is of the release before processes did.
  const known = newest_migration ?? baselineName
  return pending.find(({ compatibleSince }) => compatibleSince === null || compatibleSince > known) ?? null
}

/** Names a process, such as `process 4711 on web-1 (version 0.3.0, api and worker, since 2026-12-01T09:30:00Z)`. */
const nameOf = ({ pid, host, version, roles, started_at }: store.ProcessIdentity): string => {
  const name = pid === null ? 'a process' : `process ${pid} on ${host}`
  const since = started_at.toISOString().replace(/\.\d+/, '')
  return `${name} (${version ? `version ${version}` : 'an earlier version'}, ${roles.join(' and ') || 'no role'}, since ${since})`
}

/** A living process does not bear a migration. */
export class OlderProcesses extends Error {}

/** A living process, described, and the first migration that it does not bear. */
export type Objection = { readonly process: string; readonly migration: string }

/** Returns the living processes that do not bear the migrations. */
export const objections = async (sql: Sql, pending: readonly PendingMigration[]): Promise<Objection[]> =>
  (await store.identities(sql, heartbeatTimeoutSeconds)).flatMap((one) => {
    const migration = unbearable(one, pending)
    return migration === null ? [] : [{ process: nameOf(one), migration: migration.name }]
  })

/** @throws OlderProcesses that names those which do not bear the migrations */
const requireNoObjection = async (sql: Sql, pending: readonly PendingMigration[]): Promise<void> => {
  const found = await objections(sql, pending)
  if (found.length === 0) return
  const reasons = Map.groupBy(found, ({ migration }) => migration)
    .entries()
    .map(
      ([name, group]) => `${group.map(({ process }) => process).join(' and ')} cannot work with the migration ${name}`,
    )
  throw new OlderProcesses(
    `The database is not migrated, because ${[...reasons].join(', and ')}. Stop it, and try again.`,
  )
}

type Log = NonNullable<MigrateOptions['log']>

/**
 * Migrates the database of an installation. Waits for processes that do not bear it, as long as one that was killed
 * seems alive.
 * @param patience seconds to wait for them
 * @returns how many migrations were applied
 * @throws OlderProcesses when such a process goes on
 */
export const migrateInstallation = async (
  db: Db,
  options: Pick<MigrateOptions, 'folder' | 'onApplied' | 'signal'> & { readonly log: Log },
  patience = heartbeatTimeoutSeconds + 2,
): Promise<number> => {
  const deadline = performance.now() + patience * 1000
  for (let isFirst = true; ; isFirst = false) {
    try {
      return await migrate(db, { ...options, permit: requireNoObjection })
    } catch (error) {
      if (!(error instanceof OlderProcesses) || performance.now() > deadline) throw error
      if (isFirst) options.log.info(`schema: waiting for ${patience} s: ${error.message}`)
      await pause(processPollMs, null, options.signal ? { signal: options.signal } : {})
    }
  }
}

/**
 * Prepares the database of a process that starts.
 * @throws Error when the setting is `never` and migrations are pending
 */
export const prepareSchema = async (db: Db, setting: Config['migrate'], log: Log): Promise<void> => {
  if (setting === 'start') {
    await migrateInstallation(db, { log })
    return
  }
  const pending = await pendingMigrations(db)
  if (pending.length === 0) return
  const names = pending.map(({ name }) => name)
  const all =
    names.length === 1 ? `the migration ${names[0]}` : `${names.length} migrations, ${names[0]} to ${names.at(-1)}`
  throw new Error(
    `The database lacks ${all}, and TRUNKLINE_MIGRATE is never. Run "npx trunkline migrate" with the settings of this process, then start it again.`,
  )
}

export type MigrateCommand = {
  readonly signal: AbortSignal
  readonly report: (line: string) => void
  readonly onApplied: (finished: FinishedMigration) => void
}

/**
 * Migrates the database of the settings, for the command line. The embedded database is started for it.
 * @returns how many migrations were applied
 * @throws Error when a platform runs on the home, or a living process does not bear a migration
 */
export const migrateBySettings = async (
  { home, databaseUrl }: Pick<Config, 'home' | 'databaseUrl'>,
  { signal, report, onApplied }: MigrateCommand,
): Promise<number> => {
  const opened = databaseUrl === null ? await openExclusively(home, null) : { url: databaseUrl, close: async () => {} }
  const db = connect({ url: opened.url, connections: 2, unlimited: true })
  try {
    return await migrateInstallation(db, { signal, onApplied, log: { info: report, debug: () => {} } })
  } finally {
    await db.end()
    await opened.close()
  }
}
