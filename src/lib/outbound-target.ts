import { isIP } from 'node:net'

/** Where an address (URL) leads, before any name is resolved. */
export type Target = {
  readonly isSecure: boolean
  /** An IP address in canonical form, or a name in lower case without a dot at its end. */
  readonly host: string
  readonly isAddress: boolean
  readonly port: number
  /** Path and query. */
  readonly path: string
  /** What the header Host says: with the port where it is not the usual one. */
  readonly hostHeader: string
}

export type TargetPolicy = { readonly allowPrivate: boolean; readonly http: boolean }

const longest = 2048

/** Spaces, control characters and back-slashes: parsers disagree about what they mean, so nobody may. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const odd = /[\u0000-\u0020\u007f\\]/

/** Names that lead to this machine or into a private network (RFC 6761, 6762, 8375, and ICANN's `internal`). */
const privateName = /(?:^|\.)(?:localhost|local|localdomain|internal|intranet|lan|home\.arpa)$/

/**
 * Reads the text of an address by the one parser there is (WHATWG, as all of Node's clients), so that what is judged is what
 * is connected to: `2130706433`, `0x7f.1` and full-width digits are 127.0.0.1 by then.
 * @returns the target, or why the address is refused whatever stands behind it
 */
export const readTarget = (text: string, { allowPrivate, http }: TargetPolicy): Target | string => {
  if (text.length > longest) return `is longer than ${longest} characters`
  if (odd.test(text)) return 'holds a space, a control character or a back-slash: escape it'
  if (!URL.canParse(text)) return 'is no address such as https://example.com/hook'
  const url = new URL(text)
  const isSecure = url.protocol === 'https:'
  if (!isSecure && url.protocol !== 'http:') return `begins with ${url.protocol.replace(/:$/, '')}: use https`
  if (!isSecure && !http) return 'begins with http: use https'
  if (url.username !== '' || url.password !== '') return 'holds a user or a password: leave them out'
  if (text.includes('#')) return 'holds a fragment (#): leave it out'
  const port = url.port === '' ? (isSecure ? 443 : 80) : Number(url.port)
  if (port !== 443 && port !== 80 && port < 1024) return `names port ${port}: use 443, 80, or one from 1024`
  const bare = url.hostname.replace(/^\[|\]$/g, '')
  const isAddress = isIP(bare) !== 0
  const host = isAddress ? bare : bare.replace(/\.$/, '')
  if (!isAddress && (host.length > 253 || !/^(?:[a-z0-9_-]+\.)*[a-z0-9_-]+$/.test(host)))
    return 'has a host that is no name and no IP address'
  if (!isAddress && !allowPrivate && (privateName.test(host) || !host.includes('.')))
    return `leads to ${host}, a name of a private network`
  const usual = isSecure ? 443 : 80
  const shown = bare === host ? url.hostname : host
  const hostHeader = port === usual ? shown : `${shown}:${port}`
  return { isSecure, host, isAddress, port, path: url.pathname + url.search, hostHeader }
}
