import type { ChatOutgoing, ChatPin } from '../message-port.ts'
import { ns } from './codec/names.ts'
import { type Xml, xml } from './codec/xml.ts'
import { wireId } from './messages.ts'

const geoOf = ({ latitude, longitude }: ChatPin): string => `geo:${latitude},${longitude}`

/** A place as an element (XEP-0080), and as an address in words for those who do not know it. */
const placeOf = (pin: ChatPin): Xml =>
  xml(
    'geoloc',
    ns.geoloc,
    {},
    xml('lat', ns.geoloc, {}, String(pin.latitude)),
    xml('lon', ns.geoloc, {}, String(pin.longitude)),
    pin.name ? xml('text', ns.geoloc, {}, pin.name) : null,
    pin.url ? xml('uri', ns.geoloc, {}, pin.url) : null,
  )

/** Words in front of a file or a place are told of by its receipts. */
const wordsId = (own: string): string => `${own}-words`

const messageOf = (id: string, to: string, isGroup: boolean, body: string, ...more: (Xml | null)[]): Xml =>
  xml(
    'message',
    '',
    { type: isGroup ? 'groupchat' : 'chat', id, to },
    xml('body', '', {}, body),
    ...more,
    xml('origin-id', ns.stanzaIds, { id }),
  )

/** Groups have no receipts, only markers (XEP-0184, 5.3). */
const wishes = (isGroup: boolean): (Xml | null)[] => [
  xml('markable', ns.markers),
  isGroup ? null : xml('request', ns.receipts),
]

/**
 * What goes out for one message: the file or the place, and the text in front of it as a message of its own where both are
 * there, because an address stands alone (XEP-0066). The last one bears the message's id.
 * @param url where the file is
 */
export const stanzasOf = ({ id, to, text, file, pin }: ChatOutgoing, jid: string, url: string | null): Xml[] => {
  const isGroup = to.group !== undefined
  const own = wireId(id)
  if (!file && !pin) return [messageOf(own, jid, isGroup, text ?? '', ...wishes(isGroup))]
  const words = text ? [messageOf(wordsId(own), jid, isGroup, text)] : []
  if (file && url) {
    const shared = xml('x', ns.oob, {}, xml('url', ns.oob, {}, url))
    return [...words, messageOf(own, jid, isGroup, url, shared, ...wishes(isGroup))]
  }
  return pin ? [...words, messageOf(own, jid, isGroup, geoOf(pin), placeOf(pin), ...wishes(isGroup))] : words
}

export const receiptFor = (to: string, id: string): Xml =>
  xml('message', '', { type: 'chat', to }, xml('received', ns.receipts, { id }), xml('store', ns.hints))

export const markerFor = (to: string, id: string, isGroup: boolean): Xml =>
  xml(
    'message',
    '',
    { type: isGroup ? 'groupchat' : 'chat', to },
    xml('displayed', ns.markers, { id }),
    xml('store', ns.hints),
  )

/** Asks the other side's clients to take a message back (XEP-0424). */
export const retractionOf = (to: string, id: string, isGroup: boolean): Xml =>
  xml(
    'message',
    '',
    { type: isGroup ? 'groupchat' : 'chat', to },
    xml('retract', ns.retract, { id }),
    xml('body', '', {}, 'This person took a message back, but your application does not know how to.'),
    xml('fallback', 'urn:xmpp:fallback:0', { for: ns.retract }),
    xml('store', ns.hints),
  )
