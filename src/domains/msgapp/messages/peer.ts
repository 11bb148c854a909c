import { canonicalNumber } from '@trunkline/phone/number-forms.ts'
import { parse, print } from '../../../platform/lib/id.ts'
import type { ChatParty } from '../../../ports/chat-message.ts'

/** Peer ids: how the column `peer` and clients name a conversation of a channel. */

/** Returns the peer id of a number, E.164: the same for all of its forms. */
export const peerOf = (number: string): string => `${canonicalNumber(number).replace(/^\+/, '')}@c.us`

/** Returns the peer id of a person; the network may know them without a number. */
export const peerOfRemote = ({ number, remote }: ChatParty): string => (number === null ? remote : peerOf(number))

/** Returns the peer id of a group: its network id if that has the usual form, otherwise ours. */
export const groupPeer = (group: string, networkId: string | null): string =>
  networkId?.endsWith('@g.us') ? networkId : `${group}@g.us`

/** Formats `WW-<channel_uuid>-<peer>` (interface.md 2.17). */
export const sessionKey = (channel: string, peer: string): string => `WW-${print('WPN', channel)}-${peer}`

const sessionKeyPattern = /^WW-(WPN[0-9a-f-]{36})-(.+)$/i

/** Parses a session key into channel and peer; null if malformed. A `+` before the digits is ignored, and a number may
 *  have any of its forms. */
export const readSessionKey = (key: string): { channel: string; peer: string } | null => {
  const [, printed = '', peer = ''] = sessionKeyPattern.exec(key) ?? []
  const channel = parse('WPN', printed.slice(0, 3).toUpperCase() + printed.slice(3))
  const digits = /^\+?(\d+)@c\.us$/.exec(peer)?.[1]
  return channel ? { channel, peer: digits === undefined ? peer : peerOf(`+${digits}`) } : null
}
