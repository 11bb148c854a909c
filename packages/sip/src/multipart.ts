import { contentTypeOf } from './fields.ts'
import { readParams, split } from './grammar.ts'
import { type Header, header, SipError, type SipMessage, withHeader } from './message.ts'

const maxParts = 16

type Part = { readonly headers: readonly Header[]; readonly body: string }

const partOf = (text: string): Part => {
  const end = text.indexOf('\r\n\r\n')
  // A part may have no headers at all (RFC 2046, 5.1).
  const head = text.startsWith('\r\n') || end < 0 ? '' : text.slice(0, end)
  const headers = head.split('\r\n').flatMap((line): Header[] => {
    const colon = line.indexOf(':')
    return colon > 0 ? [[line.slice(0, colon).trim(), line.slice(colon + 1).trim()]] : []
  })
  return { headers, body: head === '' ? text.replace(/^\r\n/, '') : text.slice(end + 4) }
}

/** The parts of a body as Latin-1 text; null when it is not multipart or has too many parts. */
const partsOf = (message: SipMessage): Part[] | null => {
  const params = readParams(split(header(message, 'Content-Type') ?? '', ';').slice(1))
  const boundary = params.get('boundary')
  if (!boundary || boundary.length > 70) return null
  const [, ...pieces] = `\r\n${message.body.toString('latin1')}`.split(`\r\n--${boundary}`)
  const end = pieces.findIndex((piece) => piece.startsWith('--'))
  if (end < 1 || end > maxParts) return null
  return pieces.slice(0, end).map((piece) => partOf(piece.replace(/^[ \t]*\r\n/, '')))
}

const isUnencoded = (part: Part): boolean =>
  /^(?:binary|8bit|7bit)?$/i.test(header(part, 'Content-Transfer-Encoding') ?? '') &&
  header(part, 'Content-Encoding') === null

const isSdp = (part: Part): boolean =>
  header(part, 'Content-Type')?.split(';')[0]?.trim().toLowerCase() === 'application/sdp' &&
  /^(?:session\b|$)/i.test(header(part, 'Content-Disposition') ?? '')

/** True when the sender refuses a recipient that does not understand the part (RFC 3261, 20.11). */
const isRequired = (part: Part): boolean =>
  /;\s*handling\s*=\s*required/i.test(header(part, 'Content-Disposition') ?? '')

/**
 * Replaces a multipart body by its session description (RFC 5621); other messages are returned unchanged. Parts of
 * other types are skipped unless they require handling.
 */
export const withSdpPart = <M extends SipMessage>(message: M): M => {
  if (message.body.length === 0 || !contentTypeOf(message)?.startsWith('multipart/')) return message
  try {
    const parts = partsOf(message) ?? []
    const session = parts.find((part) => isSdp(part) && isUnencoded(part))
    if (!session || parts.some((part) => part !== session && isRequired(part))) return message
    return { ...withHeader(message, 'Content-Type', 'application/sdp'), body: Buffer.from(session.body, 'latin1') }
  } catch (error) {
    if (error instanceof SipError) return message
    throw error
  }
}
