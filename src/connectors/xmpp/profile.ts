import { createHash } from 'node:crypto'
import type { ChatBusiness } from '../chat-port.ts'
import type { Asked } from '../port.ts'
import { ns } from './codec/names.ts'
import { child, elements, textOf, within, type Xml, xml } from './codec/xml.ts'
import { form } from './forms.ts'
import type { Answer } from './requests.ts'
import type { Wire } from './wire.ts'

/** A stanza of most servers holds no more than 256 KiB, and base64 adds a third. */
const mostImage = 180_000

export const pictureFault = (image: Buffer): string | null =>
  image.length > mostImage ? `the picture has more than ${mostImage} bytes` : null

export const typeOfImage = (image: Buffer): string =>
  image.subarray(0, 4).toString('latin1') === '\x89PNG' ? 'image/png' : 'image/jpeg'

export const hashOf = (image: Buffer): string => createHash('sha1').update(image).digest('hex')

/** An item of a node of ours (XEP-0163), for everybody to see. */
const publish = (node: string, id: string, payload: Xml): Xml =>
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

/** A node that is there already for our contacts alone is opened first (XEP-0060, 7.1.5 and 8.2). */
const publishOpenly = async (wire: Wire, node: string, id: string, payload: Xml): Promise<Answer> => {
  const set = (pubsub: Xml) => wire.request(xml('iq', '', { type: 'set' }, pubsub))
  const first = await set(publish(node, id, payload))
  if (first.outcome !== 'error' || first.condition !== 'conflict') return first
  const wish = form('http://jabber.org/protocol/pubsub#node_config', { 'pubsub#access_model': 'open' })
  const owner = `${ns.pubsub}#owner`
  await set(xml('pubsub', owner, {}, xml('configure', owner, { node }, wish)))
  return set(publish(node, id, payload))
}

const askedOf = (answer: Answer): Asked<null> => {
  if (answer.outcome === 'result') return { outcome: 'done', value: null }
  // To publish the same again changes nothing: it may be asked again.
  if (answer.outcome === 'lost') return { outcome: 'later', seconds: 2, reason: answer.reason }
  return answer.waits
    ? { outcome: 'later', seconds: 10, reason: answer.reason }
    : { outcome: 'refused', reason: answer.reason }
}

export const avatarMetadata = (image: Buffer | null): Xml =>
  xml(
    'metadata',
    ns.avatarMetadata,
    {},
    image &&
      xml('info', ns.avatarMetadata, { id: hashOf(image), bytes: String(image.length), type: typeOfImage(image) }),
  )

/** Shows a picture to everybody, or none (XEP-0084). */
export const publishPicture = async (wire: Wire, image: Buffer | null): Promise<Asked<null>> => {
  if (image) {
    const data = xml('data', ns.avatarData, {}, image.toString('base64'))
    const answer = askedOf(await publishOpenly(wire, ns.avatarData, hashOf(image), data))
    if (answer.outcome !== 'done') return answer
  }
  const id = image ? hashOf(image) : 'current'
  return askedOf(await publishOpenly(wire, ns.avatarMetadata, id, avatarMetadata(image)))
}

/** Keeps a name in our list of contacts (RFC 6121, 2.3). Nobody is asked to show us their presence. */
export const keepInRoster = async (wire: Wire, jid: string, name: string): Promise<Asked<null>> => {
  const item = xml('item', ns.roster, { jid, name })
  return askedOf(await wire.request(xml('iq', '', { type: 'set' }, xml('query', ns.roster, {}, item))))
}

export type Profile = {
  readonly picture: string | null
  readonly pushname: string | null
  readonly business: ChatBusiness | null
}

const itemOf = async (wire: Wire, to: string, node: string): Promise<Xml | null> => {
  const items = xml('pubsub', ns.pubsub, {}, xml('items', ns.pubsub, { node, max_items: '1' }))
  const answer = await wire.request(xml('iq', '', { type: 'get', to }, items), 5_000)
  const item = answer.outcome === 'result' && within(answer.iq, ns.pubsub, 'pubsub', 'items', 'item')
  return (item && elements(item)[0]) || null
}

const line = (text: string, most = 200): string => text.trim().slice(0, most)

/** What a card tells of an organisation (XEP-0292, RFC 6350, 6.1.4). */
const businessOf = (card: Xml): ChatBusiness | null => {
  const all = (name: string, value: string) =>
    elements(card, name, ns.vcard4).flatMap((one) => line(textOf(child(one, value, ns.vcard4)), 1_000) || [])
  if (all('kind', 'text')[0] !== 'org') return null
  const [name] = all('fn', 'text')
  const [note] = all('note', 'text')
  const [email] = all('email', 'text')
  const [language] = all('lang', 'language-tag')
  const website = all('url', 'uri')
  const categories = all('categories', 'text').map((text) => ({ id: text, localized_display_name: text }))
  return {
    ...(name && { short_name: line(name) }),
    ...(note && { description: note }),
    ...(email && { email: line(email) }),
    ...(language && { lang_code: line(language, 35) }),
    ...(website.length > 0 && { website }),
    ...(categories.length > 0 && { categories }),
  }
}

/** What somebody shows to everybody: the card, and where the picture lies on the Web if it does. */
export const profileOf = async (wire: Wire, jid: string): Promise<Profile> => {
  const [card, metadata] = await Promise.all([itemOf(wire, jid, ns.vcard4Node), itemOf(wire, jid, ns.avatarMetadata)])
  const urls = metadata ? elements(metadata, 'info').flatMap(({ attrs: { url } }) => url ?? []) : []
  const name = card ? textOf(within(card, ns.vcard4, 'fn', 'text')) : ''
  return {
    picture: urls.find((url) => url.length < 2_000 && /^https?:/.test(url) && URL.canParse(url)) ?? null,
    pushname: line(name, 100) || null,
    business: card ? businessOf(card) : null,
  }
}
