import { type Batcher, makeBatcher, Overloaded } from '../db/batch.ts'
import type { Db, Tx } from '../db/sql.ts'
import { insufficient, unavailable } from '../http/problem.ts'
import { uuid } from '../lib/id.ts'
import { decimal, type Micros } from '../lib/money.ts'
import * as store from './store.ts'

/** A message that passed every check and only wants its money. */
export type Checked = Omit<store.NewMessage, 'transfer'>

/** Takes messages in: each with its debit and its job in one statement, many requests to a statement. */
export type Accept = {
  /** Resolves once the message is durable; throws the 402 or 503 Problem. Inside `tx` when there is one. */
  message(message: Checked, tx: Tx | null): Promise<void>
  depth(): number
}

const tooPoor = (price: Micros) =>
  insufficient(`The balance does not cover USD ${decimal(price)}: add credit to the account`)

/** Every account's part of a batch is one transfer. */
const withTransfers = (messages: readonly Checked[]): store.NewMessage[] => {
  const transfers = new Map<string, string>()
  return messages.map((message) => {
    const transfer = transfers.get(message.account) ?? uuid()
    transfers.set(message.account, transfer)
    return { ...message, transfer }
  })
}

/** @param accepted called after each commit: the submitting worker may wake */
export const makeAccept = (db: Db, accepted: () => void): Accept => {
  const batcher: Batcher<Checked, boolean> = makeBatcher(async (messages) => {
    const refused = await store.accept(db, withTransfers(messages))
    accepted()
    return messages.map(({ id }) => !refused.has(id))
  })

  return {
    depth: batcher.depth,
    message: async (message, tx) => {
      if (tx) {
        const refused = await store.accept(tx, withTransfers([message]))
        if (refused.has(message.id)) tooPoor(message.price)
        tx.afterCommit(accepted)
        return
      }
      const kept = await batcher.add(message).catch((error: unknown) => {
        if (error instanceof Overloaded)
          return unavailable('More messages wait than can be taken: try again in a second')
        throw error
      })
      if (!kept) tooPoor(message.price)
    },
  }
}
