import { hostname } from 'node:os'
import { setTimeout as pause } from 'node:timers/promises'
import { newestKnown, requireKnownSchema } from '../../platform/db/migrate.ts'
import type { Db, Sql } from '../../platform/db/sql.ts'
import { tick } from '../../platform/jobs/tick.ts'
import { uuid } from '../../platform/lib/id.ts'
import { heartbeatTimeoutSeconds, processHeartbeatMs, processPollMs } from './limits.ts'
import * as store from './store.ts'
import { migrateBySettings, type Objection, objections, prepareSchema } from './upgrade.ts'

/** Settings that must be equal in all processes on one database. */
export type SharedSettings = {
  /** TRUNKLINE_PUBLIC_URL, or the listen address; null: a free port that is not known yet. */
  readonly publicUrl: string | null
  /** TRUNKLINE_MEDIA_STORE; null: a folder in the home of this process. */
  readonly mediaStore: string | null
}

/** Names a media store for the comparison. Leaves out bucket keys, which may differ during a rotation, and folder
 *  paths, which may differ between machines. */
const storeName = (value: string | null): string => {
  if (!value?.startsWith('s3:')) return 'a folder'
  const { host, pathname } = new URL(value)
  return `s3://${host}${pathname}`
}

const disagreement = (own: store.ProcessRow, other: store.ProcessRow): string | null => {
  if (own.public_url !== null && other.public_url !== null && own.public_url !== other.public_url)
    return `TRUNKLINE_PUBLIC_URL must be the same in every process: here it is ${own.public_url}, another process has ${other.public_url}. Tokens and links of one would be refused by the other`
  if (own.media_store !== other.media_store)
    return `TRUNKLINE_MEDIA_STORE must be the same in every process: here it is ${own.media_store}, another process has ${other.media_store}. Files of one would be missing in the other`
  return null
}

/** Returns the processes with a recent heartbeat. An embedded database, which has a single process, has none. */
export const aliveProcesses = (db: Sql): Promise<store.ProcessRow[]> => store.alive(db, heartbeatTimeoutSeconds)

export type Membership = { end(): Promise<void> }

/**
 * Registers this process and sends its heartbeats.
 * @param onError called when a heartbeat failed
 * @param patience seconds to wait for a conflicting process that may have been killed
 * @throws Error that names the setting, if a live process has another value; also when a newer version has changed the
 * schema since this process looked at it
 */
export const enterInstallation = async (
  db: Db,
  {
    publicUrl,
    mediaStore,
    roles = [],
    version = '',
  }: SharedSettings & { readonly roles?: readonly string[]; readonly version?: string },
  onError: (error: unknown) => void,
  patience = heartbeatTimeoutSeconds + 2,
): Promise<Membership> => {
  const own = {
    ...{ id: uuid(), public_url: publicUrl, media_store: storeName(mediaStore), roles },
    ...{ version, host: hostname(), pid: process.pid, newest_migration: await newestKnown() },
  }
  const enter = () =>
    db.begin(async (tx) => {
      const alive = await store.lockAlive(tx, heartbeatTimeoutSeconds)
      const fault = alive.map((other) => disagreement(own, other)).find((one) => one !== null) ?? null
      if (fault === null) await store.add(tx, own)
      return fault
    })
  // A process that was just killed seems alive. Its settings may have been changed on purpose, so wait.
  const end = performance.now() + patience * 1000
  for (let fault = await enter(); fault !== null; fault = await enter()) {
    if (performance.now() > end) throw new Error(fault)
    await pause(processPollMs)
  }
  // A migration either sees this process, or is seen here.
  await requireKnownSchema(db).catch(async (error: unknown) => {
    await store.remove(db, own.id)
    throw error
  })
  const beat = tick(processHeartbeatMs, async () => void (await store.touch(db, own)), onError)
  return {
    end: async () => {
      await beat.end()
      await store.remove(db, own.id)
    },
  }
}

export type { Objection }

/** Migrations of an installation, other processes of which may run. */
export const upgrades = { prepare: prepareSchema, migrate: migrateBySettings, objections } as const
