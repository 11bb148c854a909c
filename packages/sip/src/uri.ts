import { isIPv4, isIPv6 } from 'node:net'
import { readNumber } from './grammar.ts'
import { SipError } from './message.ts'

/** A SIP or SIPS URI (RFC 3261, 19.1). */
export type SipUri = {
  readonly scheme: 'sip' | 'sips'
  /** As received, escapes included; null when there is none. */
  readonly user: string | null
  /** In lower case; an IPv6 address in brackets. */
  readonly host: string
  readonly port: number | null
  /** Names in lower case; values as received. */
  readonly params: ReadonlyMap<string, string | null>
  /** The part after `?`, as received. */
  readonly headers: string | null
}

const label = '[a-z0-9](?:[a-z0-9_-]*[a-z0-9])?'
const hostName = new RegExp(`^(?:${label}\\.)*${label}\\.?$`, 'i')

/** @throws SipError */
export const readHostPort = (text: string): { host: string; port: number | null } => {
  const [, host = '', port] = /^(\[[^\]]*\]|[^:\s]*)\s*(?::\s*(\d+))?$/.exec(text) ?? []
  const isAddress = host.startsWith('[') ? isIPv6(host.slice(1, -1)) : isIPv4(host)
  const isHost = isAddress || (host.length <= 255 && hostName.test(host) && !/^[\d.]+$/.test(host))
  if (!isHost) throw new SipError(`"${text.slice(0, 60)}" is not a host`)
  return { host: host.toLowerCase(), port: port === undefined ? null : readNumber(port, 65_535, 'the port') }
}

const userPart = /^(?:[\w.!~*'()&=+$,;?/-]|%[\da-f]{2})+$/i
const passwordPart = /^(?:[\w.!~*'()&=+$,-]|%[\da-f]{2})*$/i
const uriParam = /^((?:[\w.!~*'()[\]/:&+$-]|%[\da-f]{2})+)(?:=((?:[\w.!~*'()[\]/:&+$-]|%[\da-f]{2})+))?$/i

const readUriParams = (text: string): Map<string, string | null> => {
  const params = new Map<string, string | null>()
  if (text === '') return params
  for (const part of text.slice(1).split(';')) {
    const [, name, value = null] = uriParam.exec(part) ?? []
    const key = name?.toLowerCase()
    if (key === undefined || params.has(key)) throw new SipError(`"${part.slice(0, 40)}" is not a parameter of a URI`)
    params.set(key, value)
  }
  return params
}

/** @throws SipError when it is not a SIP or SIPS URI */
export const readUri = (text: string): SipUri => {
  const [, scheme = '', rest = ''] = /^(sips?):(.*)$/is.exec(text) ?? []
  if (scheme === '') throw new SipError(`"${text.slice(0, 60)}" is not a SIP URI`, 416)
  const at = rest.indexOf('@')
  const [user = null, password = ''] = at < 0 ? [] : (/^([^:]*):?(.*)$/s.exec(rest.slice(0, at))?.slice(1) ?? [])
  if (user !== null && !(userPart.test(user) && passwordPart.test(password)))
    throw new SipError(`"${rest.slice(0, 60)}" has an invalid user part`)
  const [, hostPort = '', params = '', headers = null] =
    /^([^;?]*)((?:;[^?]*)?)(?:\?(.*))?$/s.exec(rest.slice(at + 1)) ?? []
  if (headers !== null && !/^[\x21-\x7e]*$/.test(headers)) throw new SipError('the headers of the URI are invalid')
  return {
    scheme: scheme.toLowerCase() === 'sips' ? 'sips' : 'sip',
    user,
    ...readHostPort(hostPort),
    params: readUriParams(params),
    headers,
  }
}

/** Reads a SIP URI; null for another scheme or invalid text. */
export const uriOf = (text: string): SipUri | null => {
  try {
    return readUri(text)
  } catch (error) {
    if (error instanceof SipError) return null
    throw error
  }
}

/** Checks a URI of any scheme in an address or request line. @throws SipError when it is malformed */
export const checkUri = (text: string): void => {
  if (/^sips?:/i.test(text)) readUri(text)
  else if (!/^[a-z][a-z\d+.-]*:[\x21\x23-\x3b\x3d\x3f-\x7e]+$/i.test(text))
    throw new SipError(`"${text.slice(0, 60)}" is not a URI`)
}

export const printUri = (uri: SipUri): string => {
  let text = `${uri.scheme}:${uri.user === null ? '' : `${uri.user}@`}${uri.host}`
  if (uri.port !== null) text += `:${uri.port}`
  for (const [name, value] of uri.params) text += value === null ? `;${name}` : `;${name}=${value}`
  return uri.headers === null ? text : `${text}?${uri.headers}`
}

/** The user part without escapes; null when there is none, or its escapes are invalid. */
export const userOf = (uri: SipUri): string | null => {
  try {
    return uri.user === null ? null : decodeURIComponent(uri.user)
  } catch {
    return null
  }
}

/** Escapes a text for the user part of a URI (19.1.2). */
export const escapeUser = (text: string): string =>
  encodeURIComponent(text).replace(/%(?:2B|24|26|3D|2C|3B|3F|2F)/g, decodeURIComponent)
