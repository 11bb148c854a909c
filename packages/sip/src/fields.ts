import {
  isToken,
  noParams,
  type Params,
  printParams,
  quote,
  readNumber,
  readParams,
  split,
  unquote,
} from './grammar.ts'
import { header, headersOf, SipError, type SipMessage } from './message.ts'
import { checkUri, readHostPort } from './uri.ts'

/**
 * Header fields by their grammar (RFC 3261, 20). For a message accepted by `parseMessage`, no function here throws. For a
 * message built by other code, any of them may throw SipError.
 */

/** name-addr or addr-spec: `"Bob" <sip:bob@example.org>;tag=1`. */
export type NameAddr = {
  /** The display name, without quotes; empty when there is none. */
  readonly name: string
  /** The URI as received. */
  readonly uri: string
  /** Parameters of the header, not of the URI. */
  readonly params: Params
}

export const readNameAddr = (text: string): NameAddr => {
  const [, before = '', uri, behind = ''] = /^((?:[^"<]|"(?:[^"\\]|\\.)*")*)<([^>]*)>(.*)$/s.exec(text) ?? []
  if (uri === undefined) {
    const [address = '', ...params] = split(text, ';')
    // Without <>, a comma or a question mark would be ambiguous (20.10).
    if (/[,?<>"]/.test(address)) throw new SipError(`"${text.slice(0, 60)}" is not an address`)
    checkUri(address)
    return { name: '', uri: address, params: readParams(params) }
  }
  checkUri(uri)
  const name = before.trim()
  if (!name.startsWith('"') && /[,;"\\@]/.test(name)) throw new SipError('the display name must be quoted')
  const [nothing, ...params] = split(behind.trim(), ';')
  if (nothing !== '') throw new SipError(`"${text.slice(0, 60)}" is not an address`)
  return { name: unquote(name), uri, params: readParams(params) }
}

export const printNameAddr = ({
  name,
  uri,
  params = noParams,
}: Omit<NameAddr, 'params'> & { params?: Params }): string =>
  `${name === '' ? '' : `${quote(name)} `}<${uri}>${printParams(params)}`

/** Values of a list: all headers of the name, split at commas. */
const listValues = (message: SipMessage, name: string): string[] =>
  headersOf(message, name).flatMap((value) => split(value, ','))

const requiredHeader = (message: SipMessage, name: string): string => {
  const value = header(message, name)
  if (value === null) throw new SipError(`${name} is missing`)
  return value
}

export const fromOf = (message: SipMessage): NameAddr => readNameAddr(requiredHeader(message, 'From'))
export const toOf = (message: SipMessage): NameAddr => readNameAddr(requiredHeader(message, 'To'))
export const tagOf = (address: NameAddr): string | null => address.params.get('tag') ?? null

/** Addresses of Contact; `*` alone means all of them (10.2.2). */
export const contactsOf = (message: SipMessage): '*' | NameAddr[] => {
  const values = listValues(message, 'Contact')
  return values.length === 1 && values[0] === '*' ? '*' : values.map(readNameAddr)
}

export const routesOf = (message: SipMessage, name: 'Route' | 'Record-Route' | 'Path' | 'Service-Route'): NameAddr[] =>
  listValues(message, name).map(readNameAddr)

export type Via = {
  /** `UDP`, `TCP`, `TLS`, `WS`, `WSS` or an unknown one; in capitals. */
  readonly protocol: string
  readonly host: string
  readonly port: number | null
  readonly params: Params
}

export const readVia = (text: string): Via => {
  const [, protocol, rest = ''] = /^SIP\s*\/\s*2\.0\s*\/\s*([\w.!%*+`'~-]+)\s+(.*)$/is.exec(text) ?? []
  if (protocol === undefined) throw new SipError(`"${text.slice(0, 60)}" is not a Via`)
  const [sentBy = '', ...params] = split(rest, ';')
  return { protocol: protocol.toUpperCase(), ...readHostPort(sentBy), params: readParams(params) }
}

export const printVia = ({ protocol, host, port, params }: Via): string =>
  `SIP/2.0/${protocol} ${host}${port === null ? '' : `:${port}`}${printParams(params)}`

/** Newest first; at least one. */
export const viasOf = (message: SipMessage): [Via, ...Via[]] => {
  const [top, ...others] = listValues(message, 'Via').map(readVia)
  if (!top) throw new SipError('Via is missing')
  return [top, ...others]
}

/** The newest Via alone. */
export const topVia = (message: SipMessage): Via => {
  const [top = ''] = split(requiredHeader(message, 'Via'), ',')
  return readVia(top)
}

export const callIdOf = (message: SipMessage): string => {
  const value = requiredHeader(message, 'Call-ID')
  if (!/^[^\s]+$/.test(value)) throw new SipError('Call-ID is not one word')
  return value
}

export type CSeq = { readonly number: number; readonly method: string }

export const cseqOf = (message: SipMessage): CSeq => {
  const [, number, method = ''] = /^(\d+)\s+(\S+)$/.exec(requiredHeader(message, 'CSeq')) ?? []
  if (number === undefined || !isToken(method)) throw new SipError('CSeq is not a number and a method')
  return { number: readNumber(number, 2 ** 31 - 1, 'CSeq'), method }
}

/** Default: 70, for an element of RFC 2543 that sent none (8.1.1.6 has the figure). */
export const maxForwardsOf = (message: SipMessage): number => {
  const value = header(message, 'Max-Forwards')
  return value === null ? 70 : readNumber(value, 255, 'Max-Forwards')
}

const readSeconds = (text: string | null | undefined): number | null => {
  if (text === null || text === undefined) return null
  // Malformed values count as one hour (20.19), so that they lose no registration.
  return /^\d{1,10}$/.test(text) ? Math.min(Number(text), 2 ** 32 - 1) : 3_600
}

/** Requested seconds of a contact: its own parameter, else the header; null without either. */
export const expiresOf = (message: SipMessage, contact?: NameAddr): number | null =>
  readSeconds(contact?.params.get('expires')) ?? readSeconds(header(message, 'Expires'))

/** Lower-case tokens of a list such as Supported, Require or Allow. Methods keep their case. */
export const tokensOf = (message: SipMessage, name: string): string[] =>
  headersOf(message, name)
    .flatMap((value) => value.split(','))
    .map((part) => part.trim())
    .filter((part) => part !== '')
    .map((part) => (name === 'Allow' ? part : part.toLowerCase()))

export type SessionExpires = { readonly seconds: number; readonly refresher: 'uac' | 'uas' | null }

/** RFC 4028, 4. */
export const sessionExpiresOf = (message: SipMessage): SessionExpires | null => {
  const value = header(message, 'Session-Expires')
  if (value === null) return null
  const [number = '', ...params] = split(value, ';')
  const refresher = readParams(params).get('refresher')?.toLowerCase()
  return {
    seconds: readNumber(number, 2 ** 32 - 1, 'Session-Expires'),
    refresher: refresher === 'uac' || refresher === 'uas' ? refresher : null,
  }
}

/** Seconds (RFC 4028, 5). */
export const minSeOf = (message: SipMessage): number | null => {
  const value = header(message, 'Min-SE')
  return value === null ? null : readNumber(split(value, ';')[0] ?? '', 2 ** 32 - 1, 'Min-SE')
}

/** RFC 3262, 7.1. */
export const rseqOf = (message: SipMessage): number | null => {
  const value = header(message, 'RSeq')
  return value === null ? null : readNumber(value, 2 ** 32 - 1, 'RSeq')
}

export type RAck = { readonly rseq: number; readonly cseq: CSeq }

/** RFC 3262, 7.2. */
export const rackOf = (message: SipMessage): RAck | null => {
  const value = header(message, 'RAck')
  if (value === null) return null
  const [, rseq, number, method = ''] = /^(\d+)\s+(\d+)\s+(\S+)$/.exec(value) ?? []
  if (rseq === undefined || number === undefined) throw new SipError('RAck is not two numbers and a method')
  return {
    rseq: readNumber(rseq, 2 ** 32 - 1, 'RAck'),
    cseq: { number: readNumber(number, 2 ** 31 - 1, 'RAck'), method },
  }
}

/** Media type of the body in lower case, without parameters; null when there is none. */
export const contentTypeOf = (message: SipMessage): string | null =>
  header(message, 'Content-Type')?.split(';')[0]?.trim().toLowerCase() ?? null

/** Seconds to wait before another request to the peer (20.33); null when it is absent. */
export const retryAfterOf = (message: SipMessage): number | null => {
  const digits = /^\d{1,9}/.exec(header(message, 'Retry-After') ?? '')
  return digits ? Number(digits[0]) : null
}
