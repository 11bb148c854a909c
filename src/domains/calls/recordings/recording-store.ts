import { makeConditions } from '../../../platform/db/conditions.ts'
import { byTimeAndId, exactTime, type ListPage, makeListQuery } from '../../../platform/db/list-query.ts'
import type { Sql, Tx } from '../../../platform/db/sql.ts'

/**
 * How a recording began: by a verb of a program, by a `dial` that is recorded, by the request that made the call (`order`), by
 * a request during it (`command`), or for the whole `call` by a setting or by the telephone of a user.
 */
export type RecordingSource = 'record' | 'record_call' | 'dial' | 'order' | 'command' | 'call'

/** A recording. `ready_at`: null while it is made. */
export type RecordingRow = {
  id: string
  account_id: string
  call_id: string
  /** Null for one from before sources were stored. */
  source: RecordingSource | null
  seconds: string | null
  /** Known once it is ready. */
  channels: 1 | 2
  created_at: Date
  ready_at: Date | null
}

/** A deleted recording: its file is removed as that of an expired one. */
const isLeft = `ready_at > 'epoch'`

export const findRecordingRow = (sql: Sql, account: string, id: string) => sql.maybe<RecordingRow>`
  select id, account_id, call_id, source, seconds, channels, created_at, ready_at from call_recordings
  where account_id = ${account} and id = ${id} and (ready_at is null or ready_at > 'epoch')`

/** Returns the newest recording of a call that is being made. */
export const findRecordingInProgress = (sql: Sql, account: string, call: string) => sql.maybe<RecordingRow>`
  select id, account_id, call_id, source, seconds, channels, created_at, ready_at from call_recordings
  where account_id = ${account} and call_id = ${call} and ready_at is null order by created_at desc, id desc limit 1`

const byTime = { table: 'call_recordings', key: byTimeAndId(), isNewestFirst: true }

/** Returns a page of the complete recordings of an account, newest first. @param call of one call alone */
export const pageOfRecordings = (
  sql: Sql,
  account: string,
  { call, since }: { readonly call: string | null; readonly since: Date | null },
  at: ListPage,
) => {
  const conditions = makeConditions()
  conditions.add('account_id = ?', account)
  conditions.add('call_id = ?', call)
  conditions.add('created_at >= ?', since)
  conditions.push(isLeft)
  const { text, values } = makeListQuery(byTime, conditions, []).page(
    `id, account_id, call_id, source, seconds, channels, created_at, ready_at, ${exactTime('created_at')} as at`,
    at,
  )
  return sql.raw<RecordingRow & { at: string }>(text, values)
}

/**
 * Deletes a complete recording: it is not found from then on, and the process that has its file removes it.
 * @returns false if there is none
 */
export const removeRecording = async (tx: Tx, account: string, id: string): Promise<boolean> => {
  const removed = await tx.maybe<{ call_id: string }>`
    update call_recordings set ready_at = 'epoch', tried_at = null
    where account_id = ${account} and id = ${id} and ready_at > 'epoch'
    returning call_id`
  if (!removed) return false
  // The lock first: another process may complete another recording of the call, which the next statement sees.
  await tx.run`select from calls where account_id = ${account} and id = ${removed.call_id} for update`
  await tx.run`
    update calls set recorded_at = null where account_id = ${account} and id = ${removed.call_id} and not exists (
      select from call_recordings where account_id = ${account} and call_id = ${removed.call_id} and ready_at > 'epoch')`
  return true
}
