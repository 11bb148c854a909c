import type { ChatMediaType } from '../../connectors/message-port.ts'

const megabyte = 1024 * 1024

/** The largest files that are taken, in bytes: those that WhatsApp documents for its Cloud API. */
export const limits: { readonly [type in ChatMediaType]: number } = {
  image: 5 * megabyte,
  video: 16 * megabyte,
  audio: 16 * megabyte,
  document: 100 * megabyte,
}

/** What networks show as such; everything else travels as a document. */
const shown = new Map<string, ChatMediaType>(
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
const form = /^[\w.+-]{1,60}\/[\w.+-]{1,100}$/

/** The type that a header says, without its parameters; by the file's name where it says nothing. */
export const mimeOf = (header: string | null, name: string): string => {
  const mime = header?.split(';', 1)[0]?.trim().toLowerCase() ?? ''
  if (form.test(mime) && mime !== unknown && mime !== 'binary/octet-stream') return mime
  return byName.get(name.slice(name.lastIndexOf('.') + 1).toLowerCase()) ?? unknown
}

export const typeOf = (mime: string): ChatMediaType => shown.get(mime) ?? 'document'

/** Types that a browser may show in place: all others are kept as files. */
export const isShown = (mime: string): boolean => shown.has(mime)

/** The name of a file by the address that it is at. */
export const nameOf = (url: string): string => {
  const last = URL.canParse(url) ? (new URL(url).pathname.split('/').at(-1) ?? '') : ''
  try {
    return decodeURIComponent(last).replaceAll('\0', '').toWellFormed().slice(0, 200)
  } catch {
    return last.slice(0, 200)
  }
}
