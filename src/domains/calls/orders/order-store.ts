import type { Db, Sql, Tx } from '../../../platform/db/sql.ts'
import type { CallOrder } from '../programs/program-source.ts'
import type { CallKey, CallRow } from '../store.ts'

// Calls that wait to be placed. Those of the API have a program and a time at which they are due; verification calls have
// neither, and are due at once.

/** Returns how many calls of an account wait, and in how many milliseconds a further one is due. The caller holds the
 *  account's row of `call_usage`. */
export const queueOf = (tx: Tx, account: string, perSecond: number) => tx.one<{ waiting: number; due_ms: number }>`
  select count(*)::integer as waiting,
    coalesce(greatest(0, ceil(extract(epoch from max(due_at) - app_now()) * 1000) + ceil(1000.0 / ${perSecond}::integer)), 0)::integer as due_ms
  from calls where account_id = ${account} and queued and ended_at is null and due_at is not null`

/** Stores what a queued call runs, and when it is due. */
export const setOrder = (
  tx: Tx,
  account: string,
  id: string,
  { program, callbacks, placing, tags }: CallOrder,
  dueMs: number,
) => tx.one<CallRow>`
  update calls set program = ${JSON.stringify(program)}::text::jsonb, placement = ${JSON.stringify(placing)}::text::jsonb,
    callbacks = ${callbacks === null ? null : JSON.stringify(callbacks)}::text::jsonb, tags = ${JSON.stringify(tags)}::text::jsonb,
    application_id = ${program.kind === 'application' ? program.application : null},
    due_at = app_now() + make_interval(secs => ${dueMs}::float8 / 1000)
  where account_id = ${account} and id = ${id}
  returning *`

export type QueuedCall = CallRow & { tags: Record<string, unknown> | null; late: boolean; blocked: boolean }

/**
 * Claims the calls that are due for placing. Those of the API begin only while their account has fewer calls than it may,
 * and not after the longest wait.
 * @param callsAtATime of accounts without a limit of their own
 * @returns `late`: waited longer than the limit; `blocked`: the account is blocked
 */
export const claimQueued = (
  db: Db,
  epoch: number,
  { maxWaitSeconds, callsAtATime, limit }: { maxWaitSeconds: number; callsAtATime: number; limit: number },
) => db.many<QueuedCall>`
  with waiting as (
    select account_id, id, due_at, coalesce(due_at, created_at) as since,
      row_number() over (partition by account_id, due_at is null order by due_at, id) as place
    from calls where queued and ended_at is null
      and (due_at is null or due_at between app_now() - make_interval(secs => ${maxWaitSeconds}) and app_now())
  ), busy as (
    select account_id, count(*) as calls from calls
    where ended_at is null and not queued and not is_msgapp and account_id in (select account_id from waiting)
    group by account_id
  ), ready as (
    select w.account_id, w.id, w.since from waiting w
    left join busy b on b.account_id = w.account_id
    left join call_limits l on l.account_id = w.account_id
    where w.due_at is null or w.place <= coalesce(l.calls_at_a_time, ${callsAtATime}::integer) - coalesce(b.calls, 0)
    order by w.since, w.id limit ${limit}
  ), claimed as (
    update calls c set queued = false, epoch = ${epoch}, beat_at = app_now(), alive_at = now()
    from ready r
    where c.account_id = r.account_id and c.id = r.id and c.queued and c.ended_at is null
    returning c.*, r.since)
  select c.*, c.since < app_now() - make_interval(secs => ${maxWaitSeconds}) as late,
    exists (select from accounts a where a.id = c.account_id and a.blocked) as blocked
  from claimed c order by c.since, c.id`

/** Returns in how many milliseconds the next waiting call is due, at most 0 if one waits for others to end; or null. */
export const nextDue = async (db: Db, maxWaitSeconds: number): Promise<number | null> =>
  (
    await db.one<{ ms: number | null }>`
      select (extract(epoch from min(due_at) - app_now()) * 1000)::float8 as ms
      from calls where queued and ended_at is null and due_at > app_now() - make_interval(secs => ${maxWaitSeconds})`
  ).ms

/** Condition of a schedule: a call was due for placing some seconds ago. */
export const hasExpired = (maxWaitSeconds: number) =>
  `exists (select from calls where queued and ended_at is null
    and coalesce(due_at, created_at) < app.now - make_interval(secs => ${maxWaitSeconds}))`

/** Returns calls that no process placed in time. */
export const lockExpired = (tx: Tx, limit: number, maxWaitSeconds: number) => tx.many<CallKey & { is_order: boolean }>`
  select account_id, id, program is not null as is_order from calls
  where queued and ended_at is null and coalesce(due_at, created_at) < app_now() - make_interval(secs => ${maxWaitSeconds})
  order by created_at limit ${limit} for update skip locked`

/** Returns the data of a call that its callbacks and its program carry. */
export const findTags = async (sql: Sql, account: string, id: string): Promise<Record<string, unknown>> =>
  (
    await sql.maybe<{ tags: Record<string, unknown> | null }>`
      select tags from calls where account_id = ${account} and id = ${id}`
  )?.tags ?? {}

/** Adds to the tags of a call. */
export const addTags = (tx: Sql, account: string, id: string, data: object) => tx.run`
  update calls set tags = coalesce(tags, '{}') || ${JSON.stringify(data)}::text::jsonb
  where account_id = ${account} and id = ${id}`
