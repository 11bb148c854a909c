import type { ChatPeer } from '../../connectors/message-port.ts'
import type { Act } from '../acts.ts'
import { answer } from '../asking.ts'
import * as store from './store.ts'

export type Removal = {
  readonly message: string
  readonly networkId: string
  readonly from: ChatPeer
}

type Reach = 'everyone' | 'us'

/** Takes a message back from everyone, where the network still does that; it is gone here in any case. */
export const makeRemove = (): Act<Removal, Reach> => ({
  run: async (network, { payload: { channel, from, networkId } }) => {
    const told = await network.remove?.(channel, from, networkId)
    return told?.outcome === 'done' ? told.value : 'us'
  },
  settle: async (tx, done) => {
    for (const { job, result } of done) await store.remove(tx, job.account ?? '', job.payload.message, result)
    await answer(
      tx,
      done.map(({ job, result }) => ({ id: job.id, answer: { outcome: 'done', value: result } })),
    )
  },
})
