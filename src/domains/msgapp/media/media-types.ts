import { mediaTypeOf } from '../../../platform/lib/media-type.ts'
import { storable } from '../../../platform/lib/storable.ts'
import type { ChatMediaType } from '../../../ports/chat-message.ts'

const megabyte = 1024 * 1024

/** Largest accepted files, in bytes: the limits that WhatsApp documents for its Cloud API. */
export const maxBytes: { readonly [type in ChatMediaType]: number } = {
  image: 5 * megabyte,
  video: 16 * megabyte,
  audio: 16 * megabyte,
  document: 100 * megabyte,
}

/** MIME types that networks display; all others are sent as documents. */
const displayableTypes = new Map<string, ChatMediaType>(
  Object.entries({
    'image/jpeg': 'image',
    'image/png': 'image',
    'image/webp': 'image',
    'video/mp4': 'video',
    'video/3gpp': 'video',
    'audio/aac': 'audio',
    'audio/amr': 'audio',
    'audio/mpeg': 'audio',
    'audio/mp4': 'audio',
    'audio/ogg': 'audio',
  }),
)

const byName = new Map<string, string>(
  Object.entries({
    jpg: 'image/jpeg',
    jpeg: 'image/jpeg',
    png: 'image/png',
    webp: 'image/webp',
    mp4: 'video/mp4',
    '3gp': 'video/3gpp',
    mp3: 'audio/mpeg',
    m4a: 'audio/mp4',
    ogg: 'audio/ogg',
    pdf: 'application/pdf',
    csv: 'text/csv',
    txt: 'text/plain',
  }),
)

const unknown = 'application/octet-stream'
const namePattern = /^[\w.+-]{1,60}\/[\w.+-]{1,100}$/

/** Returns the MIME type of a header, without parameters; derived from the file name if the header is empty. */
export const mimeOf = (header: string | null, name: string): string => {
  const mime = mediaTypeOf(header)
  if (namePattern.test(mime) && mime !== unknown && mime !== 'binary/octet-stream') return mime
  return byName.get(name.slice(name.lastIndexOf('.') + 1).toLowerCase()) ?? unknown
}

export const typeOf = (mime: string): ChatMediaType => displayableTypes.get(mime) ?? 'document'

/** Whether a browser may display the type inline; all others are downloads. */
export const isDisplayable = (mime: string): boolean => displayableTypes.has(mime)

/** Derives a file name from its URL. */
export const nameOf = (url: string): string => {
  const last = URL.canParse(url) ? (new URL(url).pathname.split('/').at(-1) ?? '') : ''
  try {
    return storable(decodeURIComponent(last), 200)
  } catch {
    return last.slice(0, 200)
  }
}
