import * as fields from './fields.ts'
import { isToken, readNumber } from './grammar.ts'
import { canonicalName, type Header, headersOf, SipError, type SipMessage, type SipRequest } from './message.ts'
import { checkUri, uriOf } from './uri.ts'

/** Input that is not a SIP message, or not a safe one. */
export type MalformedMessage = {
  readonly kind: 'malformed'
  readonly status: number
  readonly reason: string
  /** The request, if it can be answered: its Via, From, To, Call-ID and CSeq are valid. */
  readonly request: SipRequest | null
}

/** Maximum octets of a message, head and body: more than UDP carries, and more than any SDP seen so far. */
export const maxMessageLength = 65_536
const maxHeaders = 200

type Start = Pick<SipRequest, 'kind' | 'method' | 'uri'> | { kind: 'response'; status: number; reason: string }

const readStart = (line: string): Start => {
  const response = /^SIP\/2\.0 ([1-6]\d\d)(?: (.*))?$/is.exec(line)
  if (response) return { kind: 'response', status: Number(response[1]), reason: response[2] ?? '' }
  // Exactly one space each (7.1): with more, or with brackets around the URI, others may read another request.
  const [, method = '', uri = '', version = ''] = /^(\S+) (\S+) SIP\/(\d+\.\d+)$/i.exec(line) ?? []
  if (!isToken(method)) throw new SipError('the first line is neither a request nor a response')
  return version === '2.0' ? { kind: 'request', method, uri } : { kind: 'request', method: `?${version}`, uri }
}

const readHeader = (line: string): Header => {
  const colon = line.indexOf(':')
  const name = line.slice(0, Math.max(0, colon)).trimEnd()
  if (!isToken(name)) throw new SipError(`"${line.slice(0, 40)}" is not a header`)
  return [canonicalName(name), line.slice(colon + 1).trim()]
}

/** Headers of which a second value would let two readers see two messages. */
const singleValueHeaders = [
  ...['From', 'To', 'Call-ID', 'CSeq', 'Max-Forwards', 'Content-Length', 'Content-Type', 'Content-Encoding'],
  ...['Session-Expires', 'Min-SE', 'RAck', 'RSeq', 'Event', 'Refer-To', 'Replaces'],
]
const singleValueNames = new Set(singleValueHeaders)

const checkSingle = (headers: readonly Header[]): void => {
  const seen = new Set<string>()
  for (const [name] of headers) {
    if (!singleValueNames.has(name)) continue
    if (seen.has(name)) throw new SipError(`${name} is given twice`)
    seen.add(name)
  }
}

/** Checks what every response copies from its request (8.2.6.2). */
const checkCore = (message: SipMessage): void => {
  fields.viasOf(message)
  for (const { params } of [fields.fromOf(message), fields.toOf(message)])
    if (params.get('tag') === null) throw new SipError('a tag has no value')
  fields.callIdOf(message)
  fields.cseqOf(message)
}

const checkVersion = (message: SipMessage): void => {
  if (message.kind === 'request' && message.method.startsWith('?'))
    throw new SipError(`SIP ${message.method.slice(1)} is not spoken here`, 505)
}

const checkRequest = (request: SipRequest): void => {
  checkUri(request.uri)
  // 19.1.5: a Request-URI has no headers; obeying them would let a caller choose the route.
  if (uriOf(request.uri)?.headers) throw new SipError('the Request-URI has headers')
  if (fields.cseqOf(request).method !== request.method) throw new SipError('CSeq names another method')
}

/** Checks every other field that later code reads, so that those reads never throw. */
const checkRest = (message: SipMessage): void => {
  fields.contactsOf(message)
  fields.routesOf(message, 'Route')
  fields.routesOf(message, 'Record-Route')
  fields.routesOf(message, 'Path')
  fields.maxForwardsOf(message)
  fields.sessionExpiresOf(message)
  fields.minSeOf(message)
  fields.rseqOf(message)
  fields.rackOf(message)
}

const readHead = (head: string): { start: Start; headers: Header[] } => {
  // A line that begins with white space continues the previous one (7.3.1).
  const [first = '', ...lines] = head.replace(/\r\n[ \t]+/g, ' ').split('\r\n')
  if (/[\r\n]/.test(first) || lines.some((line) => /[\r\n]/.test(line))) throw new SipError('a line ends without CRLF')
  if (lines.length > maxHeaders) throw new SipError(`more than ${maxHeaders} headers`)
  return { start: readStart(first), headers: lines.map(readHeader) }
}

const makeMessage = (start: Start, headers: readonly Header[], body: Buffer): SipMessage => ({
  ...start,
  headers,
  body,
})

const answerableRequest = (message: SipMessage): SipRequest | null => {
  if (message.kind === 'response' || message.method === 'ACK') return null
  try {
    checkCore(message)
    checkSingle(message.headers.filter(([name]) => name !== 'Content-Length'))
    return message.method.startsWith('?') ? { ...message, method: fields.cseqOf(message).method } : message
  } catch {
    return null
  }
}

/** Length of the body; null without Content-Length. @throws SipError */
export const contentLength = (headed: { readonly headers: readonly Header[] }): number | null => {
  const [value, second] = headersOf(headed, 'Content-Length')
  if (second !== undefined) throw new SipError('Content-Length is given twice')
  return value === undefined ? null : readNumber(value, 2 ** 31, 'Content-Length')
}

/**
 * Octets before the body, including the empty line; -1 when the head has not ended.
 * @param from octets known to contain no end of the head
 */
export const headLength = (octets: Buffer, from = 0): number => {
  const end = octets.indexOf('\r\n\r\n', from)
  return end < 0 ? -1 : end + 4
}

/** Length of the body that a head on a stream announces (18.3). @throws SipError when it is missing or invalid */
export const bodyLength = (head: Buffer): number => {
  const length = contentLength(readHead(head.toString('utf8', 0, head.length - 4)))
  if (length === null) throw new SipError('Content-Length is missing on a stream')
  return length
}

/**
 * Reads one message: a datagram, or one message of a stream. Octets after the body are ignored (18.3). Never throws.
 */
export const parseMessage = (datagram: Buffer): SipMessage | MalformedMessage => {
  let message: SipMessage | null = null
  try {
    if (datagram.length > maxMessageLength) throw new SipError('the message is too large', 513)
    // Empty lines before a message are ignored (7.5).
    let from = 0
    while (datagram[from] === 13 && datagram[from + 1] === 10) from += 2
    const octets = datagram.subarray(from)
    const length = headLength(octets)
    if (length < 0) throw new SipError('the head has no end')
    const { start, headers } = readHead(octets.toString('utf8', 0, length - 4))
    message = makeMessage(start, headers, octets.subarray(length))
    const announced = contentLength(message)
    if (announced !== null && announced > message.body.length)
      throw new SipError('the body is shorter than Content-Length')
    if (announced !== null) message = makeMessage(start, headers, message.body.subarray(0, announced))
    checkVersion(message)
    checkSingle(headers)
    checkCore(message)
    if (message.kind === 'request') checkRequest(message)
    checkRest(message)
    return message
  } catch (error) {
    if (!(error instanceof SipError)) throw error
    return {
      kind: 'malformed',
      status: error.status,
      reason: error.message,
      request: message && answerableRequest(message),
    }
  }
}

/** True for the keep-alive of a NAT or peer: CRLF alone (RFC 5626, 3.5.1), or zeros. */
export const isKeepAlive = (octets: Buffer): boolean =>
  octets.every((octet) => octet === 13 || octet === 10 || octet === 0)
