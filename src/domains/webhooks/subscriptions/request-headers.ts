import { mask } from '../../../platform/http/confidential.ts'
import type { Seal } from '../../../platform/lib/secret.ts'
import { maxRequestHeaders, maxRequestHeadersLength, minHiddenLength } from '../limits.ts'
import { refusals } from '../refusals.ts'
import type { SealedHeaders } from '../store.ts'

// Headers that a webhook sends with each call, credentials among them. They are sealed together, apart from the address,
// and no answer shows a value.

/** Name and value. */
export type RequestHeader = readonly [name: string, value: string]

/** The fields of a request. `null` removes. */
export type HeadersRequest = {
  readonly headers?: Readonly<Record<string, string>> | null
  readonly basic_auth?: { readonly username: string; readonly password: string } | null
}

const authorization = 'Authorization'

/** A name of a header (RFC 9110, 5.6.2). */
const token = /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,64}$/

/** Headers of the call itself: of the platform, of its body, of the connection (RFC 9110, 7.6.1) and of proxies. */
const reserved =
  /^(?:host|user-agent|date|connection|keep-alive|transfer-encoding|te|trailer|upgrade|expect|http2-settings|accept-encoding|(?:webhook|content|proxy)-.*)$/i

/** Characters of a value: printable ASCII and tabs (RFC 9110, 5.5). */
const valueText = /^[\t -~]*$/

const controlCharacter = /\p{Cc}/u

const placeOf = (webhook: string): string => `webhook headers ${webhook}`

/** @returns null: no headers */
export const sealHeaders = (seal: Seal, webhook: string, headers: readonly RequestHeader[]): SealedHeaders | null =>
  headers.length === 0
    ? null
    : {
        sealed: seal.closeBytes(Buffer.from(JSON.stringify(headers)), placeOf(webhook)),
        names: headers.map(([name]) => name),
      }

export const openHeaders = (seal: Seal, webhook: string, sealed: Buffer | null): readonly RequestHeader[] =>
  sealed === null ? [] : JSON.parse(seal.openBytes(sealed, placeOf(webhook)).toString('utf8'))

const isNamed =
  (name: string) =>
  ([other]: RequestHeader): boolean =>
    other.toLowerCase() === name.toLowerCase()

/** Returns a header as it is sent. @throws the 400 Problem */
const checked = (name: string, value: string): RequestHeader => {
  if (!token.test(name)) throw refusals.headerNameInvalid(name)
  if (reserved.test(name)) throw refusals.headerReserved(name)
  if (valueText.test(value) && value.trim() !== '') return [name, value.trim()]
  throw refusals.headerValueInvalid(
    name,
    value.trim() === '' ? 'empty' : controlCharacter.test(value) ? 'control' : 'other',
  )
}

/** Returns the header of Basic credentials (RFC 7617, in UTF-8). @throws the 400 Problem */
const basicHeader = ({ username, password }: NonNullable<HeadersRequest['basic_auth']>): RequestHeader => {
  if (username === '' && password === '') throw refusals.basicAuthEmpty()
  if (username.includes(':')) throw refusals.basicAuthInvalid('username', 'a colon')
  for (const [field, text] of Object.entries({ username, password })) {
    // A client that returns what it was shown would replace the secret by its mask.
    if (text === mask) throw refusals.basicAuthMasked(field)
    if (controlCharacter.test(text)) throw refusals.basicAuthInvalid(field, 'a line break or another control character')
  }
  return [authorization, `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`]
}

export const setsHeaders = ({ headers, basic_auth }: HeadersRequest): boolean =>
  headers !== undefined || basic_auth !== undefined

/**
 * Returns the headers of a webhook after a request: `headers` replaces all, and `basic_auth` replaces Authorization. The
 * mask as a value keeps the stored one.
 * @param stored null: the address is another one, to which stored values must not be sent
 * @throws the 400 Problem
 */
export const headersAfter = (
  request: HeadersRequest,
  stored: readonly RequestHeader[] | null,
): readonly RequestHeader[] => {
  const { headers, basic_auth: basic } = request
  const kept = (name: string): RequestHeader => {
    const found = stored?.find(isNamed(name))
    if (found) return found
    throw stored ? refusals.headerNotStored(name) : refusals.headersRequired()
  }
  if (headers === undefined && stored === null) throw refusals.headersRequired()
  const listed =
    headers === undefined
      ? (stored ?? []).filter((one) => !isNamed(authorization)(one))
      : Object.entries(headers ?? {}).map(([name, value]) => (value === mask ? kept(name) : checked(name, value)))
  const all = basic ? [...listed, basicHeader(basic)] : listed
  const twice = all.find(([name], i) => all.findIndex(isNamed(name)) !== i)
  if (twice) throw refusals.headerTwice(twice[0])
  if (all.length > maxRequestHeaders) throw refusals.tooManyHeaders(all.length, maxRequestHeaders)
  const length = all.reduce((sum, [name, value]) => sum + name.length + value.length, 0)
  if (length > maxRequestHeadersLength) throw refusals.headersTooLong(length, maxRequestHeadersLength)
  return all
}

/** Returns texts to hide where a receiver repeats what it was sent: the values, and the parts of credentials. */
export const secretsOf = (headers: readonly RequestHeader[]): readonly string[] =>
  headers
    .flatMap(([name, value]) => {
      const [, scheme, credentials = ''] =
        /^(\w+) +(.+)$/.exec(isNamed(authorization)([name, value]) ? value : '') ?? []
      const password =
        scheme === 'Basic' ? Buffer.from(credentials, 'base64').toString().split(':').slice(1).join(':') : ''
      return [value, credentials, password]
    })
    .filter((text) => text.length >= minHiddenLength)
