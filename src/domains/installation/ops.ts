import { hostname } from 'node:os'
import { join, resolve } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { newestKnown, requireKnownSchema, UnknownSchema } from '../../platform/db/migrate.ts'
import type { Db, Sql, Tx } from '../../platform/db/sql.ts'
import { tick } from '../../platform/jobs/tick.ts'
import { errorText } from '../../platform/lib/error-text.ts'
import { folderIdFile, folderIdOf } from '../../platform/lib/folder-id.ts'
import { uuid } from '../../platform/lib/id.ts'
import { makeClockSkew } from './clock-skew.ts'
import { heartbeatTimeoutSeconds, processHeartbeatMs, processPollMs } from './limits.ts'
import * as store from './store.ts'
import { migrateBySettings, type Objection, objections, prepareSchema } from './upgrade.ts'

/** Settings that must be equal in all processes on one database. */
export type SharedSettings = {
  /** TRUNKLINE_PUBLIC_URL, or the listen address; null: a free port that is not known yet. */
  readonly publicUrl: string | null
  readonly mediaStore: MediaStore
}

/** TRUNKLINE_MEDIA_STORE for the comparison: a bucket without its keys, or a folder with the id in it. */
export type MediaStore = { readonly bucket: string } | { readonly folder: string; readonly id: string }

/** Name of any folder in a row: paths may differ between machines. */
const anyFolder = 'a folder'

/**
 * Identifies the media store: a folder by the id in it, as paths may differ between machines, and one path may lead to
 * different folders. Leaves out bucket keys, which may differ during a rotation.
 * @param setting TRUNKLINE_MEDIA_STORE; null: `media` in the home
 * @throws Error that names the setting, if the folder cannot be written
 */
export const identifyMediaStore = async (setting: string | null, home: string): Promise<MediaStore> => {
  if (setting?.startsWith('s3:')) {
    const { host, pathname } = new URL(setting)
    return { bucket: `s3://${host}${pathname}` }
  }
  const folder = resolve(setting ?? join(home, 'media'))
  try {
    return { folder, id: await folderIdOf(folder) }
  } catch (error) {
    const name = setting === null ? 'TRUNKLINE_HOME' : 'TRUNKLINE_MEDIA_STORE'
    throw new Error(
      `${name}: the folder of files ${folder} cannot be used (${errorText(error)}). Mount it, and give this user the right to write to it`,
      { cause: error },
    )
  }
}

const disagreement = (own: store.ProcessRow, folder: string | null, other: store.ProcessRow): string | null => {
  if (own.public_url !== null && other.public_url !== null && own.public_url !== other.public_url)
    return `TRUNKLINE_PUBLIC_URL must be the same in every process: here it is ${own.public_url}, another process has ${other.public_url}. Tokens and links of one would be refused by the other`
  if (own.media_store !== other.media_store)
    return `TRUNKLINE_MEDIA_STORE must be the same in every process: here it is ${own.media_store}, another process has ${other.media_store}. Files of one would be missing in the other`
  if (own.media_folder !== null && other.media_folder !== null && own.media_folder !== other.media_folder)
    return `TRUNKLINE_MEDIA_STORE must lead to the same folder in every process: here it leads to ${folder}, whose ${folderIdFile} is ${own.media_folder}, and another process has ${other.media_folder}. Files of one would be missing in the other. Set it to a folder that all of them share, or a bucket`
  return null
}

/** Returns the processes with a recent heartbeat. An embedded database, which has a single process, has none. */
export const aliveProcesses = (db: Sql): Promise<store.LivingProcess[]> => store.alive(db, heartbeatTimeoutSeconds)

export type Membership = {
  /** Id of this process among those of the installation. */
  readonly id: string
  /** Seconds by which the clock of the database is ahead of this process; null up to 2 s. */
  clockSkewSeconds(): number | null
  end(): Promise<void>
}

type Log = Parameters<typeof makeClockSkew>[0] & { error(fields: object, message: string): void }

/** A process with other settings; `isLiving` once it sent a heartbeat during this start. */
type Conflict = { readonly fault: string; readonly isLiving: boolean }

/** Gives a task to one process of the installation, until it ends. @returns whether this one has it */
export const takeTask = (tx: Tx, name: string, process: string): Promise<boolean> =>
  store.takeTask(tx, name, process, heartbeatTimeoutSeconds)

/**
 * Checks the schema again after others took this process for dead: they may have migrated without regard to it. A failed check
 * is repeated with the next heartbeat. Heartbeats do not wait for it, as a migration may run.
 */
const makeSchemaWatch = (
  requireKnown: () => Promise<void>,
  log: Pick<Log, 'warn'>,
  onUnknown: (error: Error) => void,
): { doubt(): void; check(): void } => {
  let isDoubtful = false
  let isRunning = false
  const run = async () => {
    try {
      await requireKnown()
      isDoubtful = false
    } catch (error) {
      if (!(error instanceof UnknownSchema)) return
      isDoubtful = false
      onUnknown(
        new Error(`A newer version migrated the database while this process did not reach it. ${error.message}`, {
          cause: error,
        }),
      )
    } finally {
      isRunning = false
    }
  }
  return {
    doubt: () => {
      log.warn({}, 'processes: heartbeats were missing for 20 s: others took this process for dead')
      isDoubtful = true
    },
    check: () => {
      if (!isDoubtful || isRunning) return
      isRunning = true
      void run()
    },
  }
}

/**
 * Registers this process and sends its heartbeats.
 * @param patience seconds to wait for a conflicting process that may have been killed
 * @param now Unix milliseconds of this process
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
    onUnknownSchema = () => {},
  }: SharedSettings & {
    readonly roles?: readonly string[]
    readonly version?: string
    /** Called when a newer version changed the schema while this process was silent: it must stop. */
    readonly onUnknownSchema?: (error: Error) => void
  },
  log: Log,
  patience = heartbeatTimeoutSeconds + 2,
  now: () => number = Date.now,
): Promise<Membership> => {
  const [folder, named] = 'bucket' in mediaStore ? [null, null] : [mediaStore.folder, mediaStore.id]
  const own: store.OwnRow = {
    id: uuid(),
    public_url: publicUrl,
    media_store: 'bucket' in mediaStore ? mediaStore.bucket : anyFolder,
    media_folder: named,
    roles,
    ...{ version, host: hostname(), pid: process.pid, newest_migration: await newestKnown() },
  }
  const seen = new Map<string, string>()
  const enter = () =>
    db.begin(async (tx): Promise<Conflict | null> => {
      const conflicts = (await store.lockAlive(tx, heartbeatTimeoutSeconds)).flatMap((other) => {
        const fault = disagreement(own, folder, other)
        const before = seen.get(other.id)
        seen.set(other.id, other.seen_at)
        return fault === null ? [] : [{ fault, isLiving: before !== undefined && before !== other.seen_at }]
      })
      if (conflicts.length === 0) await store.add(tx, own)
      return conflicts.find(({ isLiving }) => isLiving) ?? conflicts[0] ?? null
    })
  // A process that was just killed seems alive. Its settings may have been changed on purpose, so wait.
  const end = performance.now() + patience * 1000
  for (let conflict = await enter(); conflict !== null; conflict = await enter()) {
    if (conflict.isLiving || performance.now() > end) throw new Error(conflict.fault)
    await pause(processPollMs)
  }
  const stop = new AbortController()
  const turn = { signal: stop.signal, log: { info: (text: string) => log.info({}, text) } }
  // A migration either sees this process, or is seen here.
  await requireKnownSchema(db, turn).catch(async (error: unknown) => {
    await store.remove(db, own.id)
    throw error
  })
  const skew = makeClockSkew(log)
  const schema = makeSchemaWatch(() => requireKnownSchema(db, turn), log, onUnknownSchema)
  const touch = async () => {
    const sentAt = now()
    const { now: databaseAt, was_silent } = await store.touch(db, own, heartbeatTimeoutSeconds)
    skew.note(sentAt, databaseAt, now())
    if (was_silent) schema.doubt()
    schema.check()
  }
  const onError = (err: unknown) => log.error({ err }, 'processes: heartbeat failed')
  await touch().catch(onError)
  const beat = tick(processHeartbeatMs, touch, onError)
  return {
    id: own.id,
    clockSkewSeconds: skew.seconds,
    end: async () => {
      stop.abort()
      await beat.end()
      await store.remove(db, own.id)
    },
  }
}

export type { Objection }

/** Migrations of an installation, other processes of which may run. */
export const upgrades = { prepare: prepareSchema, migrate: migrateBySettings, objections } as const
