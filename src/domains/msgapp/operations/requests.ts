import { hash } from 'node:crypto'
import type { Db, Tx } from '../../../platform/db/sql.ts'
import { enqueue, type Payload } from '../../../platform/jobs/queue.ts'
import { tick } from '../../../platform/jobs/tick.ts'
import { uuid } from '../../../platform/lib/id.ts'
import { answerPollMs } from '../limits.ts'
import * as store from '../store.ts'

/** Job kind of a connection: all operations on its network. */
export const jobKindOf = (connection: string): string => `msgapp:${connection}`

/** A request for an operation on behalf of a channel; `act` is a key of operations.ts. */
export type OperationRequest = {
  readonly account: string
  readonly connection: string
  readonly channel: string
  readonly act: string
  readonly payload?: Payload
  /** Operations with the same key run one after the other. */
  readonly key?: string
  /** Timeout, by the real clock: afterwards the requester has gone, and the operation is skipped. */
  readonly milliseconds?: number
  /** Earliest start, by the platform clock. */
  readonly runAt?: Date
  readonly id?: string
}

/** Payload of a connection's jobs. */
export type OperationPayload<P = Payload> = P & {
  readonly act: string
  readonly channel: string
  readonly until?: number
}

/**
 * Requests an operation in the caller's transaction.
 * @returns the job's id, for `waitForAnswer`
 */
export const requestOperation = (
  tx: Tx,
  { account, connection, channel, act, payload, key, milliseconds, runAt, id }: OperationRequest,
) =>
  enqueue(
    tx,
    jobKindOf(connection),
    { ...payload, act, channel, ...(milliseconds === undefined ? {} : { until: Date.now() + milliseconds }) },
    { account, id: id ?? uuid(), ...(key === undefined ? {} : { key }), ...(runAt === undefined ? {} : { runAt }) },
  )

/** Derives the job's id from an Idempotency-Key: the same request gets the same id. */
export const requestIdOf = (account: string, key: string, act: string, payload: Payload): string => {
  const hex = hash('sha256', JSON.stringify([account, key, act, payload]))
  // A UUID version 8 (RFC 9562, 5.8).
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-a${hex.slice(17, 20)}-${hex.slice(20, 32)}`
}

/** Requests an operation unless one with this id was requested and completed before. */
export const requestOnce = async (tx: Tx, spec: OperationRequest & { readonly id: string }): Promise<string> => {
  const id = await requestOperation(tx, spec)
  await store.cancelAnswered(tx, id)
  return id
}

/** Result of an operation. `late`: it timed out and will not run. */
export type Answer<V = unknown> =
  | { readonly outcome: 'done'; readonly value: V }
  | { readonly outcome: 'refused' | 'failed'; readonly reason: string }
  | { readonly outcome: 'late' }

type Waiter = (answer: Answer) => void

/** Waiters in this process, by job id. */
const waiters = new Map<string, Waiter>()

/** Stores answers in the transaction that completes their jobs, and notifies local waiters after the commit. */
export const storeAnswers = async (tx: Tx, answers: readonly { id: string; answer: Answer }[]): Promise<void> => {
  if (answers.length === 0) return
  await store.addAnswers(tx, answers)
  tx.afterCommit(() => {
    for (const entry of answers) waiters.get(entry.id)?.(entry.answer)
  })
}

const pollers = new WeakMap<Db, { end(): Promise<void> }>()

const poll = async (db: Db): Promise<void> => {
  if (waiters.size === 0) {
    const looker = pollers.get(db)
    pollers.delete(db)
    // Ends after this run, which it waits for.
    void looker?.end()
    return
  }
  // Every row was written by `storeAnswers`.
  for (const row of await store.answers(db, [...waiters.keys()])) waiters.get(row.id)?.(row.answer as Answer)
}

/**
 * Waits for the answer to a committed request.
 * @returns null after the given milliseconds without an answer
 */
export const waitForAnswer = async <V>(db: Db, id: string, milliseconds: number): Promise<Answer<V> | null> => {
  const { promise, resolve } = Promise.withResolvers<Answer<V> | null>()
  // The operation's own file defines the type of its answer.
  waiters.set(id, (answer) => resolve(answer as Answer<V>))
  const timer = setTimeout(() => resolve(null), milliseconds)
  if (!pollers.has(db))
    pollers.set(
      db,
      tick(
        answerPollMs,
        () => poll(db),
        () => {},
      ),
    )
  // The answer may already be there. The poller repeats this after a database outage.
  await poll(db).catch(() => {})
  try {
    return await promise
  } finally {
    clearTimeout(timer)
    waiters.delete(id)
  }
}
