import { createHash } from 'node:crypto'
import type { IqResult } from '@trunkline/xmpp/iq-requests.ts'
import { ns } from '@trunkline/xmpp/namespaces.ts'
import type { Wire } from '@trunkline/xmpp/wire.ts'
import { child, descendant, elements, textOf, type XmlElement, xml } from '@trunkline/xmpp/xml.ts'
import type { ChatBusiness } from '../../ports/chat.ts'
import type { ServiceResult } from '../../ports/supplier.ts'
import { form } from './forms.ts'
import { maxPictureBytes } from './limits.ts'

export const pictureError = (image: Buffer): string | null =>
  image.length > maxPictureBytes ? `the picture has more than ${maxPictureBytes} bytes` : null

export const typeOfImage = (image: Buffer): string =>
  image.subarray(0, 4).toString('latin1') === '\x89PNG' ? 'image/png' : 'image/jpeg'

export const hashOf = (image: Buffer): string => createHash('sha1').update(image).digest('hex')

/** Builds the publication of an item, readable by everyone (XEP-0163). */
const publish = (node: string, id: string, payload: XmlElement): XmlElement =>
  xml(
    'pubsub',
    ns.pubsub,
    {},
    xml('publish', ns.pubsub, { node }, xml('item', ns.pubsub, { id }, payload)),
    xml(
      'publish-options',
      ns.pubsub,
      {},
      form('http://jabber.org/protocol/pubsub#publish-options', { 'pubsub#access_model': 'open' }),
    ),
  )

/** Publishes openly. A node restricted to our contacts is reconfigured first (XEP-0060, 7.1.5 and 8.2). */
const publishOpenly = async (wire: Wire, node: string, id: string, payload: XmlElement): Promise<IqResult> => {
  const set = (pubsub: XmlElement) => wire.request(xml('iq', '', { type: 'set' }, pubsub))
  const first = await set(publish(node, id, payload))
  if (first.outcome !== 'error' || first.condition !== 'conflict') return first
  const nodeConfig = form('http://jabber.org/protocol/pubsub#node_config', { 'pubsub#access_model': 'open' })
  const owner = `${ns.pubsub}#owner`
  await set(xml('pubsub', owner, {}, xml('configure', owner, { node }, nodeConfig)))
  return set(publish(node, id, payload))
}

const outcomeOf = (answer: IqResult): ServiceResult<null> => {
  if (answer.outcome === 'result') return { outcome: 'done', value: null }
  // Publishing the same item again changes nothing, so a retry is safe.
  if (answer.outcome === 'lost') return { outcome: 'later', seconds: 2, reason: answer.reason }
  return answer.waits
    ? { outcome: 'later', seconds: 10, reason: answer.reason }
    : { outcome: 'refused', reason: answer.reason }
}

export const avatarMetadata = (image: Buffer | null): XmlElement =>
  xml(
    'metadata',
    ns.avatarMetadata,
    {},
    image &&
      xml('info', ns.avatarMetadata, { id: hashOf(image), bytes: String(image.length), type: typeOfImage(image) }),
  )

/** Publishes a public picture, or removes it (XEP-0084). */
export const publishPicture = async (wire: Wire, image: Buffer | null): Promise<ServiceResult<null>> => {
  if (image) {
    const data = xml('data', ns.avatarData, {}, image.toString('base64'))
    const answer = outcomeOf(await publishOpenly(wire, ns.avatarData, hashOf(image), data))
    if (answer.outcome !== 'done') return answer
  }
  const id = image ? hashOf(image) : 'current'
  return outcomeOf(await publishOpenly(wire, ns.avatarMetadata, id, avatarMetadata(image)))
}

/** Stores a name in our roster (RFC 6121, 2.3), without a presence subscription. */
export const storeInRoster = async (wire: Wire, jid: string, name: string): Promise<ServiceResult<null>> => {
  const item = xml('item', ns.roster, { jid, name })
  return outcomeOf(await wire.request(xml('iq', '', { type: 'set' }, xml('query', ns.roster, {}, item))))
}

export type Profile = {
  readonly picture: string | null
  readonly pushname: string | null
  readonly business: ChatBusiness | null
}

const itemOf = async (wire: Wire, to: string, node: string): Promise<XmlElement | null> => {
  const items = xml('pubsub', ns.pubsub, {}, xml('items', ns.pubsub, { node, max_items: '1' }))
  const answer = await wire.request(xml('iq', '', { type: 'get', to }, items), 5_000)
  const item = answer.outcome === 'result' && descendant(answer.iq, ns.pubsub, 'pubsub', 'items', 'item')
  return (item && elements(item)[0]) || null
}

const trimmed = (text: string, most = 200): string => text.trim().slice(0, most)

/** Organisation data of a card (XEP-0292; RFC 6350, 6.1.4). */
const businessOf = (card: XmlElement): ChatBusiness | null => {
  const all = (name: string, value: string) =>
    elements(card, name, ns.vcard4).flatMap((one) => trimmed(textOf(child(one, value, ns.vcard4)), 1_000) || [])
  if (all('kind', 'text')[0] !== 'org') return null
  const [name] = all('fn', 'text')
  const [note] = all('note', 'text')
  const [email] = all('email', 'text')
  const [language] = all('lang', 'language-tag')
  const website = all('url', 'uri')
  const categories = all('categories', 'text').map((text) => ({ id: text, localized_display_name: text }))
  return {
    ...(name && { short_name: trimmed(name) }),
    ...(note && { description: note }),
    ...(email && { email: trimmed(email) }),
    ...(language && { lang_code: trimmed(language, 35) }),
    ...(website.length > 0 && { website }),
    ...(categories.length > 0 && { categories }),
  }
}

/** Public profile: the card and the web URL of the picture, if any. */
export const profileOf = async (wire: Wire, jid: string): Promise<Profile> => {
  const [card, metadata] = await Promise.all([itemOf(wire, jid, ns.vcard4Node), itemOf(wire, jid, ns.avatarMetadata)])
  const urls = metadata ? elements(metadata, 'info').flatMap(({ attrs: { url } }) => url ?? []) : []
  const name = card ? textOf(descendant(card, ns.vcard4, 'fn', 'text')) : ''
  return {
    picture: urls.find((url) => url.length < 2_000 && /^https?:/.test(url) && URL.canParse(url)) ?? null,
    pushname: trimmed(name, 100) || null,
    business: card ? businessOf(card) : null,
  }
}
