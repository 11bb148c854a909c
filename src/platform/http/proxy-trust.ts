import type { IncomingMessage } from 'node:http'
import { isIP } from 'node:net'
import proxyAddress from '@fastify/proxy-addr'
import { canonicalAddress } from '../lib/address-list.ts'
import type { TrustedProxies } from '../lib/setting.ts'
import { originOf } from './origin.ts'

/**
 * Where a request comes from. Forwarded headers count only if a trusted proxy sent the request. Proxies append, so the
 * last value is the proxy's own, and the first ones may be the client's.
 */
export type ProxyTrust = {
  /** True if the peer of a connection is a trusted proxy. */
  trusts(peer: string): boolean
  /** Returns the address of the client: the last one that no trusted proxy has. */
  address(request: IncomingMessage): string
  /** Returns the protocol that the client uses. */
  protocol(request: IncomingMessage): 'http' | 'https'
  /** Returns the host and port that the client uses. */
  host(request: IncomingMessage): string
  /** Returns the origin of our pages as the client sees it; null if the host is invalid. */
  origin(request: IncomingMessage): string | null
}

/** Headers that proxies add (RFC 7239, RFC 9110 7.6.3, and those in use before). */
const forwardingHeaders = ['forwarded', 'x-forwarded-for', 'x-forwarded-host', 'x-forwarded-proto', 'x-real-ip', 'via']

/** True if the request came through a proxy, trusted or not. */
export const isForwarded = ({ headers }: Pick<IncomingMessage, 'headers'>): boolean =>
  forwardingHeaders.some((name) => headers[name] !== undefined)

const loopback = /^(?:127\.|::1$|::ffff:127\.)/

/** True if the connection comes from this machine, and through no proxy. */
export const isFromThisMachine = (request: IncomingMessage): boolean =>
  loopback.test(request.socket.remoteAddress ?? '') && !isForwarded(request)

/** Returns the last value of a header; null without one. */
const lastOf = (header: string | string[] | undefined): string | null =>
  [header ?? ''].flat().join(',').split(',').at(-1)?.trim() || null

/** Returns an entry of X-Forwarded-For without the port that some proxies add. */
const withoutPort = (entry: string): string => {
  if (isIP(entry) !== 0) return entry
  const [, six, four] = /^(?:\[([^\]]*)\]|([^:]*))(?::\d{1,5})?$/.exec(entry) ?? []
  return six ?? four ?? entry
}

/** @param proxies the trusted ones; null for none */
export const makeProxyTrust = (proxies: TrustedProxies | null): ProxyTrust => {
  const compile = (): ((address: string, hop: number) => boolean) => {
    if (proxies === null) return () => false
    if (typeof proxies === 'number') return (_address, hop) => hop < proxies
    const isProxy = proxyAddress.compile([...proxies])
    return (address, hop) => isProxy(withoutPort(address), hop)
  }
  const isTrusted = compile()
  const trusts = (peer: string): boolean => isTrusted(peer, 0)
  const isFromProxy = ({ socket }: IncomingMessage): boolean => trusts(socket.remoteAddress ?? '')
  const protocol = (request: IncomingMessage): 'http' | 'https' => {
    const forwarded = isFromProxy(request) ? lastOf(request.headers['x-forwarded-proto']) : null
    // Some proxies write the scheme of a WebSocket.
    if (forwarded !== null) return /^(?:https|wss)$/i.test(forwarded) ? 'https' : 'http'
    return 'encrypted' in request.socket && request.socket.encrypted ? 'https' : 'http'
  }
  const host = (request: IncomingMessage): string =>
    (isFromProxy(request) ? lastOf(request.headers['x-forwarded-host']) : null) ?? request.headers.host ?? ''
  return {
    trusts,
    // An entry that is no address ends the list: the proxy that sent it counts as the client.
    address: (request) => {
      const peers = proxies === null ? [request.socket.remoteAddress ?? ''] : proxyAddress.all(request, isTrusted)
      const known = peers.map((peer) => canonicalAddress(withoutPort(peer ?? '')))
      const end = known.indexOf(null)
      return known[(end === -1 ? known.length : end) - 1] ?? ''
    },
    protocol,
    host,
    origin: (request) => originOf(protocol(request), host(request)),
  }
}
