import { type Batcher, makeBatcher, OverloadedError } from '../../../../platform/db/batcher.ts'
import type { Db, Tx } from '../../../../platform/db/sql.ts'
import { notify } from '../../../../platform/jobs/queue.ts'
import { jobKindOf } from '../../operations/requests.ts'
import { refusals } from '../../refusals.ts'
import * as store from '../store.ts'

/**
 * Accepts outbound messages: each with its conversation and its job in one statement. Concurrent requests share
 * statements.
 */
export type AcceptMessage = {
  /** Resolves once the message is durable; throws the 503 Problem. Runs in `tx` if given. */
  message(message: store.NewMessage, tx: Tx | null): Promise<void>
}

const wakeAll = (messages: readonly store.NewMessage[]) => {
  for (const connection of new Set(messages.map((message) => message.connection))) notify(jobKindOf(connection))
}

export const makeAccept = (db: Db): AcceptMessage => {
  const batcher: Batcher<store.NewMessage, true> = makeBatcher(
    async (messages) => {
      await store.accept(db, messages)
      wakeAll(messages)
      return messages.map(() => true)
    },
    { spacingMs: 3, keyOf: ({ account }) => account },
  )
  return {
    message: async (message, tx) => {
      if (tx) {
        await store.accept(tx, [message])
        tx.afterCommit(() => wakeAll([message]))
        return
      }
      await batcher.add(message).catch((error: unknown) => {
        if (error instanceof OverloadedError) throw refusals.tooManyWaiting()
        throw error
      })
    },
  }
}
