import { Resolver } from 'node:dns/promises'
import { isIP } from 'node:net'
import type { SipUri } from '../uri.ts'
import type { Protocol, SipTarget } from './flow.ts'
import { makeHostResolver } from './host-resolver.ts'

type SrvRecord = { readonly name: string; readonly port: number; readonly priority: number; readonly weight: number }

export type SipResolver = {
  /** IPv4 and IPv6 addresses; empty when the name has none. @throws Error when no name server answered */
  addresses(name: string): Promise<readonly string[]>
  /** SRV records; empty when there are none. @throws Error when no name server answered */
  services(name: string): Promise<readonly SrvRecord[]>
  close(): void
}

const isNotFound = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && (error.code === 'ENOTFOUND' || error.code === 'ENODATA')

/** @param servers name servers to use instead of those of the machine */
export const makeSipResolver = (servers?: readonly string[]): SipResolver => {
  const names = makeHostResolver(servers)
  const resolver = new Resolver({ timeout: 1_500, tries: 2 })
  if (servers) resolver.setServers(servers)
  return {
    addresses: names.resolve,
    services: async (name) => {
      try {
        return await resolver.resolveSrv(name)
      } catch (error) {
        if (isNotFound(error)) return []
        throw error
      }
    },
    close: () => {
      names.close()
      resolver.cancel()
    },
  }
}

/** Further targets would be tried only after the call is lost. */
const maxTargets = 8

const srvPrefixes: Partial<Record<Protocol, string>> = { UDP: '_sip._udp', TCP: '_sip._tcp', TLS: '_sips._tcp' }

/** Lowest priority first; random by weight among equals (RFC 2782). */
const orderedByPriority = (services: readonly SrvRecord[], random: () => number): SrvRecord[] =>
  services
    .map((service) => ({ service, draw: random() ** (1 / Math.max(service.weight, 0.01)) }))
    .toSorted((a, b) => a.service.priority - b.service.priority || b.draw - a.draw)
    .map(({ service }) => service)

const requestedProtocol = (uri: SipUri): Protocol | null => {
  const named = uri.params.get('transport')?.toUpperCase() ?? null
  if (uri.scheme === 'sips' || named === 'TLS') return 'TLS'
  return named === 'TCP' ? 'TCP' : named === 'UDP' ? 'UDP' : null
}

/**
 * Locates the targets of a request to a URI, best first (RFC 3263, 4, without NAPTR). An address is used as it is. A
 * name with a port resolves to its addresses. A name alone resolves by SRV, else to its addresses with the default
 * port. `maddr` is ignored: it would let a caller choose our target.
 * @throws Error when no name server answered
 */
export const locate = async (
  uri: SipUri,
  names: SipResolver,
  random: () => number = Math.random,
): Promise<SipTarget[]> => {
  const bare = uri.host.replace(/^\[|\]$/g, '')
  const requested = requestedProtocol(uri)
  const usual = requested === 'TLS' ? 5061 : 5060
  const at = async (name: string, protocol: Protocol, port: number): Promise<SipTarget[]> =>
    (await names.addresses(name)).map((address) => ({ protocol, address, port, serverName: bare }))

  if (isIP(bare)) return [{ protocol: requested ?? 'UDP', address: bare, port: uri.port ?? usual }]
  if (uri.port !== null) return (await at(bare, requested ?? 'UDP', uri.port)).slice(0, maxTargets)

  const found: SipTarget[] = []
  for (const protocol of requested === null ? (['UDP', 'TCP'] as const) : [requested]) {
    const services = await names.services(`${srvPrefixes[protocol] ?? '_sip._udp'}.${bare}`)
    for (const { name, port } of orderedByPriority(services, random)) {
      if (found.length < maxTargets) found.push(...(await at(name, protocol, port)))
    }
  }
  return (found.length > 0 ? found : await at(bare, requested ?? 'UDP', usual)).slice(0, maxTargets)
}
