import type { Sql, Tx } from '../db/sql.ts'
import type { Job } from './job-kind.ts'
import { notify, requestPoll } from './queue.ts'

/**
 * Makes waiting jobs due at once; running jobs are left alone.
 * @param which one job, the jobs of a key, or the jobs that wait for one of these conditions (`Snooze` in job-kind.ts)
 * @returns the number of promoted jobs
 */
export const promoteJobs = async (
  tx: Tx,
  kind: string,
  which: { id: string } | { key: string } | { waitsFor: readonly string[] },
): Promise<number> => {
  const hastened =
    'waitsFor' in which
      ? (await tx.one<{ hastened: number }>`select jobs_promote(${kind}, ${which.waitsFor}::text[]) as hastened`)
          .hastened
      : 'id' in which
        ? await tx.run`
          update jobs set run_at = (select app_now())
          where kind = ${kind} and id = ${which.id} and leased_until is null`
        : await tx.run`
          update jobs set run_at = (select app_now())
          where kind = ${kind} and key = ${which.key} and leased_until is null`
  if (hastened > 0) tx.afterCommit(() => notify(kind))
  return hastened
}

/** Queue depth of one kind. */
export type QueueDepth = {
  kind: string
  /** Due jobs, including those that wait for capacity or behind a job of the same key. */
  due: number
  /** Jobs that wait for their time or their next attempt. */
  delayed: number
  leased: number
  dead: number
  /** Seconds since the oldest due job became due; 0 if none is due. */
  oldest_seconds: number
}

/** Jobs of a kind and state that a metric counts at most. */
const maxCounted = 100_000

/**
 * Queue depths for metrics. Each kind's jobs are counted along an index, up to 100,000 in each state. Leased jobs are
 * few: the workers' capacity bounds them.
 */
export const queueDepth = (sql: Sql): Promise<QueueDepth[]> =>
  sql.many<QueueDepth>`
    with recursive waiting as (
      (select kind from jobs where leased_until is null and not parked order by kind, run_at, id limit 1)
      union all
      select (select j.kind from jobs j where j.leased_until is null and not j.parked and j.kind > w.kind
        order by j.kind, j.run_at, j.id limit 1) from waiting w where w.kind is not null
    ), parked as (
      (select kind from jobs where parked order by kind, key, id limit 1)
      union all
      select (select j.kind from jobs j where j.parked and j.kind > p.kind order by j.kind, j.key, j.id limit 1)
      from parked p where p.kind is not null
    ), dead as (
      (select kind from dead_jobs order by kind limit 1)
      union all
      select (select j.kind from dead_jobs j where j.kind > d.kind order by j.kind limit 1) from dead d where d.kind is not null
    ), held as materialized (
      select kind, count(*) as jobs from jobs where leased_until is not null group by kind
    ), known as materialized (
      select kind from waiting union select kind from parked union select kind from dead union select kind from held
    )
    select k.kind, (w.due + p.due)::integer as due, (l.delayed + p.delayed)::integer as delayed,
      coalesce((select h.jobs from held h where h.kind = k.kind), 0)::integer as leased, d.dead::integer as dead,
      coalesce(extract(epoch from (select app_now()) - least(o.run_at, p.oldest)), 0)::double precision as oldest_seconds
    from known k
    cross join lateral (
      select count(*) as due from (
        select from jobs where kind = k.kind and leased_until is null and not parked and run_at <= (select app_now())
        limit ${maxCounted}::integer) j) w
    cross join lateral (
      select count(*) as delayed from (
        select from jobs where kind = k.kind and leased_until is null and not parked and run_at > (select app_now())
        limit ${maxCounted}::integer) j) l
    cross join lateral (
      select count(*) filter (where run_at <= (select app_now())) as due,
        count(*) filter (where run_at > (select app_now())) as delayed,
        min(run_at) filter (where run_at <= (select app_now())) as oldest
      from (
        select run_at from jobs where kind = k.kind and parked and leased_until is null limit ${maxCounted}::integer) j
    ) p
    cross join lateral (
      select count(*) as dead from (
        select from dead_jobs where kind = k.kind order by died_at desc, id desc limit ${maxCounted}::integer) j) d
    left join lateral (
      select run_at from jobs
      where kind = k.kind and leased_until is null and not parked and run_at <= (select app_now())
      order by run_at, id limit 1) o on true
    where k.kind is not null
    order by k.kind`

/** Removes a job from the queue unless a worker holds it. @returns true if the job will not run */
export const cancelJob = async (tx: Tx, id: string): Promise<boolean> => {
  const isCancelled = (await tx.run`delete from jobs where id = ${id} and leased_until is null`) === 1
  // A poll unparks the jobs behind it.
  if (isCancelled) tx.afterCommit(requestPoll)
  return isCancelled
}

/** Adds fields to the payload of a job that the transaction itself added. */
export const extendPayload = (tx: Tx, id: string, fields: { readonly [name: string]: unknown }) => tx.run`
  update jobs set payload = payload || ${fields}::jsonb where id = ${id}`

/** An overdue job. `due` is its time as the database writes it, to the microsecond. */
export type OverdueJob<Payload> = Pick<Job<Payload>, 'id' | 'account' | 'payload' | 'createdAt'> & { due: string }

/**
 * Lists jobs of a kind that became due before a time and are not leased, the oldest first. The rows are not locked: a
 * worker may claim them meanwhile, which `cancelJob` reports.
 * @param after the last job of the previous page
 */
export const overdueJobs = <Payload>(
  tx: Tx,
  kind: string,
  before: Date,
  { after, limit }: { after: Pick<OverdueJob<Payload>, 'due' | 'id'> | null; limit: number },
): Promise<OverdueJob<Payload>[]> =>
  tx.many<OverdueJob<Payload>>`
    select id, account_id as account, payload, created_at as "createdAt", run_at::text as due from jobs
    where kind = ${kind} and leased_until is null and not parked and run_at < ${before}
      and (run_at, id) > (coalesce(${after?.due ?? null}::timestamptz, '-infinity'),
        coalesce(${after?.id ?? null}::uuid, '00000000-0000-0000-0000-000000000000'))
    order by run_at, id limit ${limit}`
