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

export type Forgotten = { readonly account: string; readonly id: string; readonly reach: Reach }

const order = ({ account, id }: Forgotten): string => `${account} ${id}`

/**
 * Forgets messages here: what they said, and the bytes of their files. Their conversations are held first, and all is written in
 * one order, so that nobody who reads, writes or acknowledges them waits for this while this waits for them.
 * @returns how many were still there
 */
export const forget = async (tx: Tx, messages: readonly Forgotten[]): Promise<number> => {
  await store.holdChats(tx, messages)
  let count = 0
  for (const { account, id, reach } of messages.toSorted((a, b) => (order(a) < order(b) ? -1 : 1))) {
    const gone = await store.remove(tx, account, id, reach)
    if (gone) count++
    if (gone?.digest) await askToDiscard(tx, account, gone.digest)
  }
  return count
}

/** Takes a message back from everyone, where the network still does that; it is gone here in any case. */
export const makeRemove = (): Act<Removal, Reach> => ({
  run: async (network, { payload: { channel, from, networkId } }) => {
    const told = await network.remove?.(channel, from, networkId)
    return told?.outcome === 'done' ? told.value : 'us'
  },
  settle: async (tx, done) => {
    await forget(
      tx,
      done.map(({ job, result }) => ({ account: job.account ?? '', id: job.payload.message, reach: result })),
    )
    await answer(
      tx,
      done.map(({ job, result }) => ({ id: job.id, answer: { outcome: 'done', value: result } })),
    )
  },
})
