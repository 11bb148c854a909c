import { type Batcher, makeBatcher, OverloadedError } from '../../../platform/db/batcher.ts'
import { type Db, isUnavailable, type Tx } from '../../../platform/db/sql.ts'
import type { Problem } from '../../../platform/http/problem.ts'
import { localQueueOf } from '../../../platform/jobs/consume/local-queue.ts'
import type { Clock } from '../../../platform/lib/clock.ts'
import { uuid } from '../../../platform/lib/id.ts'
import { decimal } from '../../../platform/lib/money.ts'
import { refusals as ledgerRefusals } from '../../ledger/refusals.ts'
import { refusals } from '../refusals.ts'
import * as store from '../store.ts'
import { submitKind } from '../submit/carriers.ts'

/** A validated message that still has to be charged. */
export type ValidatedMessage = Omit<store.NewMessage, 'transfer'>

/** Accepts messages: each with its debit and its job in one statement, many requests in a batch. */
export type MessageAcceptor = {
  /** Resolves once the message is durable, or part of `tx`. @throws the 402, 403 or 503 Problem */
  accept(message: ValidatedMessage, tx: Tx | null): Promise<void>
  queueDepth(): number
}

const problemOf = (refusal: store.Refusal, { contact, number, price }: ValidatedMessage): Problem =>
  refusal === 'opted_out' ? refusals.optedOut(contact, number) : ledgerRefusals.insufficientBalance(decimal(price))

/** Assigns the messages of each account in a batch to one transfer. */
const withTransfers = (messages: readonly ValidatedMessage[]): store.NewMessage[] => {
  const transfers = new Map<string, string>()
  return messages.map((message) => {
    const transfer = transfers.get(message.account) ?? uuid()
    transfers.set(message.account, transfer)
    return { ...message, transfer }
  })
}

/** Jobs of the messages that were inserted leased: the first `count` accepted messages without a send time. */
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
 * Makes the acceptor. Messages that are due at once are leased to this process's worker on acceptance and need no
 * claim.
 *
 * @param honoursOptOut whether messages to contacts who answered STOP are refused
 * @param accepted called after a commit that left jobs to claim, to notify the submitting worker
 */
export const makeMessageAcceptor = (
  db: Db,
  clock: Clock,
  honoursOptOut: boolean,
  accepted: () => void,
): MessageAcceptor => {
  const accept = async (messages: readonly store.NewMessage[]) => {
    const queue = localQueueOf(db, submitKind)
    // A claim costs another statement, so waiting for the last running claim pays off.
    await queue?.whenCaughtUp()
    const reservation = queue?.reserve(messages.length)
    if (!queue || !reservation) {
      const { refused } = await store.accept(db, messages, honoursOptOut, null)
      accepted()
      return refused
    }
    const now = new Date(clock.now())
    try {
      const lease = { worker: queue.worker, seconds: queue.leaseSeconds, count: reservation.count }
      const { refused, isLeased } = await store.accept(db, messages, honoursOptOut, lease)
      const kept = messages.filter(({ id }) => !refused.has(id))
      const jobs = isLeased ? leasedJobs(kept, reservation.count, now) : []
      queue.commit(reservation, jobs)
      if (jobs.length < kept.length) accepted()
      return refused
    } catch (error) {
      queue.cancel(reservation, isUnavailable(error))
      throw error
    }
  }

  const batcher: Batcher<ValidatedMessage, store.Refusal | 'kept'> = makeBatcher(
    async (messages) => {
      const refused = await accept(withTransfers(messages))
      return messages.map(({ id }) => refused.get(id) ?? 'kept')
    },
    // A statement costs about 550 µs, each message in it another 15 µs.
    { spacingMs: 3, keyOf: ({ account }) => account },
  )

  return {
    queueDepth: batcher.depth,
    accept: async (message, tx) => {
      if (tx) {
        const { refused } = await store.accept(tx, withTransfers([message]), honoursOptOut, null)
        const refusal = refused.get(message.id)
        if (refusal) throw problemOf(refusal, message)
        tx.afterCommit(accepted)
        return
      }
      const result = await batcher.add(message).catch((error: unknown) => {
        if (error instanceof OverloadedError) throw refusals.tooManyWaiting()
        throw error
      })
      if (result !== 'kept') throw problemOf(result, message)
    },
  }
}
