import type { Tx } from '../db/sql.ts'
import { uuid } from '../lib/id.ts'

export type Payload = { [key: string]: unknown }

export type JobOptions = {
  /** The account on whose behalf it runs. */
  account?: string
  /**
   * Jobs of a kind with the same key run one after the other, in the order in which they were added (that of their ids), also
   * across processes and retries: a job that waits for its time or its next attempt holds up those behind it.
   */
  key?: string
  /** By the platform's clock; now unless told. */
  runAt?: Date
  /** A UUID version 7, never used for a job before; adding the same id again does nothing. Made here unless told. */
  id?: string
}

/** A job to be added with others of its kind. */
export type NewJob = JobOptions & { payload: Payload }

/**
 * Adds a job in the transaction of the change that asks for it, and wakes this process's worker after the commit.
 *
 * A statement on a hot path may insert jobs itself: `insert into jobs (id, account_id, kind, key, payload, run_at,
 * created_at) …` with ids from `uuid()` and both times given as `(select app_now())`: in just these words, since as a column
 * default, or from a subquery in `from`, the function runs for each row (measured: 2.5 µs). It calls `wake(kind)` after the commit. All other columns must be left alone.
 * @returns the job's id
 */
export const enqueue = async (tx: Tx, kind: string, payload: Payload, options: JobOptions = {}): Promise<string> => {
  const id = options.id ?? uuid()
  await tx.run`
    insert into jobs (id, account_id, kind, key, payload, run_at, created_at)
    select ${id}::uuid, ${options.account ?? null}::uuid, ${kind}::text, ${options.key ?? null}::text, ${payload}::jsonb,
      coalesce(${options.runAt ?? null}::timestamptz, (select app_now())), (select app_now())
    on conflict (id) do nothing`
  // The worker's look at the queue finds a job that is due later in time by itself.
  if (!options.runAt || options.runAt.getTime() <= Date.now()) tx.afterCommit(() => wake(kind))
  return id
}

/** Adds many jobs of a kind by one statement. @returns their ids, in order */
export const enqueueAll = async (tx: Tx, kind: string, jobs: readonly NewJob[]): Promise<string[]> => {
  const ids = jobs.map(({ id }) => id ?? uuid())
  await tx.run`
    insert into jobs (id, account_id, kind, key, payload, run_at, created_at)
    select j.id, j.account, ${kind}::text, j.key, j.payload::jsonb, coalesce(j.run_at, (select app_now())),
      (select app_now())
    from unnest(
      ${ids}::uuid[], ${jobs.map(({ account }) => account ?? null)}::uuid[], ${jobs.map(({ key }) => key ?? null)}::text[],
      ${jobs.map(({ payload }) => JSON.stringify(payload))}::text[], ${jobs.map(({ runAt }) => runAt ?? null)}::timestamptz[]
    ) j (id, account, key, payload, run_at)
    on conflict (id) do nothing`
  if (jobs.some(({ runAt }) => !runAt || runAt.getTime() <= Date.now())) tx.afterCommit(() => wake(kind))
  return ids
}

type Sleeper = (isDue: boolean) => void
const sleepers = new Map<string, Set<Sleeper>>()

/** Tells the workers of this process that a kind may have jobs to do. A hint: without it they look twice a second. */
export const wake = (kind: string): void => {
  for (const effect of sleepers.get(kind) ?? []) effect(true)
}

/** Tells them that there is room again (kind.ts) for the jobs that they know of. A hint as well. */
export const makeRoom = (kind: string): void => {
  for (const effect of sleepers.get(kind) ?? []) effect(false)
}

/** Calls `effect` whenever the kind is woken. @returns the way to end it */
export const onWake = (kind: string, effect: Sleeper): (() => void) => {
  const effects = sleepers.get(kind) ?? new Set()
  sleepers.set(kind, effects.add(effect))
  return () => effects.delete(effect)
}
