import type { Sql, Tx } from '../../platform/db/sql.ts'
import { storableJson } from '../../platform/lib/storable.ts'

export type StateRow = { connection_id: string; process_id: string; process: string; state: unknown }

/** Replaces the states that a process publishes of its connections. */
export const publish = (
  db: Sql,
  { id, name }: { id: string; name: string },
  states: readonly { id: string; state: object }[],
) => db.run`
  with running as (
    select (one ->> 'id')::uuid as connection_id, one -> 'state' as state
    from jsonb_array_elements(${storableJson(states)}::jsonb) as one
  ),
  gone as (
    delete from connection_states
    where (process_id = ${id} and connection_id not in (select connection_id from running))
      or seen_at < clock_timestamp() - interval '1 hour'
  )
  insert into connection_states (connection_id, process_id, process, state)
  select connection_id, ${id}, ${name}, state from running join connections on connections.id = connection_id
  on conflict (connection_id, process_id) do update set state = excluded.state, seen_at = clock_timestamp()`

export const withdrawStates = (db: Sql, process: string) => db.run`
  delete from connection_states where process_id = ${process}`

/** @param seconds after which a silent process no longer counts */
export const states = (db: Sql, seconds: number) => db.many<StateRow>`
  select connection_id, process_id, process, state from connection_states
  where seen_at > clock_timestamp() - make_interval(secs => ${seconds})
  order by process, process_id`

export const addRequest = async (
  tx: Tx,
  row: { id: string; connection: string; request: object; seconds: number },
): Promise<void> => {
  await tx.run`delete from connection_requests where until < clock_timestamp() - interval '1 minute'`
  await tx.run`
    insert into connection_requests (id, connection_id, request, until)
    values (${row.id}, ${row.connection}, ${JSON.stringify(row.request)}::jsonb,
      clock_timestamp() + make_interval(secs => ${row.seconds}))`
}

export type RequestRow = { id: string; connection_id: string; request: unknown }

/** Returns requests that no process has taken and whose requester still waits. */
export const openRequests = (db: Sql) => db.many<RequestRow>`
  select id, connection_id, request from connection_requests where process is null and until > clock_timestamp()`

export const takeRequest = async (db: Sql, id: string, process: string): Promise<boolean> =>
  (await db.run`update connection_requests set process = ${process} where id = ${id} and process is null`) > 0

export const answerRequest = (db: Sql, id: string, value: unknown) => db.run`
  update connection_requests set answer = ${storableJson(value)}::jsonb where id = ${id}`

export const findRequest = (db: Sql, id: string) => db.maybe<{ process: string | null; answer: unknown }>`
  select process, answer from connection_requests where id = ${id}`

export const removeRequest = (db: Sql, id: string) => db.run`delete from connection_requests where id = ${id}`
