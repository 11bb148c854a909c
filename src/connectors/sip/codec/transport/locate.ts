import { Resolver } from 'node:dns/promises'
import { isIP } from 'node:net'
import { makeNames } from '../../../../lib/outbound-names.ts'
import type { SipUri } from '../uri.ts'
import type { Protocol, Target } from './flow.ts'

type Service = { readonly name: string; readonly port: number; readonly priority: number; readonly weight: number }

export type SipNames = {
  /** Both kinds of address; empty when the name has none. @throws Error when nobody could be asked */
  addresses(name: string): Promise<readonly string[]>
  /** Empty when there are none. @throws Error when nobody could be asked */
  services(name: string): Promise<readonly Service[]>
  close(): void
}

const isNothing = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && (error.code === 'ENOTFOUND' || error.code === 'ENODATA')

/** @param servers of DNS instead of those of the machine */
export const makeSipNames = (servers?: readonly string[]): SipNames => {
  const names = makeNames(servers)
  const resolver = new Resolver({ timeout: 1_500, tries: 2 })
  if (servers) resolver.setServers(servers)
  return {
    addresses: names.resolve,
    services: async (name) => {
      try {
        return await resolver.resolveSrv(name)
      } catch (error) {
        if (isNothing(error)) return []
        throw error
      }
    },
    close: () => {
      names.close()
      resolver.cancel()
    },
  }
}

/** More of them would only be tried when the call is long lost. */
const mostTargets = 8

const prefixes: Partial<Record<Protocol, string>> = { UDP: '_sip._udp', TCP: '_sip._tcp', TLS: '_sips._tcp' }

/** Lowest priority first; among equals by chance, by weight (RFC 2782). */
const ordered = (services: readonly Service[], random: () => number): Service[] =>
  services
    .map((service) => ({ service, draw: random() ** (1 / Math.max(service.weight, 0.01)) }))
    .toSorted((a, b) => a.service.priority - b.service.priority || b.draw - a.draw)
    .map(({ service }) => service)

const asked = (uri: SipUri): Protocol | null => {
  const named = uri.params.get('transport')?.toUpperCase() ?? null
  if (uri.scheme === 'sips' || named === 'TLS') return 'TLS'
  return named === 'TCP' ? 'TCP' : named === 'UDP' ? 'UDP' : null
}

/**
 * Where a request to a URI may be sent, best first (RFC 3263, 4, without NAPTR): an address as it is; a name with a port by its
 * addresses; a name alone by SRV, else by its addresses and the usual port. `maddr` is not obeyed: it would let a caller
 * choose whom we write to.
 * @throws Error when nobody could be asked
 */
export const locate = async (uri: SipUri, names: SipNames, random: () => number = Math.random): Promise<Target[]> => {
  const bare = uri.host.replace(/^\[|\]$/g, '')
  const wanted = asked(uri)
  const usual = wanted === 'TLS' ? 5061 : 5060
  const at = async (name: string, protocol: Protocol, port: number): Promise<Target[]> =>
    (await names.addresses(name)).map((address) => ({ protocol, address, port, serverName: bare }))

  if (isIP(bare)) return [{ protocol: wanted ?? 'UDP', address: bare, port: uri.port ?? usual }]
  if (uri.port !== null) return (await at(bare, wanted ?? 'UDP', uri.port)).slice(0, mostTargets)

  const found: Target[] = []
  for (const protocol of wanted === null ? (['UDP', 'TCP'] as const) : [wanted]) {
    const services = await names.services(`${prefixes[protocol] ?? '_sip._udp'}.${bare}`)
    for (const { name, port } of ordered(services, random)) {
      if (found.length < mostTargets) found.push(...(await at(name, protocol, port)))
    }
  }
  return (found.length > 0 ? found : await at(bare, wanted ?? 'UDP', usual)).slice(0, mostTargets)
}
