import type { Sql, Tx } from '../db/sql.ts'
import type { Job } from './kind.ts'
import { wake } from './queue.ts'

/** A job that was given up. */
export type DeadJob = {
  id: string
  account_id: string | null
  kind: string
  key: string | null
  payload: unknown
  attempts: number
  created_at: Date
  last_error: string | null
  died_at: Date
}

/**
 * The jobs that were given up, newest first.
 * @param before the last one of the page before
 */
export const deadJobs = (
  sql: Sql,
  { kind, before, limit = 50 }: { kind?: string; before?: Pick<DeadJob, 'died_at' | 'id'>; limit?: number } = {},
): Promise<DeadJob[]> =>
  sql.many<DeadJob>`
    select id, account_id, kind, key, payload, attempts, created_at, last_error, died_at from dead_jobs
    where (${kind ?? null}::text is null or kind = ${kind ?? null})
      and (${before?.id ?? null}::uuid is null
        or (died_at, id) < (${before?.died_at ?? null}::timestamptz, ${before?.id ?? null}::uuid))
    order by died_at desc, id desc limit ${limit}`

/** Whether a job is still to end. */
export const isQueued = async (sql: Sql, id: string): Promise<boolean> =>
  (await sql.maybe`select 1 from jobs where id = ${id}`) !== null

/**
 * Puts jobs that were given up back into the queue, due at once and with all their attempts.
 * @returns how many of them there were
 */
export const requeue = async (tx: Tx, ids: readonly string[]): Promise<number> => {
  const rows = await tx.many<{ kind: string }>`
    with risen as (delete from dead_jobs where id = any (${ids}::uuid[]) returning *)
    insert into jobs (id, account_id, kind, key, payload, run_at, fence, created_at, last_error)
    select id, account_id, kind, key, payload, (select app_now()), fence, created_at, last_error from risen
    returning kind`
  for (const kind of new Set(rows.map((row) => row.kind))) tx.afterCommit(() => wake(kind))
  return rows.length
}

/**
 * Jobs that wait for their time, or for their next attempt, come to it at once; one that runs goes on as it is.
 * @param which one job, those of a key, or those that wait for one of these (`Later` in kind.ts)
 * @returns how many there were
 */
export const hasten = async (
  tx: Tx,
  kind: string,
  which: { id: string } | { key: string } | { waitsFor: readonly string[] },
): Promise<number> => {
  const hastened =
    'waitsFor' in which
      ? (await tx.one<{ hastened: number }>`select jobs_hasten(${kind}, ${which.waitsFor}::text[]) as hastened`)
          .hastened
      : 'id' in which
        ? await tx.run`
          update jobs set run_at = (select app_now())
          where kind = ${kind} and id = ${which.id} and leased_until is null`
        : await tx.run`
          update jobs set run_at = (select app_now())
          where kind = ${kind} and key = ${which.key} and leased_until is null`
  if (hastened > 0) tx.afterCommit(() => wake(kind))
  return hastened
}

/** Forgets jobs that were given up before this time. @returns how many */
export const forgetDeadJobs = (sql: Sql, before: Date): Promise<number> =>
  sql.run`delete from dead_jobs where died_at < ${before}`

/** How things stand with one kind. */
export type Depth = {
  kind: string
  /** May start now, but for room, or for a job of the same key before them. */
  due: number
  /** Wait for their time, or for their next attempt. */
  delayed: number
  leased: number
  dead: number
  /** Seconds since the oldest due job was due; 0 without one. */
  oldest_seconds: number
}

/** For metrics. Reads the whole queue (about 0.2 s for 600,000 jobs): ask at most every few seconds. */
export const queueDepth = (sql: Sql): Promise<Depth[]> =>
  sql.many<Depth>`
    select kind, sum(due)::integer as due, sum(delayed)::integer as delayed, sum(leased)::integer as leased,
      sum(dead)::integer as dead, coalesce(max(oldest_seconds), 0)::double precision as oldest_seconds
    from (
      select kind,
        count(*) filter (where leased_until is null and run_at <= now) as due,
        count(*) filter (where leased_until is null and run_at > now) as delayed,
        count(*) filter (where leased_until is not null) as leased,
        0 as dead,
        extract(epoch from max(now) - min(run_at) filter (where leased_until is null and run_at <= now)) as oldest_seconds
      from jobs cross join (select app_now() as now offset 0) t group by kind
      union all
      select kind, 0, 0, 0, count(*), null from dead_jobs group by kind
    ) k group by kind order by kind`

/** Takes a job out of the queue, unless a worker has it in hand. @returns true when it will not run */
export const withdraw = async (tx: Tx, id: string): Promise<boolean> =>
  (await tx.run`delete from jobs where id = ${id} and leased_until is null`) === 1

/** A job that has been due for long. `due` is its time as the database writes it, to the microsecond. */
export type LongDue<Payload> = Pick<Job<Payload>, 'id' | 'account' | 'payload' | 'createdAt'> & { due: string }

/**
 * Jobs of a kind that have been due since before a time and are in nobody's hands, the longest first. They are not locked: a
 * worker may take them meanwhile, `withdraw` says so.
 * @param after the last one of the page before
 */
export const longDue = <Payload>(
  tx: Tx,
  kind: string,
  before: Date,
  { after, limit }: { after: Pick<LongDue<Payload>, 'due' | 'id'> | null; limit: number },
): Promise<LongDue<Payload>[]> =>
  tx.many<LongDue<Payload>>`
    select id, account_id as account, payload, created_at as "createdAt", run_at::text as due from jobs
    where kind = ${kind} and leased_until is null and not parked and run_at < ${before}
      and (run_at, id) > (coalesce(${after?.due ?? null}::timestamptz, '-infinity'),
        coalesce(${after?.id ?? null}::uuid, '00000000-0000-0000-0000-000000000000'))
    order by run_at, id limit ${limit}`
