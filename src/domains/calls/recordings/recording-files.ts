import { createReadStream, createWriteStream } from 'node:fs'
import { link, mkdir, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import { basename, dirname, join, resolve } from 'node:path'
import type { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { Logger } from 'pino'
import type { Config } from '../../../config.ts'
import type { Db, Tx } from '../../../platform/db/sql.ts'
import { type EncryptedFile, type FileCipher, plainSize } from '../../../platform/lib/encrypted-file.ts'
import { type ByteRange, fileExists, openFile, syncToDisk } from '../../../platform/lib/file-store.ts'
import { uuid } from '../../../platform/lib/id.ts'
import type { MediaRecording } from '../../../ports/media.ts'
import type { VoiceEnd, VoiceOutboundCall } from '../../../ports/voice.ts'
import type { RecordingCallback } from './recording-status.ts'
import type { RecordingSource } from './recording-store.ts'

type RecordingLocation = Pick<Config, 'home' | 'mediaStore'>

/** Returns the folder of recordings: in the media folder if the setting names one, otherwise in the platform's home. */
const folderOf = ({ home, mediaStore }: RecordingLocation): string =>
  join(resolve(mediaStore === null || mediaStore.startsWith('s3://') ? home : mediaStore), 'recordings')

/**
 * Returns the path of a recording while it is written, even if it is uploaded into a store afterwards.
 * @param id of the recording, without prefix, as in every function of this file
 */
export const fileOf = (where: RecordingLocation, account: string, id: string): string =>
  join(folderOf(where), account, `${id}.wav`)

/** File name suffix of encrypted recordings, on the disk and in the store. */
export const encryptedSuffix = '.enc'

/** Location and encryption of recordings. */
export type RecordingStorage = {
  readonly config: RecordingLocation & Pick<Config, 'encryptFiles'>
  readonly cipher: FileCipher
}

const encryptedFile = (account: string, id: string, size: number): EncryptedFile => ({
  ...{ account, size },
  place: `recordings/${account}/${id}`,
})

/** Decrypts a recording. @throws Unreadable if decryption fails, and any error of `get` */
export const decryptRecording = (
  cipher: FileCipher,
  get: (span: ByteRange) => Promise<Readable>,
  { account, id, bytes }: { account: string; id: string; bytes: number },
  span?: ByteRange,
): Promise<Readable> => cipher.open(get, encryptedFile(account, id, bytes), span)

const writeEncrypted = async (cipher: FileCipher, account: string, id: string, from: string, to: string) => {
  const beside = `${to}.${uuid()}`
  const encryption = cipher.encrypt(account)
  try {
    const output = createWriteStream(beside, { flags: 'wx', mode: 0o600 })
    await pipeline(createReadStream(from), (source: AsyncIterable<Buffer>) => encryption.body(source), output)
    await encryption.finish(beside, encryptedFile(account, id, 0).place)
    await rename(beside, to)
  } catch (error) {
    await rm(beside, { force: true })
    throw error
  }
  await syncToDisk(dirname(to))
}

/**
 * Encrypts a complete recording if the setting requires it. Removes the plain file once the encrypted one is durable.
 * Idempotent.
 * @returns whether the recording is encrypted
 */
export const encrypt = async ({ config, cipher }: RecordingStorage, account: string, id: string): Promise<boolean> => {
  const plain = fileOf(config, account, id)
  const encrypted = plain + encryptedSuffix
  if (!(await fileExists(plain))) return fileExists(encrypted)
  if (!config.encryptFiles) {
    // A crash left both files, and the setting was turned off since.
    await rm(encrypted, { force: true })
    return false
  }
  await writeEncrypted(cipher, account, id, plain, encrypted)
  await rm(plain)
  await syncToDisk(dirname(plain))
  return true
}

/** A recording that is complete. */
type FinishedRecording = { readonly id: string; readonly content: MediaRecording; readonly isEncrypted: boolean }

/**
 * Encrypts the recordings of a call that ends. On failure a recording stays on the disk, unavailable until a retry
 * succeeds. @returns those that are complete
 */
export const encryptFinished = async (
  archive: RecordingStorage & { readonly log: Pick<Logger, 'error'> },
  account: string,
  begun: VoiceEnd['recordings'],
): Promise<readonly FinishedRecording[]> => {
  const finished: FinishedRecording[] = []
  for (const { id, content } of begun) {
    if (content === 'left') continue
    try {
      finished.push({ id, content, isEncrypted: await encrypt(archive, account, id) })
    } catch (error) {
      archive.log.error({ recording: id, err: error }, 'recordings: encryption failed, will be retried')
    }
  }
  return finished
}

/** Removes partly written encrypted files that a crash left. */
export const removePartialFiles = async ({ config }: RecordingStorage, account: string, id: string): Promise<void> => {
  const plain = fileOf(config, account, id)
  const beginning = `${basename(plain)}${encryptedSuffix}.`
  for (const name of await readdir(dirname(plain)))
    if (name.startsWith(beginning)) await rm(join(dirname(plain), name), { force: true })
}

/** Opens a recording of which only the encrypted file exists. Returns null if there is none. @throws Unreadable */
export const openEncryptedLeft = async (
  { config, cipher }: RecordingStorage,
  account: string,
  id: string,
): Promise<Readable | null> => {
  const path = fileOf(config, account, id) + encryptedSuffix
  if (!(await fileExists(path))) return null
  const bytes = plainSize((await stat(path)).size)
  return decryptRecording(cipher, (span) => openFile(path, span), { account, id, bytes })
}

const idFile = (where: RecordingLocation) => join(folderOf(where), 'id')

/** Returns the id of the folder, which marks its recordings; null if it has none. @throws Error if it is unreadable */
export const folderIdOf = (where: RecordingLocation): Promise<string | null> =>
  readFile(idFile(where), 'ascii').then(
    (text) => text.trim(),
    (error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return null
      throw error
    },
  )

/** Gives the folder a permanent id if it has none. @throws Error if it cannot be written */
export const ensureFolderId = async (where: RecordingLocation): Promise<string> => {
  const known = await folderIdOf(where)
  if (known !== null) return known
  const [file, ours] = [idFile(where), uuid()]
  await mkdir(dirname(file), { recursive: true, mode: 0o700 })
  // Written to another name first, so that no process reads a partial id. If two processes do this, the first id stays.
  const beside = `${file}.${ours}`
  await writeFile(beside, `${ours}\n`, { mode: 0o600 })
  await syncToDisk(beside)
  await link(beside, file).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'EEXIST') throw error
  })
  await rm(beside)
  await syncToDisk(dirname(file))
  return (await folderIdOf(where)) ?? ours
}

/** Whether the caller requests a recording by a header of the SDK's connect. */
export const isRequested = (headers: VoiceOutboundCall['headers']): boolean =>
  Object.entries(headers).some(([name, value]) => name.toLowerCase() === 'x-record' && value.toLowerCase() === 'true')

/** A recording that is about to begin. `home`: the id of its folder. */
export type NewRecording = { readonly id: string; readonly path: string; readonly home: string }

/** Makes the id and the folder of a new recording. @returns an Error on failure, as a call need not fail for that */
export const prepareRecording = async (where: RecordingLocation, account: string): Promise<NewRecording | Error> => {
  const id = uuid()
  const path = fileOf(where, account, id)
  try {
    const home = await ensureFolderId(where)
    await mkdir(dirname(path), { recursive: true, mode: 0o700 })
    return { id, path, home }
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error))
  }
}

/**
 * Stores that a call will be recorded, before the recording starts. A call may have several recordings.
 * @param callback gets the recording once it is stored
 */
export const insertRecording = (
  tx: Tx,
  account: string,
  call: string,
  { id, home }: Omit<NewRecording, 'path'>,
  source: RecordingSource,
  callback: RecordingCallback | null = null,
) => tx.run`
  insert into call_recordings (account_id, id, call_id, home, source, status_callback)
  values (${account}, ${id}, ${call}, ${home}, ${source}, ${callback && JSON.stringify(callback)}::text::jsonb)
  on conflict do nothing`

/** Forgets a recording that did not begin. */
export const forgetRecording = (tx: Tx, account: string, id: string) => tx.run`
  delete from call_recordings where account_id = ${account} and id = ${id} and ready_at is null`

/** Makes a recording available. @param content null if there is none @returns true if it became available now */
export const completeRecording = async (
  tx: Tx,
  account: string,
  id: string,
  content: MediaRecording | null,
  isEncrypted = false,
): Promise<boolean> => {
  if (!content) {
    await forgetRecording(tx, account, id)
    return false
  }
  const { seconds, bytes, sha256, channels } = content
  const completed = await tx.maybe<{ call_id: string }>`
    update call_recordings set seconds = ${seconds}, bytes = ${bytes}, sha256 = ${sha256}, channels = ${channels}, ready_at = app_now(),
      tried_at = null, encrypted = ${isEncrypted}
    where account_id = ${account} and id = ${id} and ready_at is null
    returning call_id`
  if (!completed) {
    // Repaired while a hanging process still wrote to it. A recording in the store stays unchanged.
    await tx.run`
      update call_recordings set seconds = ${seconds}, bytes = ${bytes}, sha256 = ${sha256}, channels = ${channels},
        encrypted = ${isEncrypted}
      where account_id = ${account} and id = ${id} and kept = 'disk'`
    return false
  }
  await tx.run`
    update calls set recorded_at = coalesce(recorded_at, app_now()), updated_at = app_now()
    where account_id = ${account} and id = ${completed.call_id}`
  return true
}

/** An available recording; one that was deleted has the time 0 until its file is removed. `is_new`: it may still be on its way into the store. */
export type AvailableRecording = {
  id: string
  bytes: number
  kept: 'disk' | 'both' | 'store'
  encrypted: boolean
  is_new: boolean
}

export const findRecording = (db: Db, account: string, id: string) => db.maybe<AvailableRecording>`
  select id, bytes, kept, encrypted, ready_at > app_now() - interval '10 minutes' as is_new
  from call_recordings where account_id = ${account} and id = ${id} and ready_at > 'epoch'`

/** Returns the first recording of a call that is left. */
export const findFirstRecording = (db: Db, account: string, call: string) => db.maybe<AvailableRecording>`
  select id, bytes, kept, encrypted, ready_at > app_now() - interval '10 minutes' as is_new
  from call_recordings where account_id = ${account} and call_id = ${call} and ready_at > 'epoch'
  order by created_at, id limit 1`
