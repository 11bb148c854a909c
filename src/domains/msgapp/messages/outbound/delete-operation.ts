import type { Tx } from '../../../../platform/db/sql.ts'
import type { ChatPeer } from '../../../../ports/chat-message.ts'
import { requestDeletion } from '../../media/media-gc.ts'
import type { Operation } from '../../operations/operation.ts'
import { storeAnswers } from '../../operations/requests.ts'
import * as store from '../store.ts'

export type DeleteRequest = {
  readonly message: string
  readonly networkId: string
  readonly from: ChatPeer
}

type DeletionReach = 'everyone' | 'us'

export type DeletedMessage = { readonly account: string; readonly id: string; readonly reach: DeletionReach }

const order = ({ account, id }: DeletedMessage): string => `${account} ${id}`

/**
 * Deletes the content of messages here, and the bytes of their files. Locks their conversations first, and writes all
 * in the lock order of messages (docs/locks.md).
 * @returns how many still existed
 */
export const deleteMessages = async (tx: Tx, messages: readonly DeletedMessage[]): Promise<number> => {
  await store.lockConversations(tx, messages)
  let count = 0
  for (const { account, id, reach } of messages.toSorted((a, b) => (order(a) < order(b) ? -1 : 1))) {
    const gone = await store.deleteContent(tx, account, id, reach)
    if (gone) count++
    if (gone?.digest) await requestDeletion(tx, account, gone.digest)
  }
  return count
}

/** Deletes a message for everyone if the network still allows it; here it is deleted in any case. */
export const makeDeleteOperation = (): Operation<DeleteRequest, DeletionReach> => ({
  run: async (network, { payload: { channel, from, networkId } }) => {
    const reply = await network.remove?.(channel, from, networkId)
    return reply?.outcome === 'done' ? reply.value : 'us'
  },
  onComplete: async (tx, done) => {
    await deleteMessages(
      tx,
      done.map(({ job, result }) => ({ account: job.account ?? '', id: job.payload.message, reach: result })),
    )
    await storeAnswers(
      tx,
      done.map(({ job, result }) => ({ id: job.id, answer: { outcome: 'done', value: result } })),
    )
  },
})
