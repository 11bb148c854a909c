import { createHash } from 'node:crypto'
import { ns } from '@trunkline/xmpp/namespaces.ts'
import { errorResponse } from '@trunkline/xmpp/stream.ts'
import { child, descendant, elements, type XmlElement, xml } from '@trunkline/xmpp/xml.ts'
import type { PersistedState } from './persisted-state.ts'
import { avatarMetadata, hashOf, typeOfImage } from './profile.ts'

const features = [
  ns.discoInfo,
  ns.ping,
  ns.receipts,
  ns.markers,
  ns.correct,
  ns.oob,
  ns.reactions,
  ns.retract,
  ns.jingle,
  ns.jingleMessage,
  ns.jingleRtp,
  `${ns.jingleRtp}:audio`,
].sort()

const identity = { category: 'client', type: 'pc', name: 'Trunkline' }

/** Digest of our features (XEP-0115, 5.1); it saves peers a query. */
const version = createHash('sha1')
  .update(`${identity.category}/${identity.type}//${identity.name}<${features.join('<')}<`)
  .digest('base64')

const capabilities = xml('c', 'http://jabber.org/protocol/caps', {
  hash: 'sha-1',
  node: 'urn:trunkline',
  ver: version,
})

/**
 * Builds our presence, with the status and the picture's digest. @param image only where we send the picture ourselves
 */
export const presenceOf = (to: string | undefined, status: string, image: Buffer | null): XmlElement =>
  xml(
    'presence',
    '',
    { to },
    status === '' ? null : xml('status', '', {}, status),
    capabilities,
    image && xml('x', ns.vcardUpdate, {}, xml('photo', ns.vcardUpdate, {}, hashOf(image))),
  )

const result = (iq: XmlElement, ...children: XmlElement[]): XmlElement =>
  xml('iq', '', { type: 'result', id: iq.attrs.id, to: iq.attrs.from, from: iq.attrs.to }, ...children)

const card = (name: string, image: Buffer | null): XmlElement =>
  xml(
    'vCard',
    ns.vcardTemp,
    {},
    xml('FN', ns.vcardTemp, {}, name),
    image &&
      xml(
        'PHOTO',
        ns.vcardTemp,
        {},
        xml('TYPE', ns.vcardTemp, {}, typeOfImage(image)),
        xml('BINVAL', ns.vcardTemp, {}, image.toString('base64')),
      ),
  )

/** An item of our PEP nodes, if a server stored them (XEP-0084). */
const avatarItem = (iq: XmlElement, image: Buffer): XmlElement | null => {
  const node = descendant(iq, ns.pubsub, 'pubsub', 'items')?.attrs.node
  if (node !== ns.avatarData && node !== ns.avatarMetadata) return null
  const payload =
    node === ns.avatarData ? xml('data', ns.avatarData, {}, image.toString('base64')) : avatarMetadata(image)
  const item = xml('item', ns.pubsub, { id: hashOf(image) }, payload)
  return result(iq, xml('pubsub', ns.pubsub, {}, xml('items', ns.pubsub, { node }, item)))
}

/**
 * Answers a query of another entity about our identity and features.
 * @param servesProfile true when we serve our card and picture ourselves, as a component does; otherwise the server does
 */
export const respondTo = async (
  iq: XmlElement,
  name: string,
  memory: PersistedState,
  servesProfile: boolean,
): Promise<XmlElement> => {
  const [query] = elements(iq)
  if (iq.attrs.type === 'get' && query?.ns === ns.discoInfo) {
    const { node } = query.attrs
    const featureElements = features.map((feature) => xml('feature', ns.discoInfo, { var: feature }))
    return result(iq, xml('query', ns.discoInfo, { node }, xml('identity', ns.discoInfo, identity), ...featureElements))
  }
  if (iq.attrs.type === 'get' && query?.ns === ns.ping) return result(iq)
  if (iq.attrs.type === 'get' && servesProfile) {
    const image = memory.values.picture ? await memory.image() : null
    if (child(iq, 'vCard', ns.vcardTemp)) return result(iq, card(name, image))
    const item = image && avatarItem(iq, image)
    if (item) return item
  }
  // A roster push of the server (RFC 6121, 2.1.6).
  if (iq.attrs.type === 'set' && query?.ns === ns.roster && !servesProfile) return result(iq)
  return errorResponse(iq, 'cancel', 'service-unavailable')
}
