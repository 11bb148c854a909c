import { makeConditions } from '../db/conditions.ts'
import { exactTime, type ListPage, makeListQuery } from '../db/list-query.ts'
import type { Sql, Tx } from '../db/sql.ts'
import { notify } from './queue.ts'

/** A permanently failed job. */
export type DeadJob = {
  id: string
  account_id: string | null
  kind: string
  /** JSON, truncated. */
  payload: string
  attempts: number
  created_at: Date
  last_error: string | null
  /** With microseconds. */
  died_at: string
  /** The failure took effect (`onDiscard`): the job must not run again. */
  is_settled: boolean
}

/**
 * Lists permanently failed jobs, newest first.
 * @param characters of each payload
 */
export const listDeadJobs = (
  sql: Sql,
  { kind, account }: { readonly kind: string | null; readonly account: string | null },
  at: ListPage,
  characters: number,
): Promise<DeadJob[]> => {
  const filters = makeConditions()
  filters.add('kind = ?', kind)
  filters.add('account_id = ?', account)
  const key = [
    { name: 'died_at', type: 'timestamptz' },
    { name: 'id', type: 'uuid' },
  ] as const
  const { text, values } = makeListQuery({ table: 'dead_jobs', key, isNewestFirst: true }, filters).page('*', at)
  return sql.raw<DeadJob>(
    `select id, account_id, kind, left(payload::text, ${characters}) as payload, attempts, created_at, last_error,
       ${exactTime('d.died_at')} as died_at, is_settled
     from (${text}) d order by d.died_at desc, d.id desc`,
    values,
  )
}

/** Locks a dead job. */
export const lockDeadJob = (tx: Tx, id: string) =>
  tx.maybe<Pick<DeadJob, 'account_id' | 'kind' | 'is_settled'>>`
    select account_id, kind, is_settled from dead_jobs where id = ${id} for update`

/** One dead job, or the oldest of a kind: at most this number. */
type Selection = { readonly id: string } | { readonly kind: string; readonly limit: number }

/** Deletes dead jobs. @returns the number of deleted jobs */
export const deleteDeadJobs = (tx: Tx, which: Selection): Promise<number> =>
  'id' in which
    ? tx.run`delete from dead_jobs where id = ${which.id}`
    : tx.run`
      delete from dead_jobs where id in (
        select id from dead_jobs where kind = ${which.kind} order by died_at, id limit ${which.limit})`

/**
 * Returns dead jobs that are not settled to the queue, due at once and with all their attempts. Their fences go on, so
 * that a former run cannot end them.
 * @returns the number of requeued jobs
 */
export const requeueDeadJobs = async (tx: Tx, which: Selection): Promise<number> => {
  const [id, kind, limit] = 'id' in which ? [which.id, null, 1] : [null, which.kind, which.limit]
  const rows = await tx.many<{ kind: string }>`
    with chosen as materialized (
      (select id from dead_jobs where id = ${id}::uuid and not is_settled)
      union all
      (select id from dead_jobs where kind = ${kind}::text and not is_settled order by died_at, id limit ${limit}::integer)
    ), requeued as (delete from dead_jobs d using chosen c where d.id = c.id returning d.*)
    insert into jobs (id, account_id, kind, key, payload, run_at, fence, created_at, last_error)
    select id, account_id, kind, key, payload, (select app_now()), fence, created_at, last_error from requeued
    on conflict (id) do nothing
    returning kind`
  for (const one of new Set(rows.map((row) => row.kind))) tx.afterCommit(() => notify(one))
  return rows.length
}

/** Limits of the table of dead jobs. */
export type DeadJobLimits = {
  /** Days after which a job is deleted whose failure took effect. */
  readonly settledDays: number
  /** The same for the others. */
  readonly openDays: number
  readonly perKind: number
  /** Jobs that one run deletes at most, of each kind and reason. */
  readonly batch: number
}

/** Deleted dead jobs of one kind. `age`: too old. `number`: too many of their kind. */
export type DroppedJobs = { kind: string; reason: 'age' | 'number'; is_settled: boolean; count: number }

/**
 * Deletes dead jobs that are too old, and those of a kind that has too many: the oldest first, of the accounts that have
 * most of them.
 */
export const dropDeadJobs = (tx: Tx, limits: DeadJobLimits): Promise<DroppedJobs[]> => {
  const { settledDays, openDays, perKind, batch } = limits
  return tx.many<DroppedJobs>`
    with recursive kinds as (
      (select kind from dead_jobs order by kind limit 1)
      union all
      select (select d.kind from dead_jobs d where d.kind > k.kind order by d.kind limit 1) from kinds k where k.kind is not null
    ), old as materialized (
      (select id, 'age' as reason from dead_jobs
        where is_settled and died_at < app_now() - make_interval(days => ${settledDays}) order by died_at limit ${batch}::integer)
      union all
      (select id, 'age' from dead_jobs
        where not is_settled and died_at < app_now() - make_interval(days => ${openDays}) order by died_at limit ${batch}::integer)
    ), excess as materialized (
      select e.id, 'number' as reason from kinds k
      cross join lateral (
        select count(*) - ${perKind}::integer as jobs
        from (
          select from dead_jobs where kind = k.kind order by died_at desc, id desc
          limit ${perKind}::integer + ${batch}::integer) counted) n
      cross join lateral (
        select r.id from (
          select o.id, o.died_at, row_number() over (partition by o.account_id order by o.died_at desc, o.id desc) as place
          from (
            select id, account_id, died_at from dead_jobs where kind = k.kind and n.jobs > 0
            order by died_at, id limit ${perKind}::integer + ${batch}::integer) o) r
        order by r.place desc, r.died_at, r.id limit greatest(0, n.jobs)) e
      where k.kind is not null
    ), dropped as (
      delete from dead_jobs d using (select id, min(reason) as reason from (
        select * from old union all select * from excess) both_reasons group by id) g
      where d.id = g.id returning d.kind, g.reason, d.is_settled
    )
    select kind, reason, is_settled, count(*)::integer as count from dropped
    group by kind, reason, is_settled order by kind, reason, is_settled`
}
