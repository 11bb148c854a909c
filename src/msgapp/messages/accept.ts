import { type Batcher, makeBatcher, Overloaded } from '../../db/batch.ts'
import type { Db, Tx } from '../../db/sql.ts'
import { unavailable } from '../../http/problem.ts'
import { wake } from '../../jobs/queue.ts'
import { kindOf } from '../asking.ts'
import * as store from './store.ts'

/** Takes messages in: each with its conversation and its job in one statement, many requests to a statement. */
export type Accept = {
  /** Resolves once the message is durable; throws the 503 Problem. Inside `tx` when there is one. */
  message(message: store.NewMessage, tx: Tx | null): Promise<void>
}

const wakeAll = (messages: readonly store.NewMessage[]) => {
  for (const connection of new Set(messages.map((message) => message.connection))) wake(kindOf(connection))
}

export const makeAccept = (db: Db): Accept => {
  const batcher: Batcher<store.NewMessage, true> = makeBatcher(
    async (messages) => {
      await store.accept(db, messages)
      wakeAll(messages)
      return messages.map(() => true)
    },
    { keyOf: ({ account }) => account },
  )
  return {
    message: async (message, tx) => {
      if (tx) {
        await store.accept(tx, [message])
        tx.afterCommit(() => wakeAll([message]))
        return
      }
      await batcher.add(message).catch((error: unknown) => {
        if (error instanceof Overloaded)
          return unavailable('More messages wait than can be taken: try again in a second')
        throw error
      })
    },
  }
}
