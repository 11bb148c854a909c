import { makeConditions } from '../../platform/db/conditions.ts'
import { byTimeAndId, exactTime, type ListPage, makeListQuery } from '../../platform/db/list-query.ts'
import type { Sql, Tx } from '../../platform/db/sql.ts'
import type { CallbackEvent } from './callback-events.ts'

export type ApplicationRow = {
  account_id: string
  id: string
  name: string
  url: string
  method: 'GET' | 'POST'
  fallback_url: string | null
  fallback_method: 'GET' | 'POST'
  status_url: string | null
  status_method: 'GET' | 'POST'
  status_events: CallbackEvent[]
  /** Shape of its requests. */
  format: 'native' | 'twilio'
  timeout_seconds: number
  sealed_secret: Buffer
  created_at: Date
  updated_at: Date
}

/** Fields that a request may set. */
export type ApplicationFields = Omit<
  ApplicationRow,
  'account_id' | 'id' | 'sealed_secret' | 'created_at' | 'updated_at'
>

export const add = (
  tx: Tx,
  account: string,
  id: string,
  a: ApplicationFields,
  sealed: Buffer,
) => tx.one<ApplicationRow>`
  insert into call_applications (account_id, id, name, url, method, fallback_url, fallback_method, status_url, status_method,
    status_events, format, timeout_seconds, sealed_secret)
  values (${account}, ${id}, ${a.name}, ${a.url}, ${a.method}, ${a.fallback_url}, ${a.fallback_method}, ${a.status_url},
    ${a.status_method}, ${a.status_events}::text[], ${a.format}, ${a.timeout_seconds}, ${sealed})
  returning *`

export const change = (tx: Tx, account: string, id: string, a: ApplicationFields) => tx.one<ApplicationRow>`
  update call_applications set name = ${a.name}, url = ${a.url}, method = ${a.method}, fallback_url = ${a.fallback_url},
    fallback_method = ${a.fallback_method}, status_url = ${a.status_url}, status_method = ${a.status_method},
    status_events = ${a.status_events}::text[], format = ${a.format}, timeout_seconds = ${a.timeout_seconds},
    updated_at = app_now()
  where account_id = ${account} and id = ${id}
  returning *`

export const setSecret = (tx: Tx, account: string, id: string, sealed: Buffer) => tx.maybe<ApplicationRow>`
  update call_applications set sealed_secret = ${sealed}, updated_at = app_now()
  where account_id = ${account} and id = ${id}
  returning *`

export const remove = (tx: Tx, account: string, id: string) => tx.run`
  delete from call_applications where account_id = ${account} and id = ${id}`

export const find = (sql: Sql, account: string, id: string) => sql.maybe<ApplicationRow>`
  select * from call_applications where account_id = ${account} and id = ${id}`

export const lock = (tx: Tx, account: string, id: string) => tx.maybe<ApplicationRow>`
  select * from call_applications where account_id = ${account} and id = ${id} for update`

/** Keeps an application from being deleted until the end of the transaction. */
export const keep = (tx: Tx, account: string, id: string) => tx.maybe<Pick<ApplicationRow, 'id' | 'format'>>`
  select id, format from call_applications where account_id = ${account} and id = ${id} for share`

export const list = (sql: Sql, account: string, limit: number) => sql.many<ApplicationRow>`
  select * from call_applications where account_id = ${account} order by created_at desc, id desc limit ${limit}`

const byTime = { table: 'call_applications', key: byTimeAndId(), isNewestFirst: true }

/** Returns a page of the applications of an account, newest first. @param name the whole name; null: all */
export const page = (sql: Sql, account: string, name: string | null, at: ListPage) => {
  const conditions = makeConditions()
  conditions.add('account_id = ?', account)
  conditions.add('name = ?', name)
  const { text, values } = makeListQuery(byTime, conditions).page(`*, ${exactTime('created_at')} as at`, at)
  return sql.raw<ApplicationRow & { at: string }>(text, values)
}

/** Counts the applications of an account, and holds back others that are made meanwhile. */
export const countLocked = async (tx: Tx, account: string): Promise<number> => {
  await tx.run`select from accounts where id = ${account} for no key update`
  const { count } = await tx.one<{ count: number }>`
    select count(*)::integer as count from call_applications where account_id = ${account}`
  return count
}

/** Returns a number that runs an application; null for none. */
export const numberRunning = async (tx: Tx, account: string, application: string): Promise<string | null> =>
  (
    await tx.maybe<{ number: string }>`
      select number from virtual_numbers
      where account_id = ${account} and voice ->> 'application' = ${application} and released_at is null
      order by number limit 1`
  )?.number ?? null
