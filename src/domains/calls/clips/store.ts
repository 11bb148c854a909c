import { makeConditions } from '../../../platform/db/conditions.ts'
import { byTimeAndId, countRows, exactTime, type ListPage, makeListQuery } from '../../../platform/db/list-query.ts'
import type { Sql, Tx } from '../../../platform/db/sql.ts'

/** `media_id`: the file, a row of the media store. `seconds`: null for MP3. */
export type ClipRow = {
  account_id: string
  id: string
  name: string
  media_id: string
  media_type: 'audio/wav' | 'audio/mpeg'
  size: number
  seconds: number | null
  created_at: Date
}

/** Counts the clips of an account. Locks the account, so that concurrent uploads cannot exceed the limit. */
export const countLocked = async (tx: Tx, account: string): Promise<number> => {
  await tx.run`select from accounts where id = ${account} for no key update`
  const { count } = await tx.one<{ count: number }>`
    select count(*)::integer as count from call_clips where account_id = ${account}`
  return count
}

export const add = (tx: Tx, c: Omit<ClipRow, 'created_at'>) => tx.one<ClipRow>`
  insert into call_clips (account_id, id, name, media_id, media_type, size, seconds)
  values (${c.account_id}, ${c.id}, ${c.name}, ${c.media_id}, ${c.media_type}, ${c.size}, ${c.seconds}) returning *`

export const find = (sql: Sql, account: string, id: string) => sql.maybe<ClipRow>`
  select * from call_clips where account_id = ${account} and id = ${id}`

/** Deletes a clip. @returns its file, or null if there is none */
export const remove = (tx: Tx, account: string, id: string) => tx.maybe<{ media_id: string }>`
  delete from call_clips where account_id = ${account} and id = ${id} returning media_id`

const clipsOf = (account: string) => {
  const conditions = makeConditions()
  conditions.add('account_id = ?', account)
  return makeListQuery({ table: 'call_clips', key: byTimeAndId(), isNewestFirst: true }, conditions)
}

/** Returns a page of clips, newest first. */
export const page = (sql: Sql, account: string, at: ListPage) => {
  const { text, values } = clipsOf(account).page(`*, ${exactTime('created_at')} as at`, at)
  return sql.raw<ClipRow & { at: string }>(text, values)
}

export const total = (sql: Sql, account: string) => countRows(sql, clipsOf(account).total())
