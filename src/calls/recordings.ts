import { createReadStream, createWriteStream } from 'node:fs'
import { link, mkdir, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import { basename, dirname, join, resolve } from 'node:path'
import type { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { Logger } from 'pino'
import type { Config } from '../config.ts'
import type { MediaRecording } from '../connectors/port.ts'
import type { VoiceEnd, VoicePlaced } from '../connectors/voice-port.ts'
import type { Db, Tx } from '../db/sql.ts'
import { type EncryptedFile, type FileCipher, makeFileCipher, plainSize } from '../lib/encrypted-file.ts'
import { flush, isThere, openFile, type Span } from '../lib/files.ts'
import { uuid } from '../lib/id.ts'
import type { Seal } from '../lib/secret.ts'

type Where = Pick<Config, 'home' | 'mediaStore'>

/** In the folder of files of messages where that is one, else in the home of the platform. */
const folderOf = ({ home, mediaStore }: Where): string =>
  join(resolve(mediaStore === null || mediaStore.startsWith('s3://') ? home : mediaStore), 'recordings')

/** The file of a recording while it is made, also when it is to move into a store afterwards. */
export const fileOf = (where: Where, account: string, call: string): string =>
  join(folderOf(where), account, `${call}.wav`)

/** Ends the names of recordings that are encrypted, on the disk and in the store. */
export const encryptedEnding = '.enc'

export const recordingCipher = (seal: Seal): FileCipher => makeFileCipher(seal, 'recordings')

/** Where recordings are, and how they are encrypted. */
export type Archive = { readonly config: Where & Pick<Config, 'encryptFiles'>; readonly cipher: FileCipher }

const encryptedFile = (account: string, call: string, size: number): EncryptedFile => ({
  ...{ account, size },
  place: `recordings/${account}/${call}`,
})

/** The content of an encrypted recording. @throws Unreadable when it does not open, and what `get` throws */
export const openEncrypted = (
  cipher: FileCipher,
  get: (span: Span) => Promise<Readable>,
  { account, call, bytes }: { account: string; call: string; bytes: number },
  span?: Span,
): Promise<Readable> => cipher.open(get, encryptedFile(account, call, bytes), span)

const writeEncrypted = async (cipher: FileCipher, account: string, call: string, from: string, to: string) => {
  const beside = `${to}.${uuid()}`
  const encryption = cipher.encrypt(account)
  try {
    const output = createWriteStream(beside, { flags: 'wx', mode: 0o600 })
    await pipeline(createReadStream(from), (source: AsyncIterable<Buffer>) => encryption.body(source), output)
    await encryption.finish(beside, encryptedFile(account, call, 0).place)
    await rename(beside, to)
  } catch (error) {
    await rm(beside, { force: true })
    throw error
  }
  await flush(dirname(to))
}

/**
 * Encrypts a recording that is complete, where the setting asks for it. The plain file is removed once the encrypted one is
 * durable. Repeating it changes nothing.
 * @returns whether the recording is encrypted
 */
export const encrypt = async ({ config, cipher }: Archive, account: string, call: string): Promise<boolean> => {
  const plain = fileOf(config, account, call)
  const encrypted = plain + encryptedEnding
  if (!(await isThere(plain))) return isThere(encrypted)
  if (!config.encryptFiles) {
    // A crash came between the two files, and the setting was turned off.
    await rm(encrypted, { force: true })
    return false
  }
  await writeEncrypted(cipher, account, call, plain, encrypted)
  await rm(plain)
  await flush(dirname(plain))
  return true
}

/** Encrypts the recording of a call that ends. One that cannot be encrypted now stays on the disk, and cannot be heard until it is. */
export const encryptFinished = async (
  archive: Archive & { readonly log: Pick<Logger, 'error'> },
  account: string,
  call: string,
  recording: VoiceEnd['recording'],
): Promise<(MediaRecording & { readonly isEncrypted: boolean }) | 'left' | null> => {
  if (recording === 'left' || recording === null) return recording
  try {
    return { ...recording, isEncrypted: await encrypt(archive, account, call) }
  } catch (error) {
    archive.log.error({ call, err: error }, 'recordings: encryption failed, will be retried')
    return 'left'
  }
}

/** Removes encrypted files of a recording that a crash left half-written. */
export const clearHalves = async ({ config }: Archive, account: string, call: string): Promise<void> => {
  const plain = fileOf(config, account, call)
  const beginning = `${basename(plain)}${encryptedEnding}.`
  for (const name of await readdir(dirname(plain)))
    if (name.startsWith(beginning)) await rm(join(dirname(plain), name), { force: true })
}

/** The content of a recording of which only the encrypted file is left. Null when there is none. @throws Unreadable */
export const openLeft = async (
  { config, cipher }: Archive,
  account: string,
  call: string,
): Promise<Readable | null> => {
  const path = fileOf(config, account, call) + encryptedEnding
  if (!(await isThere(path))) return null
  const bytes = plainSize((await stat(path)).size)
  return openEncrypted(cipher, (span) => openFile(path, span), { account, call, bytes })
}

const idFile = (where: Where) => join(folderOf(where), 'id')

/** The id of the folder, which tells whose recordings are here; null while it has none. @throws Error when nobody can tell */
export const homeOf = (where: Where): Promise<string | null> =>
  readFile(idFile(where), 'ascii').then(
    (text) => text.trim(),
    (error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return null
      throw error
    },
  )

/** Gives the folder an id if it has none, for good. @throws Error when it cannot be written */
export const settle = async (where: Where): Promise<string> => {
  const known = await homeOf(where)
  if (known !== null) return known
  const [file, ours] = [idFile(where), uuid()]
  await mkdir(dirname(file), { recursive: true, mode: 0o700 })
  // Written beside it first, so that nobody reads half an id; of two processes the first one's stays.
  const beside = `${file}.${ours}`
  await writeFile(beside, `${ours}\n`, { mode: 0o600 })
  await flush(beside)
  await link(beside, file).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'EEXIST') throw error
  })
  await rm(beside)
  await flush(dirname(file))
  return (await homeOf(where)) ?? ours
}

/** The switch of one call: a header of the SDK's connect. */
export const isWished = (headers: VoicePlaced['headers']): boolean =>
  Object.entries(headers).some(([name, value]) => name.toLowerCase() === 'x-record' && value.toLowerCase() === 'true')

/** Makes the folder of a recording. @returns why there is none: a call need not fail for that */
export const prepare = async (
  where: Where,
  account: string,
  call: string,
): Promise<{ file: string; home: string } | Error> => {
  const file = fileOf(where, account, call)
  try {
    const home = await settle(where)
    await mkdir(dirname(file), { recursive: true, mode: 0o700 })
    return { file, home }
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error))
  }
}

/** Notes that a call is being recorded, before it is. @param home the folder's */
export const begin = (tx: Tx, account: string, call: string, home: string) => tx.run`
  insert into call_recordings (account_id, call_id, home) values (${account}, ${call}, ${home}) on conflict do nothing`

/** It can be heard from now on. @param recording null: there is none @returns true when it could not be heard before, and can now */
export const finish = async (
  tx: Tx,
  account: string,
  call: string,
  recording: MediaRecording | null,
  isEncrypted = false,
): Promise<boolean> => {
  if (!recording) {
    await tx.run`
      delete from call_recordings where account_id = ${account} and call_id = ${call} and ready_at is null`
    return false
  }
  const { seconds, bytes, sha256 } = recording
  const known = await tx.run`
    update call_recordings set seconds = ${seconds}, bytes = ${bytes}, sha256 = ${sha256}, ready_at = app_now(),
      tried_at = null, encrypted = ${isEncrypted}
    where account_id = ${account} and call_id = ${call} and ready_at is null`
  if (known === 0) {
    // It was made whole while a process that hung had it open, which has written on. What is in the store stays as it is there.
    await tx.run`
      update call_recordings set seconds = ${seconds}, bytes = ${bytes}, sha256 = ${sha256}, encrypted = ${isEncrypted}
      where account_id = ${account} and call_id = ${call} and kept = 'disk'`
    return false
  }
  await tx.run`
    update calls set recorded_at = app_now(), updated_at = app_now() where account_id = ${account} and id = ${call}`
  return true
}

/** What can be heard. `is_new`: it may still be on its way to where others find it. */
export type Heard = { bytes: number; kept: 'disk' | 'both' | 'store'; encrypted: boolean; is_new: boolean }

export const find = (db: Db, account: string, call: string) => db.maybe<Heard>`
  select bytes, kept, encrypted, ready_at > app_now() - interval '10 minutes' as is_new
  from call_recordings where account_id = ${account} and call_id = ${call} and ready_at is not null`
