import type { Tx } from '../../../../platform/db/sql.ts'
import type { ChatPeer } from '../../../../ports/chat-message.ts'
import { finalAnswer } from '../../operations/final-answer.ts'
import type { Operation } from '../../operations/operation.ts'
import { requestOperation } from '../../operations/requests.ts'
import { abilitiesOf } from '../../runner/drivers.ts'
import * as rows from '../message-query-store.ts'
import * as opened from './read-store.ts'

export const readOperation = 'read'

type ReadRequest = {
  readonly from: ChatPeer
  readonly ids: readonly string[]
  /** Authors in a group; absent in jobs of earlier versions. */
  readonly authors?: readonly (string | null)[]
}

/** Sends read receipts to the network. A rejection is ignored: the messages are read here. */
export const makeReadOperation = (): Operation<ReadRequest, null> => ({
  run: async (network, job) => {
    const { channel, from, ids, authors = [] } = job.payload
    const answer = await network.markRead?.(channel, from, ids, authors)
    if (answer) finalAnswer(job, answer)
    return null
  },
  onComplete: async () => {},
})

export type ConversationKey = { readonly account: string; readonly channel: string; readonly peer: string }

/**
 * Marks a conversation as read, up to a message or completely, and requests read receipts if the network has them.
 * @returns how many messages came after, and whether there is anything to send; null if the conversation does not
 * exist
 */
export const markRead = async (
  tx: Tx,
  { account, channel, peer }: ConversationKey,
  last: string | null,
): Promise<{ unread: number; isTold: boolean } | null> => {
  const chat = await opened.lockConversation(tx, account, channel, peer)
  if (!chat) return null
  const { unread, ids, authors } = await opened.markRead(tx, account, channel, peer, last)
  const line = ids && (await rows.channelById(tx, account, channel))
  const ability = line && (await abilitiesOf(tx, line.connection)).abilities?.mark_read
  if (!line || !ability || ability === 'no') return { unread, isTold: false }
  const { number, remote_id: remote, group_id, group_network_id: group } = chat
  if (group_id !== null && group === null) return { unread, isTold: false }
  const reading: ReadRequest =
    group === null ? { from: { number: number ?? '', remote }, ids } : { from: { group }, ids, authors: authors ?? [] }
  await requestOperation(tx, {
    account,
    connection: line.connection,
    channel,
    act: readOperation,
    payload: { ...reading },
  })
  return { unread, isTold: true }
}
