import { type Batcher, makeBatcher, Overloaded } from '../db/batch.ts'
import { type Db, isUnavailable, type Tx } from '../db/sql.ts'
import { forbidden, insufficient, unavailable } from '../http/problem.ts'
import { berthOf } from '../jobs/berth.ts'
import type { Clock } from '../lib/clock.ts'
import { uuid } from '../lib/id.ts'
import { decimal } from '../lib/money.ts'
import { submitKind } from './carriers.ts'
import * as store from './store.ts'

/** A message that passed every check and only wants its money. */
export type Checked = Omit<store.NewMessage, 'transfer'>

/** Takes messages in: each with its debit and its job in one statement, many requests to a statement. */
export type Accept = {
  /** Resolves once the message is durable; throws the 402, 403 or 503 Problem. Inside `tx` when there is one. */
  message(message: Checked, tx: Tx | null): Promise<void>
  depth(): number
}

const refuse = (refusal: store.Refusal, { contact, number, price }: Checked): never =>
  refusal === 'opted_out'
    ? forbidden(`${contact} wants no texts from ${number}: it answered STOP`, 'opted_out')
    : insufficient(`The balance does not cover USD ${decimal(price)}: add credit to the account`)

/** Every account's part of a batch is one transfer. */
const withTransfers = (messages: readonly Checked[]): store.NewMessage[] => {
  const transfers = new Map<string, string>()
  return messages.map((message) => {
    const transfer = transfers.get(message.account) ?? uuid()
    transfers.set(message.account, transfer)
    return { ...message, transfer }
  })
}

/** The jobs of the messages that were added leased: the first so many of those that are kept and due at once. */
const leasedJobs = (kept: readonly store.NewMessage[], count: number, now: Date) =>
  kept
    .filter(({ sendAt }) => sendAt === null)
    .slice(0, count)
    .map((message) => ({
      id: message.id,
      account: message.account,
      kind: submitKind,
      key: null,
      payload: store.payloadOf(message),
      runAt: now,
      createdAt: now,
      attempt: 1,
    }))

/**
 * What can be submitted at once is leased to this process's worker as it is accepted, and so need not be claimed.
 *
 * @param honoursOptOut contacts who answered STOP are not sent to
 * @param accepted called after a commit that left jobs to be claimed: the submitting worker may wake
 */
export const makeAccept = (db: Db, clock: Clock, honoursOptOut: boolean, accepted: () => void): Accept => {
  const accept = async (messages: readonly store.NewMessage[]) => {
    const berth = berthOf(db, submitKind)
    // What is claimed costs another statement: it pays to wait for the one that claims the last of what waits.
    await berth?.caughtUp()
    const grant = berth?.reserve(messages.length)
    if (!berth || !grant) {
      const { refused } = await store.accept(db, messages, honoursOptOut, null)
      accepted()
      return refused
    }
    const now = new Date(clock.now())
    try {
      const lease = { worker: berth.worker, seconds: berth.leaseSeconds, count: grant.count }
      const { refused, isLeased } = await store.accept(db, messages, honoursOptOut, lease)
      const kept = messages.filter(({ id }) => !refused.has(id))
      const jobs = isLeased ? leasedJobs(kept, grant.count, now) : []
      berth.take(grant, jobs)
      if (jobs.length < kept.length) accepted()
      return refused
    } catch (error) {
      berth.forsake(grant, isUnavailable(error))
      throw error
    }
  }

  const batcher: Batcher<Checked, store.Refusal | 'kept'> = makeBatcher(
    async (messages) => {
      const refused = await accept(withTransfers(messages))
      return messages.map(({ id }) => refused.get(id) ?? 'kept')
    },
    // A statement costs some 550 µs of its own, a text in it 15.
    { spacing: 3, keyOf: ({ account }) => account },
  )

  return {
    depth: batcher.depth,
    message: async (message, tx) => {
      if (tx) {
        const { refused } = await store.accept(tx, withTransfers([message]), honoursOptOut, null)
        const refusal = refused.get(message.id)
        if (refusal) refuse(refusal, message)
        tx.afterCommit(accepted)
        return
      }
      const result = await batcher.add(message).catch((error: unknown) => {
        if (error instanceof Overloaded)
          return unavailable('More messages wait than can be taken: try again in a second')
        throw error
      })
      if (result !== 'kept') refuse(result, message)
    },
  }
}
