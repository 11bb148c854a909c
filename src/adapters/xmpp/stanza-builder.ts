import { ns } from '@trunkline/xmpp/namespaces.ts'
import { type XmlElement, xml } from '@trunkline/xmpp/xml.ts'
import type { ChatLocation, ChatOutgoing } from '../../ports/chat-message.ts'
import { wireId } from './message-parser.ts'

const geoOf = ({ latitude, longitude }: ChatLocation): string => `geo:${latitude},${longitude}`

/** A location as an element (XEP-0080), with a URL for clients that do not support it. */
const geolocOf = (pin: ChatLocation): XmlElement =>
  xml(
    'geoloc',
    ns.geoloc,
    {},
    xml('lat', ns.geoloc, {}, String(pin.latitude)),
    xml('lon', ns.geoloc, {}, String(pin.longitude)),
    pin.name ? xml('text', ns.geoloc, {}, pin.name) : null,
    pin.url ? xml('uri', ns.geoloc, {}, pin.url) : null,
  )

/** Id of the text that precedes a file or location; its receipts name it. */
const precedingTextId = (own: string): string => `${own}-words`

const messageOf = (
  id: string,
  to: string,
  isGroup: boolean,
  body: string,
  ...more: (XmlElement | null)[]
): XmlElement =>
  xml(
    'message',
    '',
    { type: isGroup ? 'groupchat' : 'chat', id, to },
    xml('body', '', {}, body),
    ...more,
    xml('origin-id', ns.stanzaIds, { id }),
  )

/** Groups have no receipts, only markers (XEP-0184, 5.3). */
const receiptRequests = (isGroup: boolean): (XmlElement | null)[] => [
  xml('markable', ns.markers),
  isGroup ? null : xml('request', ns.receipts),
]

/**
 * Builds the stanzas of one message. A file or location is preceded by its text as a separate message, because a URL
 * must be the whole body (XEP-0066). The last stanza carries the message's id.
 * @param url URL of the file
 */
export const stanzasOf = ({ id, to, text, file, pin }: ChatOutgoing, jid: string, url: string | null): XmlElement[] => {
  const isGroup = to.group !== undefined
  const own = wireId(id)
  if (!file && !pin) return [messageOf(own, jid, isGroup, text ?? '', ...receiptRequests(isGroup))]
  const words = text ? [messageOf(precedingTextId(own), jid, isGroup, text)] : []
  if (file && url) {
    const shared = xml('x', ns.oob, {}, xml('url', ns.oob, {}, url))
    return [...words, messageOf(own, jid, isGroup, url, shared, ...receiptRequests(isGroup))]
  }
  return pin ? [...words, messageOf(own, jid, isGroup, geoOf(pin), geolocOf(pin), ...receiptRequests(isGroup))] : words
}

export const receiptFor = (to: string, id: string): XmlElement =>
  xml('message', '', { type: 'chat', to }, xml('received', ns.receipts, { id }), xml('store', ns.hints))

export const markerFor = (to: string, id: string, isGroup: boolean): XmlElement =>
  xml(
    'message',
    '',
    { type: isGroup ? 'groupchat' : 'chat', to },
    xml('displayed', ns.markers, { id }),
    xml('store', ns.hints),
  )

/** Asks the recipient's clients to retract a message (XEP-0424). */
export const retractionOf = (to: string, id: string, isGroup: boolean): XmlElement =>
  xml(
    'message',
    '',
    { type: isGroup ? 'groupchat' : 'chat', to },
    xml('retract', ns.retract, { id }),
    xml('body', '', {}, 'This person took a message back, but your application does not know how to.'),
    xml('fallback', 'urn:xmpp:fallback:0', { for: ns.retract }),
    xml('store', ns.hints),
  )
