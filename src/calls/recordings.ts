import { link, mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import type { Config } from '../config.ts'
import type { MediaRecording } from '../connectors/port.ts'
import type { VoicePlaced } from '../connectors/voice-port.ts'
import type { Db, Tx } from '../db/sql.ts'
import { flush } from '../lib/files.ts'
import { uuid } from '../lib/id.ts'

type Where = Pick<Config, 'home' | 'mediaStore'>

/** In the folder of files of messages where that is one, else in the home of the platform. */
const folderOf = ({ home, mediaStore }: Where): string =>
  join(resolve(mediaStore === null || mediaStore.startsWith('s3://') ? home : mediaStore), 'recordings')

/** The file of a recording while it is made, also when it is to move into a store afterwards. */
export const fileOf = (where: Where, account: string, call: string): string =>
  join(folderOf(where), account, `${call}.wav`)

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
): Promise<boolean> => {
  if (!recording) {
    await tx.run`
      delete from call_recordings where account_id = ${account} and call_id = ${call} and ready_at is null`
    return false
  }
  const { seconds, bytes, sha256 } = recording
  const known = await tx.run`
    update call_recordings set seconds = ${seconds}, bytes = ${bytes}, sha256 = ${sha256}, ready_at = app_now(),
      tried_at = null
    where account_id = ${account} and call_id = ${call} and ready_at is null`
  if (known === 0) {
    // It was made whole while a process that hung had it open, which has written on. What is in the store stays as it is there.
    await tx.run`
      update call_recordings set seconds = ${seconds}, bytes = ${bytes}, sha256 = ${sha256}
      where account_id = ${account} and call_id = ${call} and kept = 'disk'`
    return false
  }
  await tx.run`
    update calls set recorded_at = app_now(), updated_at = app_now() where account_id = ${account} and id = ${call}`
  return true
}

/** What can be heard. `is_new`: it may still be on its way to where others find it. */
export type Heard = { bytes: number; kept: 'disk' | 'both' | 'store'; is_new: boolean }

export const find = (db: Db, account: string, call: string) => db.maybe<Heard>`
  select bytes, kept, ready_at > app_now() - interval '10 minutes' as is_new
  from call_recordings where account_id = ${account} and call_id = ${call} and ready_at is not null`
