import type { ChatPeer } from '../../connectors/message-port.ts'
import type { Tx } from '../../db/sql.ts'
import type { Act } from '../acts.ts'
import { answer } from '../asking.ts'
import { askToDiscard } from '../media/discarding.ts'
import * as store from './store.ts'

export type Removal = {
  readonly message: string
  readonly networkId: string
  readonly from: ChatPeer
}

type Reach = 'everyone' | 'us'

/** Forgets a message here: what it said, and the bytes of its file. @returns whether it was still there */
export const forget = async (tx: Tx, account: string, id: string, reach: Reach): Promise<boolean> => {
  // First, as who reads it does.
  await store.holdChat(tx, account, id)
  const gone = await store.remove(tx, account, id, reach)
  if (gone?.digest) await askToDiscard(tx, account, gone.digest)
  return gone !== null
}

/** Takes a message back from everyone, where the network still does that; it is gone here in any case. */
export const makeRemove = (): Act<Removal, Reach> => ({
  run: async (network, { payload: { channel, from, networkId } }) => {
    const told = await network.remove?.(channel, from, networkId)
    return told?.outcome === 'done' ? told.value : 'us'
  },
  settle: async (tx, done) => {
    for (const { job, result } of done) await forget(tx, job.account ?? '', job.payload.message, result)
    await answer(
      tx,
      done.map(({ job, result }) => ({ id: job.id, answer: { outcome: 'done', value: result } })),
    )
  },
})
