import type { ChatRemote } from '../../connectors/message-port.ts'
import { parse, print } from '../../lib/id.ts'

/** How a conversation is called on its channel (the column `peer`), and how clients write it. */

/** Of a number, E.164. */
export const peerOf = (number: string): string => `${number.replace(/^\+/, '')}@c.us`

/** Of somebody whom the network may know without a number. */
export const peerOfRemote = ({ number, remote }: ChatRemote): string => (number === null ? remote : peerOf(number))

/** Of a group: by its id on the network where that is of the known form, else by ours. */
export const groupPeer = (group: string, networkId: string | null): string =>
  networkId?.endsWith('@g.us') ? networkId : `${group}@g.us`

/** `WW-<channel_uuid>-<peer>` (interface.md 2.17). */
export const sessionKey = (channel: string, peer: string): string => `WW-${print('WPN', channel)}-${peer}`

const form = /^WW-(WPN[0-9a-f-]{36})-(.+)$/i

/** The channel and the peer of a session key; null for what is none. A `+` before the digits means nothing. */
export const readSessionKey = (key: string): { channel: string; peer: string } | null => {
  const [, printed = '', peer = ''] = form.exec(key) ?? []
  const channel = parse('WPN', printed.slice(0, 3).toUpperCase() + printed.slice(3))
  return channel ? { channel, peer: peer.replace(/^\+(?=\d+@c\.us$)/, '') } : null
}
