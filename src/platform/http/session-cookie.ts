import type { IncomingMessage } from 'node:http'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Problem } from './problem.ts'
import { isFromThisMachine, type ProxyTrust } from './proxy-trust.ts'
import { refusals } from './refusals.ts'

// The cookie of a session. Over HTTPS it has the prefix __Host-, which binds it to the host and to HTTPS (RFC 6265bis,
// 4.1.3.2). Plain HTTP is admitted on this machine only, where that prefix is not possible.

export type OwnOriginDeps = {
  readonly proxies: ProxyTrust
  publicUrl(): string
}

const localNames = { session: 'trunkline', browser: 'trunkline-browser' } as const

type CookieKind = keyof typeof localNames

const secureNameOf = (kind: CookieKind): string => `__Host-${localNames[kind]}`

/** Returns the refusal of plain HTTP from another machine; null if a session may travel over the connection. */
export const transportRefusal = (
  { proxies }: Pick<OwnOriginDeps, 'proxies'>,
  request: IncomingMessage,
): Problem | null =>
  proxies.protocol(request) === 'https' || isFromThisMachine(request) ? null : refusals.signInNeedsHttps()

/** Returns the value of a cookie; null without one. The name without __Host- counts from this machine only, as other hosts
 *  of a domain can set it. */
const cookieOf = (request: IncomingMessage, kind: CookieKind): string | null => {
  const { cookie } = request.headers
  if (cookie === undefined) return null
  const [secureName, localName] = [secureNameOf(kind), localNames[kind]]
  const values = new Map<string, string>()
  for (const pair of cookie.split(';')) {
    const [name = '', value = ''] = pair.trim().split('=', 2)
    if ((name === secureName || name === localName) && value !== '') values.set(name, value)
  }
  return values.get(secureName) ?? (isFromThisMachine(request) ? (values.get(localName) ?? null) : null)
}

/** Returns the token of the session cookie; null without one. */
export const sessionTokenOf = (request: IncomingMessage): string | null => cookieOf(request, 'session')

/** Returns the value of the cookie that survives sessions; null without one. */
export const browserCookieOf = (request: IncomingMessage): string | null => cookieOf(request, 'browser')

const setCookie = (request: FastifyRequest, reply: FastifyReply, kind: CookieKind, value: string, seconds: number) => {
  const flags = `HttpOnly; SameSite=Strict; Path=/; Max-Age=${seconds}`
  const isSecure = request.protocol === 'https'
  const pair = `${isSecure ? secureNameOf(kind) : localNames[kind]}=${value}`
  reply.header('set-cookie', `${pair}; ${isSecure ? 'Secure; ' : ''}${flags}`)
}

/** Sets the cookie of a session. @param seconds until the session ends at the latest */
export const setSessionCookie = (request: FastifyRequest, reply: FastifyReply, token: string, seconds: number): void =>
  setCookie(request, reply, 'session', token, seconds)

/** Removes the cookie of a session from the browser. */
export const clearSessionCookie = (request: FastifyRequest, reply: FastifyReply): void =>
  setCookie(request, reply, 'session', '', 0)

/** Sets the cookie that survives sessions. */
export const setBrowserCookie = (request: FastifyRequest, reply: FastifyReply, value: string, seconds: number): void =>
  setCookie(request, reply, 'browser', value, seconds)

/** True if an Origin is that of our pages: of the host that the client uses, or of the public URL. */
export const isOwnOrigin = ({ proxies, publicUrl }: OwnOriginDeps, origin: string, request: IncomingMessage): boolean =>
  origin === proxies.origin(request) || origin === new URL(publicUrl()).origin

/** Returns the refusal of a request that a page of another origin sent; null for others. */
const foreignPageRefusal = (parts: OwnOriginDeps, request: IncomingMessage): Problem | null => {
  const { origin } = request.headers
  if (origin !== undefined && !isOwnOrigin(parts, origin, request))
    return refusals.foreignRequest('its Origin is not that of this server')
  return null
}

/**
 * Returns the refusal of a cross-site request; null for others. Next to the cookie's SameSite=Strict, the request must
 * come from a page of this origin, and a change needs a header that other origins can only send after a preflight.
 */
export const crossSiteRefusal = (parts: OwnOriginDeps, request: IncomingMessage): Problem | null => {
  const foreign = foreignPageRefusal(parts, request)
  if (foreign) return foreign
  const { method, headers } = request
  const site = headers['sec-fetch-site']
  const isRead = method === 'GET' || method === 'HEAD'
  // A browser says `none` for an address that a person typed.
  if (site !== undefined && site !== 'same-origin' && !(isRead && site === 'none'))
    return refusals.foreignRequest('Sec-Fetch-Site is not same-origin')
  if (!isRead && headers['x-trunkline-console'] !== '1')
    return refusals.foreignRequest('the header X-Trunkline-Console: 1 is missing')
  return null
}

/** Returns the refusal of a sign-in that a page of another origin sent; null for others. */
export const signInRefusal = (parts: OwnOriginDeps, request: IncomingMessage): Problem | null => {
  const foreign = foreignPageRefusal(parts, request)
  if (foreign) return foreign
  const site = request.headers['sec-fetch-site']
  return site === undefined || site === 'same-origin' || site === 'none'
    ? null
    : refusals.foreignRequest('Sec-Fetch-Site is not same-origin')
}

/** Returns the refusal of an upgrade that a page of another origin sent; null for our own. Browsers always send Origin. */
export const upgradeOriginRefusal = (parts: OwnOriginDeps, request: IncomingMessage): Problem | null => {
  const { origin } = request.headers
  return origin !== undefined && isOwnOrigin(parts, origin, request)
    ? null
    : refusals.foreignRequest('its Origin is not that of this server')
}
