import type { ChatMediaRef, ChatMediaType, ChatPin } from '../message-port.ts'
import { ns } from './codec/names.ts'
import { child, textOf, type Xml } from './codec/xml.ts'

/** What a message says: text, a file behind an address, a place. Markup of any kind is left alone. */
export type Contents = {
  readonly text: string | null
  readonly media: ChatMediaRef | null
  readonly pin: ChatPin | null
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

/** The last part of a path, readable; null for one that is no name. */
const nameIn = (path: string): string | null => {
  const last = path.split('/').at(-1) ?? ''
  try {
    return decodeURIComponent(last).slice(0, 200) || null
  } catch {
    return last.slice(0, 200) || null
  }
}

/** A file behind an address of the Web (XEP-0066); null for other addresses, such as `aesgcm:`. */
const mediaAt = (address: string): ChatMediaRef | null => {
  if (address.length > 2_000 || !URL.canParse(address)) return null
  const { protocol, pathname, href } = new URL(address)
  if (protocol !== 'https:' && protocol !== 'http:') return null
  const name = nameIn(pathname)
  const ending = name?.split('.').at(-1)?.toLowerCase() ?? ''
  const [type, mimeType] = types.get(ending) ?? (['document', null] as const)
  return { ref: { url: href }, type, mimeType, name, size: null }
}

const pinOf = (latitude: number, longitude: number, name = ''): ChatPin | null =>
  Math.abs(latitude) <= 90 && Math.abs(longitude) <= 180 ? { latitude, longitude, ...(name && { name }) } : null

/** `geo:51.5,-0.12` (RFC 5870), or the element of XEP-0080. */
const placeIn = (message: Xml, body: string): ChatPin | null => {
  const [, latitude, longitude] = /^geo:(-?\d{1,3}(?:\.\d{1,15})?),(-?\d{1,3}(?:\.\d{1,15})?)/.exec(body.trim()) ?? []
  if (latitude && longitude) return pinOf(Number(latitude), Number(longitude))
  const place = child(message, 'geoloc', ns.geoloc)
  if (!place) return null
  const [north, east] = ['lat', 'lon'].map((name) => Number(textOf(child(place, name, ns.geoloc)) || Number.NaN))
  return pinOf(north ?? Number.NaN, east ?? Number.NaN, textOf(child(place, 'text', ns.geoloc)).slice(0, 200))
}

/** Null when it says nothing: a chat state, a receipt. */
export const readContents = (message: Xml): Contents | null => {
  const body = textOf(child(message, 'body', ''))
  const shared = child(message, 'x', ns.oob)
  const address = textOf(shared && child(shared, 'url', ns.oob)).trim()
  const media = address ? mediaAt(address) : null
  const pin = placeIn(message, body)
  const isSaid = media ? body.trim() === address : pin !== null && body.trim().startsWith('geo:')
  const text = isSaid || body === '' ? null : body
  return text === null && !media && !pin ? null : { text, media, pin }
}
