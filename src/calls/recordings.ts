import { mkdir } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import type { Config } from '../config.ts'
import type { MediaRecording } from '../connectors/port.ts'
import type { VoicePlaced } from '../connectors/voice-port.ts'
import type { Db, Tx } from '../db/sql.ts'

/**
 * The file of a recording while it is made: in the folder of files of messages where that is one, else in the home of the
 * platform, also when it is to move into a store afterwards.
 */
export const fileOf = (
  { home, mediaStore }: Pick<Config, 'home' | 'mediaStore'>,
  account: string,
  call: string,
): string => {
  const folder = mediaStore === null || mediaStore.startsWith('s3://') ? home : mediaStore
  return join(resolve(folder), 'recordings', account, `${call}.wav`)
}

/** The switch of one call: a header of the SDK's connect. */
export const isWished = (headers: VoicePlaced['headers']): boolean =>
  Object.entries(headers).some(([name, value]) => name.toLowerCase() === 'x-record' && value.toLowerCase() === 'true')

/** Makes the folder of a recording. @returns why there is none: a call need not fail for that */
export const prepare = async (file: string): Promise<Error | null> => {
  try {
    await mkdir(dirname(file), { recursive: true, mode: 0o700 })
    return null
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error))
  }
}

/** Notes that a call is being recorded, before it is. */
export const begin = (tx: Tx, account: string, call: string) => tx.run`
  insert into call_recordings (account_id, call_id) values (${account}, ${call}) on conflict do nothing`

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
  if (known === 0) return false
  await tx.run`
    update calls set recorded_at = app_now(), updated_at = app_now() where account_id = ${account} and id = ${call}`
  return true
}

/** What can be heard. `is_new`: it may still be on its way to where others find it. */
export type Heard = { bytes: number; kept: 'disk' | 'both' | 'store'; is_new: boolean }

export const find = (db: Db, account: string, call: string) => db.maybe<Heard>`
  select bytes, kept, ready_at > app_now() - interval '10 minutes' as is_new
  from call_recordings where account_id = ${account} and call_id = ${call} and ready_at is not null`
