import type { Tx } from '../../../platform/db/sql.ts'
import type { ResolvedProgram } from '../programs/program.ts'

/** The receiver of the reports of a stream. `application`: whose secret signs native ones; null: that of the account. */
export type StreamCallback = {
  readonly url: string
  readonly method: 'GET' | 'POST'
  readonly shape: ResolvedProgram['shape']
  readonly application: string | null
}

/** A stream that was reported as started, and not as stopped. */
export type OpenStream = {
  readonly account_id: string
  readonly call_id: string
  readonly id: string
  readonly name: string | null
  readonly callback: StreamCallback
  readonly started_at: Date
}

/** Stores a stream whose start is reported; again has no effect. @returns 0 if its call does not exist */
export const addOpenStream = (
  tx: Tx,
  { account_id, call_id, id, name, callback }: Omit<OpenStream, 'started_at'>,
) => tx.run`
  insert into call_streams (account_id, call_id, id, name, callback)
  select account_id, id, ${id}::uuid, ${name}::text, ${JSON.stringify(callback)}::text::jsonb
  from calls where account_id = ${account_id} and id = ${call_id}
  on conflict (account_id, call_id, id) do update set name = excluded.name`

/** Whether the end of a stream is still to be reported. It is not before the end of the transaction. */
export const isOpenStream = async (tx: Tx, account: string, call: string, id: string): Promise<boolean> =>
  (await tx.maybe`
    select from call_streams where account_id = ${account} and call_id = ${call} and id = ${id} for key share`) !== null

/** @returns 0 if its end was reported before */
export const removeOpenStream = (tx: Tx, account: string, call: string, id: string) => tx.run`
  delete from call_streams where account_id = ${account} and call_id = ${call} and id = ${id}`

/** Removes the open streams of a call, and returns them in the order of their starts. */
export const takeStreamsOf = async (tx: Tx, account: string, call: string): Promise<OpenStream[]> => {
  const taken = await tx.many<OpenStream>`
    delete from call_streams where account_id = ${account} and call_id = ${call}
    returning account_id, call_id, id, name, callback, started_at`
  return taken.toSorted((a, b) => a.started_at.getTime() - b.started_at.getTime() || (a.id < b.id ? -1 : 1))
}

/** Calls that ended some seconds ago, with streams whose end was not reported. */
export const findCallsWithLeftStreams = (tx: Tx, seconds: number, limit: number) => tx.many<{
  account_id: string
  id: string
  ended_at: Date
}>`
  select distinct c.account_id, c.id, c.ended_at
  from call_streams s join calls c on c.account_id = s.account_id and c.id = s.call_id
  where c.ended_at < app_now() - make_interval(secs => ${seconds})
  limit ${limit}`

/** Condition of a schedule: as `findCallsWithLeftStreams`. */
export const hasLeftStreams = (seconds: number) =>
  `exists (select from call_streams s join calls c on c.account_id = s.account_id and c.id = s.call_id
    where c.ended_at < app.now - make_interval(secs => ${seconds}))`
