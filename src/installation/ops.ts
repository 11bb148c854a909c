import { setTimeout as pause } from 'node:timers/promises'
import type { Db } from '../db/sql.ts'
import { tick } from '../jobs/tick.ts'
import { uuid } from '../lib/id.ts'
import * as store from './store.ts'

/** Settings that every process on one database must have alike. */
export type Shared = {
  /** TRUNKLINE_PUBLIC_URL, or where this process listens; null: on any free port, which is not known yet. */
  readonly publicUrl: string | null
  /** TRUNKLINE_MEDIA_STORE; null: a folder in the home of this process. */
  readonly mediaStore: string | null
}

/** Seconds after which a process that was killed no longer counts. */
const silence = 20
const beatMs = 5_000
const pollMs = 500

/** A bucket without its keys, which may differ while they are rotated. One folder may have two names on two machines. */
const storeName = (given: string | null): string => {
  if (!given?.startsWith('s3:')) return 'a folder'
  const { host, pathname } = new URL(given)
  return `s3://${host}${pathname}`
}

const disagreement = (own: store.ProcessRow, other: store.ProcessRow): string | null => {
  if (own.public_url !== null && other.public_url !== null && own.public_url !== other.public_url)
    return `TRUNKLINE_PUBLIC_URL must be the same in every process: here it is ${own.public_url}, another process has ${other.public_url}. Tokens and links of one would be refused by the other`
  if (own.media_store !== other.media_store)
    return `TRUNKLINE_MEDIA_STORE must be the same in every process: here it is ${own.media_store}, another process has ${other.media_store}. Files of one would be missing in the other`
  return null
}

export type Membership = { end(): Promise<void> }

/**
 * Enters this process among those that run on the database.
 * @param onError hears of a heartbeat that failed
 * @param patience seconds to wait for a process that may have been killed
 * @throws Error that names the setting, when a process that is alive has another value
 */
export const enterInstallation = async (
  db: Db,
  { publicUrl, mediaStore }: Shared,
  onError: (error: unknown) => void,
  patience = silence + 2,
): Promise<Membership> => {
  const own = { id: uuid(), public_url: publicUrl, media_store: storeName(mediaStore) }
  const enter = () =>
    db.begin(async (tx) => {
      const alive = await store.lockAlive(tx, silence)
      const fault = alive.map((other) => disagreement(own, other)).find((one) => one !== null) ?? null
      if (fault === null) await store.add(tx, own)
      return fault
    })
  // A process that was killed a moment ago looks alive: its settings may have been changed on purpose.
  const end = performance.now() + patience * 1000
  for (let fault = await enter(); fault !== null; fault = await enter()) {
    if (performance.now() > end) throw new Error(fault)
    await pause(pollMs)
  }
  const beat = tick(beatMs, async () => void (await store.touch(db, own)), onError)
  return {
    end: async () => {
      await beat.end()
      await store.remove(db, own.id)
    },
  }
}
