import { createHash } from 'node:crypto'
import { ns } from './codec/names.ts'
import { child, elements, within, type Xml, xml } from './codec/xml.ts'
import type { Memory } from './memory.ts'
import { avatarMetadata, hashOf, typeOfImage } from './profile.ts'
import { refusal } from './stream.ts'

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

/** The digest of what we say of ourselves (XEP-0115, 5.1), so that nobody needs to ask. */
const version = createHash('sha1')
  .update(`${identity.category}/${identity.type}//${identity.name}<${features.join('<')}<`)
  .digest('base64')

const capabilities = xml('c', 'http://jabber.org/protocol/caps', {
  hash: 'sha-1',
  node: 'urn:trunkline',
  ver: version,
})

/** That we are there, with our status and the digest of our picture. @param image only where we show it ourselves */
export const presenceOf = (to: string | undefined, status: string, image: Buffer | null): Xml =>
  xml(
    'presence',
    '',
    { to },
    status === '' ? null : xml('status', '', {}, status),
    capabilities,
    image && xml('x', ns.vcardUpdate, {}, xml('photo', ns.vcardUpdate, {}, hashOf(image))),
  )

const result = (iq: Xml, ...children: Xml[]): Xml =>
  xml('iq', '', { type: 'result', id: iq.attrs.id, to: iq.attrs.from, from: iq.attrs.to }, ...children)

const card = (name: string, image: Buffer | null): Xml =>
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

/** An item of what would be our nodes, if a server kept them (XEP-0084). */
const avatarItem = (iq: Xml, image: Buffer): Xml | null => {
  const node = within(iq, ns.pubsub, 'pubsub', 'items')?.attrs.node
  if (node !== ns.avatarData && node !== ns.avatarMetadata) return null
  const payload =
    node === ns.avatarData ? xml('data', ns.avatarData, {}, image.toString('base64')) : avatarMetadata(image)
  const item = xml('item', ns.pubsub, { id: hashOf(image) }, payload)
  return result(iq, xml('pubsub', ns.pubsub, {}, xml('items', ns.pubsub, { node }, item)))
}

/**
 * Our answer to a question of somebody's: who we are, what we can do.
 * @param shows we keep our card and our picture ourselves, as a component does; else the server answers for us
 */
export const answerTo = async (iq: Xml, name: string, memory: Memory, shows: boolean): Promise<Xml> => {
  const [query] = elements(iq)
  if (iq.attrs.type === 'get' && query?.ns === ns.discoInfo) {
    const { node } = query.attrs
    const told = features.map((feature) => xml('feature', ns.discoInfo, { var: feature }))
    return result(iq, xml('query', ns.discoInfo, { node }, xml('identity', ns.discoInfo, identity), ...told))
  }
  if (iq.attrs.type === 'get' && query?.ns === ns.ping) return result(iq)
  if (iq.attrs.type === 'get' && shows) {
    const image = memory.now.picture ? await memory.image() : null
    if (child(iq, 'vCard', ns.vcardTemp)) return result(iq, card(name, image))
    const item = image && avatarItem(iq, image)
    if (item) return item
  }
  // A server tells us of its list of contacts (RFC 6121, 2.1.6).
  if (iq.attrs.type === 'set' && query?.ns === ns.roster && !shows) return result(iq)
  return refusal(iq, 'cancel', 'service-unavailable')
}
