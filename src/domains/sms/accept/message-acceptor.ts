import { type Batcher, makeBatcher, OverloadedError } from '../../../platform/db/batcher.ts'
import { type Db, isUnavailable, type Tx } from '../../../platform/db/sql.ts'
import type { Problem } from '../../../platform/http/problem.ts'
import { localQueueOf } from '../../../platform/jobs/consume/local-queue.ts'
import type { Clock } from '../../../platform/lib/clock.ts'
import { makeFairLimiter } from '../../../platform/lib/fair-limiter.ts'
import { uuid } from '../../../platform/lib/id.ts'
import { decimal } from '../../../platform/lib/money.ts'
import { assertKeysMaySpend, countKeySpending } from '../../ledger/ops.ts'
import { refusals as ledgerRefusals } from '../../ledger/refusals.ts'
import { type BatchJob, batchPayload, submissionOf } from '../batch.ts'
import { countedMessages, maxBatchMessages } from '../limits.ts'
import { refusals } from '../refusals.ts'
import * as store from '../store.ts'
import { batchKind } from '../submit/message-slots.ts'
import { acceptBatches, type NewBatch } from './accepted-batch-store.ts'
import type { MessagePlan } from './quote.ts'

/** A validated message that still has to be charged. */
export type ValidatedMessage = Omit<store.NewMessage, 'transfer'> & { readonly plan: MessagePlan }

/** Accepts messages: each with its debit and a job in one statement, many requests in a batch. */
export type MessageAcceptor = {
  /** Resolves once the message is durable, or part of `tx`. @throws the 402, 403 or 503 Problem */
  accept(message: ValidatedMessage, tx: Tx | null): Promise<void>
  /**
   * Like `accept`, for keys with a daily spend limit: the price counts in the same transaction, that of the request or one of
   * its own, so such messages share no statement.
   * @throws also the 402 Problem `key_spend_limit`
   */
  acceptCounted(message: ValidatedMessage, tx: Tx | null, limitedKeys: readonly string[]): Promise<void>
  queueDepth(): number
}

type PlannedBatch = Omit<NewBatch, 'messages'> & { readonly messages: readonly ValidatedMessage[] }

const problemOf = (refusal: store.Refusal, { contact, number, price }: ValidatedMessage): Problem =>
  refusal === 'opted_out' ? refusals.optedOut(contact, number) : ledgerRefusals.insufficientBalance(decimal(price))

/** Assigns the messages of each account to one transfer. */
const withTransfers = (messages: readonly ValidatedMessage[]): store.NewMessage[] => {
  const transfers = new Map<string, string>()
  return messages.map((message) => {
    const transfer = transfers.get(message.account) ?? uuid()
    transfers.set(message.account, transfer)
    return { ...message, transfer }
  })
}

/** Makes one batch of the messages of each account, sorted by account (docs/locks.md). */
const batchesOf = (messages: readonly ValidatedMessage[]): Omit<PlannedBatch, 'isLeased'>[] => {
  const groups = Map.groupBy(messages, ({ account }) => account)
  return [...groups]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([account, messages]) => ({ id: uuid(), account, messages }))
}

/** The job of a batch that was inserted leased, with the texts and the plans of its messages. */
const jobOf = ({ id, account, messages }: PlannedBatch, now: Date): BatchJob => ({
  id,
  account,
  kind: batchKind,
  key: null,
  payload: {
    ...batchPayload(messages),
    members: messages.map((one) => ({
      id: one.id,
      payload: submissionOf(one.number, one.contact, one.text, one.long),
      plan: one.plan,
    })),
  },
  runAt: now,
  createdAt: now,
  attempt: 1,
})

/**
 * Makes the acceptor. Messages of one account that are due at once form batches. A batch is leased to this process's
 * worker on acceptance and needs no claim.
 *
 * @param honoursOptOut whether messages to contacts who answered STOP are refused. Those that the account added always count
 * @param accepted called after a commit that left jobs of a kind to claim, to notify the worker
 */
export const makeMessageAcceptor = (
  db: Db,
  clock: Clock,
  honoursOptOut: boolean,
  accepted: (kind: 'batch' | 'submit') => void,
): MessageAcceptor => {
  const acceptInBatches = async (messages: readonly ValidatedMessage[]): Promise<('kept' | 'refused')[]> => {
    const queue = localQueueOf(db, batchKind)
    const now = new Date(clock.now())
    const batches = batchesOf(messages).map((batch) => ({ ...batch, slot: queue?.reserve(batch.account) ?? null }))
    const lease = queue ? { worker: queue.worker, seconds: queue.leaseSeconds } : null
    const rows = batches.map(({ slot, ...batch }) => ({ ...batch, isLeased: slot !== null }))
    const results = await acceptBatches(db, rows, lease, honoursOptOut).catch((error: unknown) => {
      for (const { slot } of batches) if (slot) queue?.cancel(slot, isUnavailable(error))
      throw error
    })
    const refused = new Set<string>()
    for (const [i, batch] of rows.entries()) {
      const slot = batches[i]?.slot
      const result = results[i]
      if (slot && result === 'leased') queue?.commit(slot, jobOf(batch, now))
      else if (slot) queue?.cancel(slot, false)
      if (result === 'queued') accepted('batch')
      else if (result === 'refused') for (const { id } of batch.messages) refused.add(id)
    }
    // Hashing an id costs 1.5 µs, and few statements refuse a batch.
    return messages.map(({ id }) => (refused.size > 0 && refused.has(id) ? 'refused' : 'kept'))
  }

  // Measured: with 64 connections, 1 ms gives 0.37 of the rate of an empty route, 3 ms gives 0.29. Without a pause each
  // statement carries few messages, and costs 40 % more CPU for each. So do two statements in flight. With 16 connections
  // and fewer, a pause costs a third of the rate, and with one connection half.
  const options = { spacingMs: 1, restAfterRows: 20, keyOf: ({ account }: ValidatedMessage) => account }
  const batches: Batcher<ValidatedMessage, 'kept' | 'refused'> = makeBatcher(acceptInBatches, {
    ...options,
    maxRows: maxBatchMessages,
  })
  const singles: Batcher<ValidatedMessage, store.Refusal | 'kept'> = makeBatcher(async (messages) => {
    const refused = await store.accept(db, withTransfers(messages), honoursOptOut)
    if (refused.size < messages.length) accepted('submit')
    return messages.map(({ id }) => refused.get(id) ?? 'kept')
  }, options)

  const keptOrThrow = (result: store.Refusal | 'kept', message: ValidatedMessage): void => {
    if (result !== 'kept') throw problemOf(result, message)
  }

  const overloaded = (error: unknown): never => {
    throw error instanceof OverloadedError ? refusals.tooManyWaiting() : error
  }

  const acceptAlone = (message: ValidatedMessage): Promise<void> =>
    singles.add(message).then((result) => keptOrThrow(result, message), overloaded)

  const acceptIn = async (tx: Tx, message: ValidatedMessage): Promise<void> => {
    const refused = await store.accept(tx, withTransfers([message]), honoursOptOut)
    keptOrThrow(refused.get(message.id) ?? 'kept', message)
    tx.afterCommit(() => accepted('submit'))
  }

  const counted = makeFairLimiter({ ...countedMessages, full: refusals.tooManyWaiting })

  const acceptCountedIn = async (tx: Tx, message: ValidatedMessage, keys: readonly string[]): Promise<void> => {
    const { account, price } = message
    await assertKeysMaySpend(tx, account, keys, price)
    await acceptIn(tx, message)
    await countKeySpending(tx, account, keys, price)
  }

  return {
    acceptCounted: (message, tx, keys) =>
      tx
        ? acceptCountedIn(tx, message, keys)
        : counted.run(message.account, () => db.begin((own) => acceptCountedIn(own, message, keys))),
    queueDepth: () => batches.depth() + singles.depth(),
    accept: (message, tx) => {
      if (tx) return acceptIn(tx, message)
      if (message.sendAt !== null) return acceptAlone(message)
      return batches
        .add(message)
        .then((result) => (result === 'refused' ? acceptAlone(message) : undefined), overloaded)
    },
  }
}
