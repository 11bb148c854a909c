import { ns } from '@trunkline/xmpp/namespaces.ts'
import { child, textOf, type XmlElement } from '@trunkline/xmpp/xml.ts'
import type { ChatLocation, ChatMediaRef, ChatMediaType } from '../../ports/chat-message.ts'

/** Content of a message: text, a file by URL, a location. Markup of any kind is ignored. */
export type Contents = {
  readonly text: string | null
  readonly media: ChatMediaRef | null
  readonly pin: ChatLocation | null
}

const types = new Map<string, readonly [ChatMediaType, string]>(
  Object.entries({
    jpg: ['image', 'image/jpeg'],
    jpeg: ['image', 'image/jpeg'],
    png: ['image', 'image/png'],
    gif: ['image', 'image/gif'],
    webp: ['image', 'image/webp'],
    mp4: ['video', 'video/mp4'],
    webm: ['video', 'video/webm'],
    mp3: ['audio', 'audio/mpeg'],
    ogg: ['audio', 'audio/ogg'],
    m4a: ['audio', 'audio/mp4'],
    pdf: ['document', 'application/pdf'],
  }),
)

/** The decoded last part of a path, or null. */
const fileNameIn = (path: string): string | null => {
  const last = path.split('/').at(-1) ?? ''
  try {
    return decodeURIComponent(last).slice(0, 200) || null
  } catch {
    return last.slice(0, 200) || null
  }
}

/** A file behind a Web URL (XEP-0066); null for other schemes such as `aesgcm:`. */
const mediaAt = (address: string): ChatMediaRef | null => {
  if (address.length > 2_000 || !URL.canParse(address)) return null
  const { protocol, pathname, href } = new URL(address)
  if (protocol !== 'https:' && protocol !== 'http:') return null
  const name = fileNameIn(pathname)
  const ending = name?.split('.').at(-1)?.toLowerCase() ?? ''
  const [type, mimeType] = types.get(ending) ?? (['document', null] as const)
  return { ref: { url: href }, type, mimeType, name, size: null }
}

const pinOf = (latitude: number, longitude: number, name = ''): ChatLocation | null =>
  Math.abs(latitude) <= 90 && Math.abs(longitude) <= 180 ? { latitude, longitude, ...(name && { name }) } : null

/** Location from `geo:51.5,-0.12` (RFC 5870) or from the element of XEP-0080. */
const locationIn = (message: XmlElement, body: string): ChatLocation | null => {
  const [, latitude, longitude] = /^geo:(-?\d{1,3}(?:\.\d{1,15})?),(-?\d{1,3}(?:\.\d{1,15})?)/.exec(body.trim()) ?? []
  if (latitude && longitude) return pinOf(Number(latitude), Number(longitude))
  const place = child(message, 'geoloc', ns.geoloc)
  if (!place) return null
  const [north, east] = ['lat', 'lon'].map((name) => Number(textOf(child(place, name, ns.geoloc)) || Number.NaN))
  return pinOf(north ?? Number.NaN, east ?? Number.NaN, textOf(child(place, 'text', ns.geoloc)).slice(0, 200))
}

/** Returns null for a message without content, such as a chat state or receipt. */
export const readContents = (message: XmlElement): Contents | null => {
  const body = textOf(child(message, 'body', ''))
  const shared = child(message, 'x', ns.oob)
  const address = textOf(shared && child(shared, 'url', ns.oob)).trim()
  const media = address ? mediaAt(address) : null
  const pin = locationIn(message, body)
  const isSaid = media ? body.trim() === address : pin !== null && body.trim().startsWith('geo:')
  const text = isSaid || body === '' ? null : body
  return text === null && !media && !pin ? null : { text, media, pin }
}
