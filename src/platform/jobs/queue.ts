import { joinJson, type Tx } from '../db/sql.ts'
import { uuid } from '../lib/id.ts'
import { contextFields } from '../lib/log-context.ts'

export type Payload = { [key: string]: unknown }

export type JobOptions = {
  /** The account that owns the job. */
  account?: string
  /**
   * Jobs of a kind with the same key run one at a time, in the order of their ids, across processes and retries. A job
   * that waits for its time or its next attempt blocks the jobs behind it.
   */
  key?: string
  /** Due time by the platform's clock. Default: now. */
  runAt?: Date
  /** A UUID version 7 that no job had before; adding the same id again has no effect. Default: a new one. */
  id?: string
}

/** Field of a payload with the id of the request that added the job. Kinds write their own fields in camelCase. */
const requestField = 'request_id'

/** Returns the payload with the request of the transaction, or of the job that runs, if it is known. */
const withCause = (tx: Tx, payload: Payload): Payload => {
  const requestId = tx.requestId ?? contextFields().request_id
  return requestId === undefined ? payload : { ...payload, [requestField]: requestId }
}

/** Returns the id of the request that added a job; null if it is unknown. */
export const requestIdOf = (payload: unknown): string | null => {
  const id = payload instanceof Object && requestField in payload ? payload[requestField] : null
  return typeof id === 'string' ? id : null
}

/** A job to add together with others of its kind. */
export type NewJob = JobOptions & { payload: Payload }

/**
 * Adds a job in the caller's transaction, and notifies this process's worker after the commit.
 *
 * A statement on a hot path may insert jobs itself: `insert into jobs (id, account_id, kind, key, payload, run_at,
 * created_at) …`, with ids from `uuid()` and both times written exactly as `(select app_now())`. As a column default,
 * or from a subquery in `from`, the function would run for each row (measured: 2.5 µs). The caller must call
 * `notify(kind)` after the commit and must not set any other column.
 * @returns the job's id
 */
export const enqueue = async (tx: Tx, kind: string, payload: Payload, options: JobOptions = {}): Promise<string> => {
  const id = options.id ?? uuid()
  await tx.run`
    insert into jobs (id, account_id, kind, key, payload, run_at, created_at)
    select ${id}::uuid, ${options.account ?? null}::uuid, ${kind}::text, ${options.key ?? null}::text, ${withCause(tx, payload)}::jsonb,
      coalesce(${options.runAt ?? null}::timestamptz, (select app_now())), (select app_now())
    on conflict (id) do nothing`
  notifyAfterCommit(tx, kind, [options])
  return id
}

/** Adds many jobs of a kind in one statement. @returns their ids, in order */
export const enqueueAll = async (tx: Tx, kind: string, jobs: readonly NewJob[]): Promise<string[]> => {
  const ids = jobs.map(({ id }) => id ?? uuid())
  await tx.run`
    insert into jobs (id, account_id, kind, key, payload, run_at, created_at)
    select j.id, j.account, ${kind}::text, j.key, j.payload::jsonb, coalesce(j.run_at, (select app_now())),
      (select app_now())
    from unnest(
      ${ids}::uuid[], ${jobs.map(({ account }) => account ?? null)}::uuid[], ${jobs.map(({ key }) => key ?? null)}::text[],
      string_to_array(${joinJson(jobs.map(({ payload }) => JSON.stringify(withCause(tx, payload))))}, chr(31)),
      ${jobs.map(({ runAt }) => runAt ?? null)}::timestamptz[]
    ) j (id, account, key, payload, run_at)
    on conflict (id) do nothing`
  notifyAfterCommit(tx, kind, jobs)
  return ids
}

/** `due`: jobs may be due. `later`: jobs are due later, which the next poll sees. `capacity`: the kind has capacity. */
export type Notice = 'due' | 'later' | 'capacity'
type Listener = (notice: Notice) => void
const listeners = new Map<string, Set<Listener>>()
const sharedListeners = new Set<(isRunHere: boolean) => void>()

const publish = (kind: string, notice: Notice): void => {
  const effects = listeners.get(kind)
  for (const effect of effects ?? []) effect(notice)
  for (const effect of sharedListeners) effect(Boolean(effects?.size))
}

const notifyAfterCommit = (tx: Tx, kind: string, jobs: readonly JobOptions[]) => {
  const isDue = jobs.some(({ runAt }) => !runAt || runAt.getTime() <= Date.now())
  if (jobs.length > 0) tx.afterCommit(() => publish(kind, isDue ? 'due' : 'later'))
}

/** Notifies the workers of this process that jobs of a kind may be due. A hint: workers also poll. */
export const notify = (kind: string): void => publish(kind, 'due')

/** Notifies the workers of this process that a kind has capacity again (job-kind.ts). Also a hint. */
export const notifyCapacity = (kind: string): void => {
  for (const effect of listeners.get(kind) ?? []) effect('capacity')
}

/** Calls `effect` on every notification of the kind. @returns a function that unsubscribes */
export const onNotify = (kind: string, effect: Listener): (() => void) => {
  const effects = listeners.get(kind) ?? new Set()
  listeners.set(kind, effects.add(effect))
  return () => effects.delete(effect)
}

/**
 * Calls `effect` when jobs were added. `isRunHere`: a worker of this process runs their kind, and others may help.
 * @returns a function that unsubscribes
 */
export const onJobsAdded = (effect: (isRunHere: boolean) => void): (() => void) => {
  sharedListeners.add(effect)
  return () => sharedListeners.delete(effect)
}

const pollListeners = new Set<() => void>()

/** Makes the workers of this process poll now, and wakes the others: jobs of any kind may be due, or free of another. */
export const requestPoll = (): void => {
  for (const effect of pollListeners) effect()
  for (const effect of sharedListeners) effect(pollListeners.size > 0)
}

/** Calls `effect` when a poll is requested. @returns a function that unsubscribes */
export const onPollRequest = (effect: () => void): (() => void) => {
  pollListeners.add(effect)
  return () => pollListeners.delete(effect)
}
