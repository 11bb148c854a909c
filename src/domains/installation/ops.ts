import { setTimeout as pause } from 'node:timers/promises'
import type { Db, Sql, Tx } from '../../platform/db/sql.ts'
import { tick } from '../../platform/jobs/tick.ts'
import { uuid } from '../../platform/lib/id.ts'
import { heartbeatTimeoutSeconds, processHeartbeatMs, processPollMs } from './limits.ts'
import * as store from './store.ts'

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

/** `id`: of this process among those of the installation. */
export type Membership = { readonly id: string; end(): Promise<void> }

/** Gives a task to one process of the installation, until it ends. @returns whether this one has it */
export const takeTask = (tx: Tx, name: string, process: string): Promise<boolean> =>
  store.takeTask(tx, name, process, heartbeatTimeoutSeconds)

/**
 * Registers this process and sends its heartbeats.
 * @param onError called when a heartbeat failed
 * @param patience seconds to wait for a conflicting process that may have been killed
 * @throws Error that names the setting, if a live process has another value
 */
export const enterInstallation = async (
  db: Db,
  { publicUrl, mediaStore, roles = [] }: SharedSettings & { readonly roles?: readonly string[] },
  onError: (error: unknown) => void,
  patience = heartbeatTimeoutSeconds + 2,
): Promise<Membership> => {
  const own = { id: uuid(), public_url: publicUrl, media_store: storeName(mediaStore), roles }
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
  const beat = tick(processHeartbeatMs, async () => void (await store.touch(db, own)), onError)
  return {
    id: own.id,
    end: async () => {
      await beat.end()
      await store.remove(db, own.id)
    },
  }
}
