import type { ChatPeer } from '../message-port.ts'
import type { Asked } from '../port.ts'
import { asked } from './asked.ts'
import { bareOf, jidOf } from './codec/jid.ts'
import type { Key, Socket } from './library.ts'
import type { WebLine } from './line.ts'
import { addressOf } from './outgoing.ts'

/** The messages of a group: a receipt names who wrote, as the group has them. Nothing is told of who wrote is not known. */
const keysOfGroup = async (
  socket: Socket,
  { members }: Pick<WebLine, 'members'>,
  remoteJid: string,
  ids: readonly string[],
  authors: readonly (string | null)[],
): Promise<Key[]> => {
  // Whoever hides the number is known by where they are.
  const numbers = authors.flatMap((author) => (author && !author.includes('@') ? author : []))
  const places = await members.of(socket, remoteJid, numbers)
  return ids.flatMap((id, place) => {
    const author = authors[place]
    if (!author) return []
    // Who has left the group is in it no more.
    const participant = author.includes('@') ? bareOf(author) : (places.get(author) ?? jidOf(author))
    return [{ remoteJid, id, fromMe: false, participant }]
  })
}

/** Tells those who wrote that their messages were read. */
export const markRead = (
  socket: Socket,
  line: Pick<WebLine, 'members' | 'placeOf'>,
  from: ChatPeer,
  ids: readonly string[],
  authors: readonly (string | null)[],
): Promise<Asked<null>> =>
  asked(async () => {
    if (from.group !== undefined) await socket.readMessages(await keysOfGroup(socket, line, from.group, ids, authors))
    else {
      const remoteJid = (await line.placeOf(socket, from)) ?? addressOf(from)
      await socket.readMessages(ids.map((id) => ({ remoteJid, id, fromMe: false })))
    }
    return null
  }, true)
