import { mkdir, rm } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import type { Config } from '../config.ts'
import type { MediaEngine, MediaRecording } from '../connectors/port.ts'
import type { VoicePlaced } from '../connectors/voice-port.ts'
import type { Db, Sql, Tx } from '../db/sql.ts'

type Place = Pick<Config, 'home' | 'mediaStore'>

/** The file of a recording: in the folder of files of messages where that is one, else in the home of the platform. */
export const fileOf = ({ home, mediaStore }: Place, account: string, call: string): string => {
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

/** It can be heard from now on. @param recording null: there is none */
export const finish = async (
  tx: Tx,
  account: string,
  call: string,
  recording: MediaRecording | null,
): Promise<void> => {
  if (!recording) {
    await tx.run`
      delete from call_recordings where account_id = ${account} and call_id = ${call} and ready_at is null`
    return
  }
  const { seconds, bytes, sha256 } = recording
  const known = await tx.run`
    update call_recordings set seconds = ${seconds}, bytes = ${bytes}, sha256 = ${sha256}, ready_at = app_now()
    where account_id = ${account} and call_id = ${call} and ready_at is null`
  if (known > 0)
    await tx.run`
      update calls set recorded_at = app_now(), updated_at = app_now() where account_id = ${account} and id = ${call}`
}

export const find = (db: Sql, account: string, call: string) => db.maybe<{ bytes: number }>`
  select bytes from call_recordings where account_id = ${account} and call_id = ${call} and ready_at is not null`

type Open = { account_id: string; call_id: string; is_old: boolean }

/** Of calls that have ended, and whose process could not finish them: those first that were tried least lately. */
const left = (db: Db) => db.many<Open>`
  update call_recordings set tried_at = now()
  where (account_id, call_id) in (
    select r.account_id, r.call_id
    from call_recordings r join calls c on c.account_id = r.account_id and c.id = r.call_id
    where r.ready_at is null and c.ended_at < app_now() - interval '5 seconds'
    order by r.tried_at nulls first, r.created_at limit 20)
  returning account_id, call_id, created_at < app_now() - interval '1 day' as is_old`

/** Makes what killed processes have left whole. One whose file is not here may be another machine's: it is given up after a day. */
export const repairLeft = async (db: Db, config: Place, media: Pick<MediaEngine, 'repair'>): Promise<void> => {
  for (const { account_id, call_id, is_old } of await left(db)) {
    const repaired = await media.repair(fileOf(config, account_id, call_id))
    if (repaired.outcome === 'done' || is_old)
      await db.begin((tx) => finish(tx, account_id, call_id, repaired.outcome === 'done' ? repaired.value : null))
  }
}

const forget = async (db: Db, config: Place, account: string, call: string): Promise<void> => {
  // The file first: a row without a file is tried again, a file without a row would stay for ever.
  await rm(fileOf(config, account, call), { force: true })
  await db.begin(async (tx) => {
    await tx.run`update calls set recorded_at = null where account_id = ${account} and id = ${call}`
    await tx.run`delete from call_recordings where account_id = ${account} and call_id = ${call}`
  })
}

/** Deletes recordings that are older than the setting says, on the machine that has them. @param failed is told of each that stays */
export const forgetOld = async (
  db: Db,
  config: Place & Pick<Config, 'recordingDays'>,
  failed: (error: unknown) => void,
): Promise<void> => {
  const old = await db.many<{ account_id: string; call_id: string }>`
    update call_recordings set tried_at = now()
    where (account_id, call_id) in (
      select account_id, call_id from call_recordings
      where ready_at < app_now() - make_interval(days => ${config.recordingDays})
      order by tried_at nulls first, ready_at limit 500)
    returning account_id, call_id`
  for (const { account_id, call_id } of old) await forget(db, config, account_id, call_id).catch(failed)
}
