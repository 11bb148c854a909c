import { rm, stat } from 'node:fs/promises'
import type { Config } from '../../../config.ts'
import type { Db } from '../../../platform/db/sql.ts'
import { tick } from '../../../platform/jobs/tick.ts'
import { type FileStore, fileExists, localFile } from '../../../platform/lib/file-store.ts'
import { makeS3Store } from '../../../platform/lib/s3-store.ts'
import type { MediaRecording } from '../../../ports/media.ts'
import type { RecordingLink } from '../call-presenter.ts'
import { repairRecording, summariseRecording } from '../lease/voice-drivers.ts'
import { maxUploadFailures, minIdleRecordingMs, uploadBatchSize } from '../limits.ts'
import { publishRecordingsReady, recordingReady } from '../ops.ts'
import {
  completeRecording,
  encrypt,
  encryptedSuffix,
  ensureFolderId,
  fileOf,
  folderIdOf,
  openEncryptedLeft,
  type RecordingStorage,
  removePartialFiles,
} from './recording-files.ts'
import { reportRecording } from './recording-status.ts'

// Recordings after their calls: repair after a crash, upload into the store if there is one, deletion by age.
// Any process with the folder of the recordings does this, whether it runs the calls or not.

/** Returns the store of recordings; null if they stay in a folder. @param mediaStore the setting */
export const storeOf = ({ mediaStore }: Pick<Config, 'mediaStore'>): FileStore | null =>
  mediaStore?.startsWith('s3://') ? makeS3Store(mediaStore) : null

/** Returns the key of a recording in the store. */
export const storeKeyOf = (account: string, id: string, isEncrypted: boolean): string =>
  `recordings/${account}/${id}.wav${isEncrypted ? encryptedSuffix : ''}`

export type RecordingDeps = RecordingStorage & {
  readonly db: Db
  readonly config: RecordingStorage['config'] & Pick<Config, 'recordingDays'>
  readonly linkOf: RecordingLink
  /** Returns the link to a recording. */
  readonly urlOfRecording: (account: string, recording: string) => string
  readonly store: FileStore | null
  /** Called with the error of a step that will be retried. */
  failed(error: unknown): void
}

const zeroUuid = '00000000-0000-0000-0000-000000000000'

/** Assigns this folder's id to its recordings from before folders had ids. */
export const assignFolderId = async ({ db, config }: RecordingDeps): Promise<void> => {
  let last = { account_id: zeroUuid, id: zeroUuid }
  for (;;) {
    const homeless = await db.many<typeof last>`
      select account_id, id from call_recordings
      where home is null and kept <> 'store' and (account_id, id) > (${last.account_id}, ${last.id})
      order by account_id, id limit ${uploadBatchSize}`
    for (const { account_id: account, id } of homeless)
      if (await fileExists(fileOf(config, account, id)))
        await db.run`
          update call_recordings set home = ${await ensureFolderId(config)}
          where account_id = ${account} and id = ${id} and home is null`
    const end = homeless.at(-1)
    if (!end) return
    last = end
  }
}

type UnfinishedRecording = { account_id: string; id: string; call_id: string; is_hopeless: boolean }

/** Returns unfinished recordings of ended calls, least recently tried first. */
const claimUnfinished = (db: Db, home: string | null) => db.many<UnfinishedRecording>`
  update call_recordings set tried_at = now()
  where (account_id, id) in (
    select r.account_id, r.id
    from call_recordings r join calls c on c.account_id = r.account_id and c.id = r.call_id
    where r.ready_at is null and c.ended_at < app_now() - interval '5 seconds'
      and (r.home = ${home} or c.answered_at is null)
    order by r.tried_at nulls first, r.created_at limit 20)
  returning account_id, id, call_id, created_at < app_now() - interval '1 day' or not exists (
    select from calls c
    where c.account_id = call_recordings.account_id and c.id = call_recordings.call_id and c.answered_at is not null
  ) as is_hopeless`

const isOpen = (path: string): Promise<boolean> =>
  stat(path).then(
    ({ mtimeMs }) => Date.now() - mtimeMs < minIdleRecordingMs,
    () => false,
  )

type RepairResult = { readonly recording: MediaRecording | null; readonly isEncrypted: boolean }

/** Repairs a recording, and encrypts it if the setting requires it. @throws Error if encryption fails */
const repairAndEncrypt = async (deps: RecordingDeps, account: string, id: string): Promise<RepairResult> => {
  const recording = await repairRecording(fileOf(deps.config, account, id))
  if (recording) {
    await removePartialFiles(deps, account, id)
    return { recording, isEncrypted: await encrypt(deps, account, id) }
  }
  // A crash came between the encryption and its commit.
  const left = await openEncryptedLeft(deps, account, id)
  return { recording: left && (await summariseRecording(left)), isEncrypted: left !== null }
}

/**
 * Repairs recordings that killed processes left, and publishes them, as the end of the call was published without them.
 * Recordings without a file are given up after a day; those of unanswered calls at once.
 */
export const repairRecordings = async (deps: RecordingDeps): Promise<void> => {
  const { db, config, linkOf, urlOfRecording, failed } = deps
  const unfinished = await claimUnfinished(db, await folderIdOf(config))
  for (const { account_id: account, id, call_id: call, is_hopeless } of unfinished) {
    const path = fileOf(config, account, id)
    if (await isOpen(path)) continue
    const repaired = await repairAndEncrypt(deps, account, id).catch(failed)
    if (!repaired || (!repaired.recording && !is_hopeless)) continue
    const { recording, isEncrypted } = repaired
    await db.begin(async (tx) => {
      if (!(await completeRecording(tx, account, id, recording, isEncrypted)) || !recording) return
      await recordingReady(tx, account, call, linkOf)
      const ready = { id, seconds: recording.seconds, url: urlOfRecording(account, id) }
      await publishRecordingsReady(tx, account, call, [ready])
      await reportRecording(tx, account, call, ready)
    })
  }
}

type CompleteRecording = {
  account_id: string
  id: string
  kept: 'disk' | 'both'
  bytes: number
  sha256: string
  encrypted: boolean
}

/** Returns the recording that has waited longest for its upload. Failed uploads are retried after ten minutes. */
const claimNextUpload = (db: Db, home: string | null) => db.maybe<CompleteRecording>`
  update call_recordings set tried_at = now()
  where (account_id, id) = (
    select account_id, id from call_recordings
    where ready_at is not null and kept <> 'store' and (tried_at is null or tried_at < now() - interval '10 minutes')
      and home = ${home}
    order by tried_at nulls first limit 1 for update skip locked)
  returning account_id, id, kept, bytes, sha256, encrypted`

/** Returns the number of complete recordings that are not in the store, up to 100,000. */
export const countWaiting = async (db: Db): Promise<number> =>
  (
    await db.one<{ waiting: number }>`
      select count(*)::integer as waiting from (
        select from call_recordings where ready_at is not null and kept <> 'store'
        order by tried_at nulls first limit 100000) w`
  ).waiting

/** Uploads a recording. Each step is committed before the next one, so that a crash neither loses nor leaks a file. */
const uploadRecording = async (
  { db, config }: RecordingDeps,
  store: FileStore,
  { account_id: account, id, kept, bytes, sha256, encrypted }: CompleteRecording,
  signal: AbortSignal,
) => {
  const path = fileOf(config, account, id) + (encrypted ? encryptedSuffix : '')
  const key = storeKeyOf(account, id, encrypted)
  if (kept === 'disk') {
    // Deleted by hand.
    if (!(await fileExists(path))) return
    const file = encrypted ? await localFile(path) : { path, size: bytes, digest: Buffer.from(sha256, 'hex') }
    await store.put(key, file, encrypted ? 'application/octet-stream' : 'audio/wav', signal)
    const known = await db.run`
      update call_recordings set kept = 'both'
      where account_id = ${account} and id = ${id} and sha256 = ${sha256}`
    // The recording expired or grew meanwhile.
    if (known === 0) return await store.delete(key)
  }
  await rm(path, { force: true })
  await db.run`update call_recordings set kept = 'store' where account_id = ${account} and id = ${id}`
}

/** Uploads complete recordings until none is left or the store fails. */
export const uploadRecordings = async (deps: RecordingDeps, signal: AbortSignal): Promise<void> => {
  const { db, store, config } = deps
  if (!store) return
  const home = await folderIdOf(config)
  while (!signal.aborted) {
    const found = await claimNextUpload(db, home)
    if (!found) return
    await uploadRecording(deps, store, found, signal)
  }
}

type ExpiredRecording = {
  account_id: string
  id: string
  call_id: string
  kept: 'disk' | 'both' | 'store'
  encrypted: boolean
}

const deleteRecording = async (
  { db, config, store }: RecordingDeps,
  { account_id: account, id, call_id: call, kept, encrypted }: ExpiredRecording,
  signal: AbortSignal,
): Promise<void> => {
  // The file first: a row without a file is retried, a file without a row would stay forever.
  for (const ending of ['', encryptedSuffix]) await rm(fileOf(config, account, id) + ending, { force: true })
  // Includes uploads that were not committed because of a crash. Files in a store that the setting no longer names are
  // unavailable, and their deletion is up to the store's owner.
  await store?.delete(storeKeyOf(account, id, encrypted), signal)
  await db.begin(async (tx) => {
    const gone = await tx.run`
      delete from call_recordings where account_id = ${account} and id = ${id} and kept = ${kept}`
    // Uploaded meanwhile: the next run deletes the object in the store.
    if (gone === 0) return
    // The lock first: another process may delete or complete another recording of the call, which the next statement sees.
    await tx.run`select from calls where account_id = ${account} and id = ${call} for update`
    await tx.run`
      update calls set recorded_at = null where account_id = ${account} and id = ${call} and not exists (
        select from call_recordings where account_id = ${account} and call_id = ${call} and ready_at is not null)`
  })
}

/** Deletes expired recordings: files on the machine that has them, objects of the store on any machine. */
export const deleteExpired = async (deps: RecordingDeps, signal: AbortSignal): Promise<void> => {
  if (signal.aborted) return
  const { db, config, failed } = deps
  const old = await db.many<ExpiredRecording>`
    update call_recordings set tried_at = now()
    where (account_id, id) in (
      select account_id, id from call_recordings
      where ready_at < app_now() - make_interval(days => ${config.recordingDays})
        and (home = ${await folderIdOf(config)} or kept = 'store')
      order by tried_at nulls first, ready_at limit ${uploadBatchSize})
    returning account_id, id, call_id, kept, encrypted`
  let failures = 0
  for (const one of old) {
    if (failures >= maxUploadFailures || signal.aborted) return
    try {
      await deleteRecording(deps, one, signal)
      failures = 0
    } catch (error) {
      failures++
      if (!signal.aborted) failed(error)
    }
  }
}

/** Intervals in ms of repair, upload and deletion by age. */
const [repairMs, moveMs, forgetMs] = [5_000, 5_000, 600_000]

/** Starts repair, upload and deletion. @returns a handle to stop them; the next start retries an aborted upload */
export const startRecordingTasks = (deps: RecordingDeps): { end(): Promise<void> } => {
  const leaving = new AbortController()
  let isSearched = false
  const repair = async () => {
    if (!isSearched) await assignFolderId(deps)
    isSearched = true
    await repairRecordings(deps)
  }
  const ticks = [
    tick(repairMs, repair, deps.failed),
    tick(moveMs, () => uploadRecordings(deps, leaving.signal), deps.failed),
    tick(forgetMs, () => deleteExpired(deps, leaving.signal), deps.failed),
  ]
  return {
    end: async () => {
      leaving.abort()
      await Promise.all(ticks.map((one) => one.end()))
    },
  }
}
