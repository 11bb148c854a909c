import { hash } from 'node:crypto'
import type { Db, Tx } from '../db/sql.ts'
import { enqueue, type Payload } from '../jobs/queue.ts'
import { tick } from '../jobs/tick.ts'
import { uuid } from '../lib/id.ts'
import * as store from './store.ts'

/** The kind of the jobs of a connection: whatever is asked of its network. */
export const kindOf = (connection: string): string => `msgapp:${connection}`

/** Something asked of a network on behalf of a channel; `act` is one of acts.ts. */
export type Ask = {
  readonly account: string
  readonly connection: string
  readonly channel: string
  readonly act: string
  readonly payload?: Payload
  /** Acts with the same key happen one after the other. */
  readonly key?: string
  /** It is not done at all once so much has passed, by the real clock: whoever asked has gone. */
  readonly milliseconds?: number
  /** Not before this time, by the platform's clock. */
  readonly runAt?: Date
  readonly id?: string
}

/** What a job of a connection carries. */
export type Asked<P = Payload> = P & { readonly act: string; readonly channel: string; readonly until?: number }

/** Asks in the transaction of the cause. @returns the job's id, by which `answered` waits */
export const ask = (tx: Tx, { account, connection, channel, act, payload, key, milliseconds, runAt, id }: Ask) =>
  enqueue(
    tx,
    kindOf(connection),
    { ...payload, act, channel, ...(milliseconds === undefined ? {} : { until: Date.now() + milliseconds }) },
    { account, id: id ?? uuid(), ...(key === undefined ? {} : { key }), ...(runAt === undefined ? {} : { runAt }) },
  )

/** The id of what a request with an Idempotency-Key asks: the same request asks for the same thing. */
export const idOf = (account: string, key: string, act: string, payload: Payload): string => {
  const hex = hash('sha256', JSON.stringify([account, key, act, payload]))
  // A UUID version 8 (RFC 9562, 5.8).
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-a${hex.slice(17, 20)}-${hex.slice(20, 32)}`
}

/** Asks for something unless it was asked, and done, before: by its id. */
export const askOnce = async (tx: Tx, asked: Ask & { readonly id: string }): Promise<string> => {
  const id = await ask(tx, asked)
  await store.withdrawAnswered(tx, id)
  return id
}

/** What became of something that was asked. `late`: it was not done in time, and never will be. */
export type Answer<V = unknown> =
  | { readonly outcome: 'done'; readonly value: V }
  | { readonly outcome: 'refused' | 'failed'; readonly reason: string }
  | { readonly outcome: 'late' }

type Waiter = (answer: Answer) => void

/** Who waits in this process, by the ids of their jobs. */
const waiting = new Map<string, Waiter>()

/** Writes down answers, in the transaction that ends their jobs, and tells those who wait here after its commit. */
export const answer = async (tx: Tx, given: readonly { id: string; answer: Answer }[]): Promise<void> => {
  if (given.length === 0) return
  await store.addAnswers(tx, given)
  tx.afterCommit(() => {
    for (const one of given) waiting.get(one.id)?.(one.answer)
  })
}

/** How often answers that another process writes are looked for, milliseconds: once for all who wait. */
const every = 150

const lookers = new WeakMap<Db, { end(): Promise<void> }>()

const look = async (db: Db): Promise<void> => {
  if (waiting.size === 0) {
    const looker = lookers.get(db)
    lookers.delete(db)
    // It ends after this run, which waits for it.
    void looker?.end()
    return
  }
  // Every answer is of the shape that `answer` writes.
  for (const row of await store.answers(db, [...waiting.keys()])) waiting.get(row.id)?.(row.answer as Answer)
}

/** Waits for the answer to what was asked and committed. @returns null when there is none after so many milliseconds */
export const answered = async <V>(db: Db, id: string, milliseconds: number): Promise<Answer<V> | null> => {
  const { promise, resolve } = Promise.withResolvers<Answer<V> | null>()
  // The act's own file says what its answers hold.
  waiting.set(id, (answer) => resolve(answer as Answer<V>))
  const timer = setTimeout(() => resolve(null), milliseconds)
  if (!lookers.has(db))
    lookers.set(
      db,
      tick(
        every,
        () => look(db),
        () => {},
      ),
    )
  // It may have come before we waited; a database that is away is asked again by the looker.
  await look(db).catch(() => {})
  try {
    return await promise
  } finally {
    clearTimeout(timer)
    waiting.delete(id)
  }
}
