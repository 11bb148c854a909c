import { createHash } from 'node:crypto'
import { isToken, quote, readParams, split } from '../grammar.ts'
import { SipError } from '../message.ts'

/** Digest authentication (RFC 7616): what client and server share. */

export type AuthHeader = {
  /** In lower case: `digest`. */
  readonly scheme: string
  readonly params: ReadonlyMap<string, string>
}

/** Reads a challenge or credentials. Null for a scheme without parameters, and for malformed input. */
export const readAuth = (value: string): AuthHeader | null => {
  const [, scheme = '', rest = ''] = /^(\S+)\s+(.*)$/s.exec(value) ?? []
  if (!isToken(scheme)) return null
  try {
    const params = readParams(split(rest, ',', false).filter((part) => part !== ''))
    return { scheme: scheme.toLowerCase(), params: new Map([...params].map(([name, text]) => [name, text ?? ''])) }
  } catch (error) {
    if (error instanceof SipError) return null
    throw error
  }
}

/** Best first (RFC 8760, 2.4). */
export const algorithms = ['SHA-512-256', 'SHA-256', 'MD5'] as const
export type Algorithm = (typeof algorithms)[number]

const hashes: Record<Algorithm, string> = { 'SHA-512-256': 'sha512-256', 'SHA-256': 'sha256', MD5: 'md5' }

/** MD5 when none is named (RFC 7616, 3.3); null for an unsupported algorithm. */
export const algorithmOf = (params: ReadonlyMap<string, string>): Algorithm | null => {
  const name = (params.get('algorithm') ?? 'MD5').toUpperCase()
  return algorithms.find((known) => known === name) ?? null
}

export type DigestInput = {
  readonly algorithm: Algorithm
  readonly username: string
  readonly password: string
  readonly realm: string
  readonly method: string
  readonly uri: string
  readonly nonce: string
  /** Null for a peer of RFC 2069, which has no qop. */
  readonly auth: { readonly nc: string; readonly cnonce: string } | null
}

/** The response of RFC 7616, 3.4.1, in hexadecimal. */
export const digest = ({ algorithm, username, password, realm, method, uri, nonce, auth }: DigestInput): string => {
  const hash = (text: string) => createHash(hashes[algorithm]).update(text).digest('hex')
  const secret = hash(`${username}:${realm}:${password}`)
  const middle = auth ? `${nonce}:${auth.nc}:${auth.cnonce}:auth` : nonce
  return hash(`${secret}:${middle}:${hash(`${method}:${uri}`)}`)
}

const unquotedParams = new Set(['algorithm', 'nc', 'stale'])

/** `Digest a="b", nc=00000001`. qop is quoted within a challenge only (RFC 7616, 3.3 and 3.4). */
export const printAuth = (params: Readonly<Record<string, string>>): string => {
  const isBare = (name: string) => unquotedParams.has(name) || (name === 'qop' && 'response' in params)
  const parts = Object.entries(params).map(([name, value]) => `${name}=${isBare(name) ? value : quote(value)}`)
  return `Digest ${parts.join(', ')}`
}
