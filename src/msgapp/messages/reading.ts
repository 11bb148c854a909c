import type { ChatPeer } from '../../connectors/message-port.ts'
import type { Tx } from '../../db/sql.ts'
import type { Act } from '../acts.ts'
import { ask } from '../asking.ts'
import { ableOf } from '../drivers.ts'
import { final } from '../final.ts'
import * as opened from './opened.ts'
import * as rows from './rows.ts'

export const readAct = 'read'

type Reading = {
  readonly from: ChatPeer
  readonly ids: readonly string[]
  /** In a group; jobs of versions before this one have none. */
  readonly authors?: readonly (string | null)[]
}

/** Tells those who wrote that their messages were read. What a network does not take is no loss: it is read here. */
export const makeRead = (): Act<Reading, null> => ({
  run: async (network, job) => {
    const { channel, from, ids, authors = [] } = job.payload
    const told = await network.markRead?.(channel, from, ids, authors)
    if (told) final(job, told)
    return null
  },
  settle: async () => {},
})

export type Place = { readonly account: string; readonly channel: string; readonly peer: string }

/**
 * A conversation was read here, up to a message or all of it; its network is told, where it has such a thing.
 * @returns how many messages came after, and whether there is anything to tell; null when there is no such conversation
 */
export const read = async (
  tx: Tx,
  { account, channel, peer }: Place,
  last: string | null,
): Promise<{ unread: number; isTold: boolean } | null> => {
  const chat = await opened.hold(tx, account, channel, peer)
  if (!chat) return null
  const { unread, ids, authors } = await opened.open(tx, account, channel, peer, last)
  const line = ids && (await rows.channelById(tx, account, channel))
  const ability = line && (await ableOf(tx, line.connection)).abilities?.mark_read
  if (!line || !ability || ability === 'no') return { unread, isTold: false }
  const { number, remote_id: remote, group_id, group_network_id: group } = chat
  if (group_id !== null && group === null) return { unread, isTold: false }
  const reading: Reading =
    group === null ? { from: { number: number ?? '', remote }, ids } : { from: { group }, ids, authors: authors ?? [] }
  await ask(tx, { account, connection: line.connection, channel, act: readAct, payload: { ...reading } })
  return { unread, isTold: true }
}
