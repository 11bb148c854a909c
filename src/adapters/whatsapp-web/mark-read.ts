import type { ChatPeer } from '../../ports/chat-message.ts'
import type { ServiceResult } from '../../ports/supplier.ts'
import type { ChannelSession } from './channel-session.ts'
import { bareOf, jidOf } from './codec/jid.ts'
import type { MessageKey, WASocket } from './library.ts'
import { addressOf } from './outgoing.ts'
import { requestOutcome } from './request-outcome.ts'

/**
 * Message keys for a group: a receipt names the author by the group's address. Messages with unknown authors are
 * skipped.
 */
const groupMessageKeys = async (
  socket: WASocket,
  { members }: Pick<ChannelSession, 'members'>,
  remoteJid: string,
  ids: readonly string[],
  authors: readonly (string | null)[],
): Promise<MessageKey[]> => {
  // Authors with a hidden number are identified by address.
  const numbers = authors.flatMap((author) => (author && !author.includes('@') ? author : []))
  const places = await members.jidsOf(socket, remoteJid, numbers)
  return ids.flatMap((id, place) => {
    const author = authors[place]
    if (!author) return []
    // Former members are no longer listed.
    const participant = author.includes('@') ? bareOf(author) : (places.get(author) ?? jidOf(author))
    return [{ remoteJid, id, fromMe: false, participant }]
  })
}

/** Sends read receipts. */
export const markRead = (
  socket: WASocket,
  line: ChannelSession,
  from: ChatPeer,
  ids: readonly string[],
  authors: readonly (string | null)[],
): Promise<ServiceResult<null>> =>
  requestOutcome(async () => {
    if (from.group !== undefined)
      await socket.readMessages(await groupMessageKeys(socket, line, from.group, ids, authors))
    else {
      const remoteJid = (await line.resolveJid(socket, from)) ?? addressOf(from)
      await socket.readMessages(ids.map((id) => ({ remoteJid, id, fromMe: false })))
    }
    return null
  }, true)
