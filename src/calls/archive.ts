import { rm, stat } from 'node:fs/promises'
import type { Config } from '../config.ts'
import type { MediaRecording } from '../connectors/port.ts'
import type { Db } from '../db/sql.ts'
import { tick } from '../jobs/tick.ts'
import { makeBucket } from '../lib/bucket.ts'
import { isThere, localFile, type Place } from '../lib/files.ts'
import { repairRecording, summariseRecording } from './drivers.ts'
import { recordingReady } from './ops.ts'
import {
  type Archive,
  clearHalves,
  encrypt,
  encryptedEnding,
  fileOf,
  finish,
  homeOf,
  openLeft,
  settle,
} from './recordings.ts'
import type { RecordingLink } from './shown.ts'

// What becomes of recordings once their calls are over: what a crash left is made whole, what is whole moves into the store
// where there is one, and what is old goes. All of it by a process that has the folder that they began in, whoever runs the calls.

/** The store of recordings; null where they stay in a folder. @param mediaStore as the setting says */
export const storeOf = ({ mediaStore }: Pick<Config, 'mediaStore'>): Place | null =>
  mediaStore?.startsWith('s3://') ? makeBucket(mediaStore) : null

/** The name of a recording in the store. */
export const keyOf = (account: string, call: string, isEncrypted: boolean): string =>
  `recordings/${account}/${call}.wav${isEncrypted ? encryptedEnding : ''}`

export type ArchiveGround = Archive & {
  readonly db: Db
  readonly config: Archive['config'] & Pick<Config, 'recordingDays'>
  readonly linkOf: RecordingLink
  readonly store: Place | null
  /** Told of what could not be done, and will be tried again. */
  failed(error: unknown): void
}

const mostAtOnce = 500
const first = '00000000-0000-0000-0000-000000000000'

/** Finds those of this folder among the recordings that were made before folders had ids. */
export const adopt = async ({ db, config }: ArchiveGround): Promise<void> => {
  let last = { account_id: first, call_id: first }
  for (;;) {
    const homeless = await db.many<typeof last>`
      select account_id, call_id from call_recordings
      where home is null and kept <> 'store' and (account_id, call_id) > (${last.account_id}, ${last.call_id})
      order by account_id, call_id limit ${mostAtOnce}`
    for (const { account_id: account, call_id: call } of homeless)
      if (await isThere(fileOf(config, account, call)))
        await db.run`
          update call_recordings set home = ${await settle(config)}
          where account_id = ${account} and call_id = ${call} and home is null`
    const end = homeless.at(-1)
    if (!end) return
    last = end
  }
}

type Left = { account_id: string; call_id: string; is_hopeless: boolean }

/** Of calls that have ended, and whose process could not finish them: those first that were tried least lately. */
const left = (db: Db, home: string | null) => db.many<Left>`
  update call_recordings set tried_at = now()
  where (account_id, call_id) in (
    select r.account_id, r.call_id
    from call_recordings r join calls c on c.account_id = r.account_id and c.id = r.call_id
    where r.ready_at is null and c.ended_at < app_now() - interval '5 seconds'
      and (r.home = ${home} or c.answered_at is null)
    order by r.tried_at nulls first, r.created_at limit 20)
  returning account_id, call_id, created_at < app_now() - interval '1 day' or not exists (
    select from calls c where c.account_id = call_recordings.account_id and c.id = call_id and c.answered_at is not null
  ) as is_hopeless`

/** What was written less long ago may be open in a process that hangs, or has lost its database; ms. A recorder writes every second. */
const restMs = 5_000

const isOpen = (path: string): Promise<boolean> =>
  stat(path).then(
    ({ mtimeMs }) => Date.now() - mtimeMs < restMs,
    () => false,
  )

type Stored = { readonly recording: MediaRecording | null; readonly isEncrypted: boolean }

/** Repairs what is left of a recording, and encrypts it where the setting asks for it. @throws Error when it cannot be encrypted */
const stored = async (ground: ArchiveGround, account: string, call: string): Promise<Stored> => {
  const recording = await repairRecording(fileOf(ground.config, account, call))
  if (recording) {
    await clearHalves(ground, account, call)
    return { recording, isEncrypted: await encrypt(ground, account, call) }
  }
  // A crash came after it was encrypted, and before that was committed.
  const left = await openLeft(ground, account, call)
  return { recording: left && (await summariseRecording(left)), isEncrypted: left !== null }
}

/**
 * Makes whole what killed processes have left, and tells of it: the end of the call was told without it. One whose file is gone
 * is given up after a day. Of a call that nobody answered there is none.
 */
export const repairLeft = async (ground: ArchiveGround): Promise<void> => {
  const { db, config, linkOf, failed } = ground
  for (const { account_id: account, call_id: call, is_hopeless } of await left(db, await homeOf(config))) {
    const path = fileOf(config, account, call)
    if (await isOpen(path)) continue
    const made = await stored(ground, account, call).catch(failed)
    if (!made || (!made.recording && !is_hopeless)) continue
    const { recording, isEncrypted } = made
    await db.begin(async (tx) => {
      if (await finish(tx, account, call, recording, isEncrypted)) await recordingReady(tx, account, call, linkOf)
    })
  }
}

type Whole = {
  account_id: string
  call_id: string
  kept: 'disk' | 'both'
  bytes: number
  sha256: string
  encrypted: boolean
}

/** The one that waits longest for the store. What could not be moved is tried again after ten minutes. */
const next = (db: Db, home: string | null) => db.maybe<Whole>`
  update call_recordings set tried_at = now()
  where (account_id, call_id) = (
    select account_id, call_id from call_recordings
    where ready_at is not null and kept <> 'store' and (tried_at is null or tried_at < now() - interval '10 minutes')
      and home = ${home}
    order by tried_at nulls first limit 1 for update skip locked)
  returning account_id, call_id, kept, bytes, sha256, encrypted`

/** How many are whole and not in the store. */
export const waiting = async (db: Db): Promise<number> =>
  (
    await db.one<{ waiting: number }>`
      select count(*)::integer as waiting from call_recordings where ready_at is not null and kept <> 'store'`
  ).waiting

/** Each step is written down before the next one: wherever a crash comes, the recording is somewhere, and nothing is left behind. */
const move = async (
  { db, config }: ArchiveGround,
  store: Place,
  { account_id: account, call_id: call, kept, bytes, sha256, encrypted }: Whole,
  signal: AbortSignal,
) => {
  const path = fileOf(config, account, call) + (encrypted ? encryptedEnding : '')
  const key = keyOf(account, call, encrypted)
  if (kept === 'disk') {
    // Deleted by hand.
    if (!(await isThere(path))) return
    const file = encrypted ? await localFile(path) : { path, size: bytes, digest: Buffer.from(sha256, 'hex') }
    await store.put(key, file, encrypted ? 'application/octet-stream' : 'audio/wav', signal)
    const known = await db.run`
      update call_recordings set kept = 'both'
      where account_id = ${account} and call_id = ${call} and sha256 = ${sha256}`
    // It became too old meanwhile, or longer.
    if (known === 0) return await store.delete(key)
  }
  await rm(path, { force: true })
  await db.run`update call_recordings set kept = 'store' where account_id = ${account} and call_id = ${call}`
}

/** Moves what is whole into the store, until there is no more, or the store fails. */
export const moveWhole = async (ground: ArchiveGround, signal: AbortSignal): Promise<void> => {
  const { db, store, config } = ground
  if (!store) return
  const home = await homeOf(config)
  while (!signal.aborted) {
    const found = await next(db, home)
    if (!found) return
    await move(ground, store, found, signal)
  }
}

type Old = { account_id: string; call_id: string; kept: 'disk' | 'both' | 'store'; encrypted: boolean }

const forget = async (
  { db, config, store }: ArchiveGround,
  { account_id: account, call_id: call, kept, encrypted }: Old,
  signal: AbortSignal,
): Promise<void> => {
  // The file first: a row without a file is tried again, a file without a row would stay for ever.
  for (const ending of ['', encryptedEnding]) await rm(fileOf(config, account, call) + ending, { force: true })
  // Also what a crash has kept from being written down. In a store that the setting does not name any more it cannot be heard, and
  // is its owner's matter.
  await store?.delete(keyOf(account, call, encrypted), signal)
  await db.begin(async (tx) => {
    const gone = await tx.run`
      delete from call_recordings where account_id = ${account} and call_id = ${call} and kept = ${kept}`
    // It has come into the store meanwhile: the next look deletes it there.
    if (gone === 0) return
    await tx.run`update calls set recorded_at = null where account_id = ${account} and id = ${call}`
  })
}

/** So many that failed one after the other are a store that is away: each may take 20 s. */
const mostFailures = 5

/** Deletes recordings that are older than the setting says, on the machine that has them; what is in the store, on any. */
export const forgetOld = async (ground: ArchiveGround, signal: AbortSignal): Promise<void> => {
  if (signal.aborted) return
  const { db, config, failed } = ground
  const old = await db.many<Old>`
    update call_recordings set tried_at = now()
    where (account_id, call_id) in (
      select account_id, call_id from call_recordings
      where ready_at < app_now() - make_interval(days => ${config.recordingDays})
        and (home = ${await homeOf(config)} or kept = 'store')
      order by tried_at nulls first, ready_at limit ${mostAtOnce})
    returning account_id, call_id, kept, encrypted`
  let failures = 0
  for (const one of old) {
    if (failures >= mostFailures || signal.aborted) return
    try {
      await forget(ground, one, signal)
      failures = 0
    } catch (error) {
      failures++
      if (!signal.aborted) failed(error)
    }
  }
}

/** How often recordings are looked for that a crash has left, that wait for the store, and that are old; ms. */
const [repairMs, moveMs, forgetMs] = [5_000, 5_000, 600_000]

/** @returns what ends it: what is on its way into the store is taken up again at the next start */
export const startArchive = (ground: ArchiveGround): { end(): Promise<void> } => {
  const leaving = new AbortController()
  let isSearched = false
  const repair = async () => {
    if (!isSearched) await adopt(ground)
    isSearched = true
    await repairLeft(ground)
  }
  const ticks = [
    tick(repairMs, repair, ground.failed),
    tick(moveMs, () => moveWhole(ground, leaving.signal), ground.failed),
    tick(forgetMs, () => forgetOld(ground, leaving.signal), ground.failed),
  ]
  return {
    end: async () => {
      leaving.abort()
      await Promise.all(ticks.map((one) => one.end()))
    },
  }
}
