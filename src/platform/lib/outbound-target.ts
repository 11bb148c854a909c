import { isIP } from 'node:net'

/** A parsed URL, before its name is resolved. */
export type Target = {
  readonly isSecure: boolean
  /** An IP address in canonical form, or a name in lower case without a dot at its end. */
  readonly host: string
  readonly isAddress: boolean
  readonly port: number
  /** Path and query. */
  readonly path: string
  /** Value of the header Host: with the port if it is not the default. */
  readonly hostHeader: string
}

export type TargetPolicy = { readonly allowPrivate: boolean; readonly http: boolean }

/** Characters of a URL with the fields of a GET. Addresses that are stored have shorter limits of their own. */
const maxLength = 16_384

/** Spaces, control characters and backslashes, which parsers interpret differently. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: the expression searches for control characters
const forbiddenCharacters = /[\u0000-\u0020\u007f\\]/

/** Names of this machine or of a private network (RFC 6761, 6762, 8375, and ICANN's `internal`). */
const privateName = /(?:^|\.)(?:localhost|local|localdomain|internal|intranet|lan|home\.arpa)$/

/**
 * Parses a URL by the WHATWG parser, as all of Node's clients do, so that the checked address is the one connected to:
 * it reads `2130706433`, `0x7f.1` and full-width digits as 127.0.0.1.
 * @returns the target, or the reason why the URL is refused independent of its addresses
 */
export const readTarget = (text: string, { allowPrivate, http }: TargetPolicy): Target | string => {
  if (text.length > maxLength) return `is longer than ${maxLength} characters`
  if (forbiddenCharacters.test(text)) return 'contains a space, a control character or a backslash: escape it'
  if (!URL.canParse(text)) return 'is not a web address such as https://example.com/path'
  const url = new URL(text)
  const isSecure = url.protocol === 'https:'
  if (!isSecure && url.protocol !== 'http:') return `begins with ${url.protocol.replace(/:$/, '')}: use https`
  if (!isSecure && !http) return 'begins with http: use https'
  if (url.username !== '' || url.password !== '') return 'contains a user or a password: remove them'
  if (text.includes('#')) return 'contains a fragment (#): remove it'
  const port = url.port === '' ? (isSecure ? 443 : 80) : Number(url.port)
  if (port !== 443 && port !== 80 && port < 1024) return `has port ${port}: use 443, 80, or one from 1024`
  const bare = url.hostname.replace(/^\[|\]$/g, '')
  const isAddress = isIP(bare) !== 0
  const host = isAddress ? bare : bare.replace(/\.$/, '')
  if (!isAddress && (host.length > 253 || !/^(?:[a-z0-9_-]+\.)*[a-z0-9_-]+$/.test(host)))
    return 'has a host that is neither a name nor an IP address'
  if (!isAddress && !allowPrivate && (privateName.test(host) || !host.includes('.')))
    return `leads to ${host}, a name of a private network`
  const usual = isSecure ? 443 : 80
  const shown = bare === host ? url.hostname : host
  const hostHeader = port === usual ? shown : `${shown}:${port}`
  return { isSecure, host, isAddress, port, path: url.pathname + url.search, hostHeader }
}
