import { type Batcher, makeBatcher, Overloaded } from '../db/batch.ts'
import type { Db, Tx } from '../db/sql.ts'
import { forbidden, insufficient, unavailable } from '../http/problem.ts'
import { uuid } from '../lib/id.ts'
import { decimal } from '../lib/money.ts'
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

/**
 * @param honoursOptOut contacts who answered STOP are not sent to
 * @param accepted called after each commit: the submitting worker may wake
 */
export const makeAccept = (db: Db, honoursOptOut: boolean, accepted: () => void): Accept => {
  const batcher: Batcher<Checked, store.Refusal | 'kept'> = makeBatcher(async (messages) => {
    const refused = await store.accept(db, withTransfers(messages), honoursOptOut)
    accepted()
    return messages.map(({ id }) => refused.get(id) ?? 'kept')
  })

  return {
    depth: batcher.depth,
    message: async (message, tx) => {
      if (tx) {
        const refused = await store.accept(tx, withTransfers([message]), honoursOptOut)
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
