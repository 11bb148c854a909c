import { BlockList, isIP } from 'node:net'
import { readNetwork } from './outbound-address.ts'

/** Returns the eight groups of an IPv6 address. */
const groupsOf = (address: string): number[] => {
  const [head = '', tail] = new URL(`http://[${address}]/`).hostname.slice(1, -1).split('::', 2)
  const [left, right] = [head, tail ?? ''].map((part) => part.split(':').filter(Boolean))
  const zeros = tail === undefined ? 0 : 8 - (left?.length ?? 0) - (right?.length ?? 0)
  return [...(left ?? []), ...Array<string>(zeros).fill('0'), ...(right ?? [])].map((group) =>
    Number.parseInt(group, 16),
  )
}

/** Returns the IPv4 address in an IPv4-mapped one (RFC 4291, 2.5.5.2); null for any other. */
const mappedIpv4 = (groups: readonly number[]): string | null => {
  const [a = 0, b = 0] = groups.slice(6)
  const isMapped = groups.slice(0, 5).every((group) => group === 0) && groups[5] === 0xffff
  return isMapped ? [a >> 8, a & 255, b >> 8, b & 255].join('.') : null
}

/** Returns a canonical address with its groups; null for an invalid address. */
const normalised = (address: string): { address: string; groups: readonly number[] | null } | null => {
  const bare = address.split('%', 1)[0] ?? ''
  const version = isIP(bare)
  if (version !== 6) return version === 4 ? { address: bare, groups: null } : null
  const groups = groupsOf(bare)
  const inner = mappedIpv4(groups)
  return inner === null ? { address: bare, groups } : { address: inner, groups: null }
}

/** Returns an address without its zone, as IPv4 if it is IPv4-mapped; null for an invalid address. */
export const canonicalAddress = (address: string): string | null => normalised(address)?.address ?? null

/** True for a name or address of this machine, as URLs have it. */
export const isLoopbackHost = (host: string): boolean => /^(?:localhost|127(?:\.\d{1,3}){3}|::1|\[::1\])$/i.test(host)

const prefixOf = (address: string, groups: number): string => {
  const found = normalised(address)
  return found?.groups?.slice(0, groups).join(':') ?? found?.address ?? ''
}

/** Returns the part of an address that identifies a peer: all of IPv4, the first 64 bits of IPv6 (RFC 4291, 2.5.4). */
export const peerKeyOf = (address: string): string => prefixOf(address, 4)

/** Returns the part of an address that identifies a site: all of IPv4, the first 48 bits of IPv6 (RFC 6177). */
export const networkKeyOf = (address: string): string => prefixOf(address, 3)

type Network = { readonly base: string; readonly bits: number; readonly family: 'ipv4' | 'ipv6' }

/** Parses a network, an IPv4-mapped one as its IPv4 network. */
export const networkOf = (text: string): Network | null => {
  const network = readNetwork(text)
  if (network?.family !== 'ipv6' || network.bits < 96) return network
  const inner = mappedIpv4(groupsOf(network.base))
  return inner === null ? network : { base: inner, bits: network.bits - 96, family: 'ipv4' }
}

export const isNetwork = (text: string): boolean => networkOf(text) !== null

/** Addresses and networks in CIDR. */
export type AddressList = {
  contains(address: string): boolean
  /** True if one network of the list contains all of this one. */
  covers(network: string): boolean
}

/** @throws TypeError for an invalid network */
export const makeAddressList = (texts: readonly string[]): AddressList => {
  const list = new BlockList()
  const networks = texts.map((text) => {
    const network = networkOf(text)
    if (!network) throw new TypeError(`${text} is no network such as 10.0.0.0/8`)
    const { base, bits, family } = network
    const own = new BlockList()
    for (const one of [list, own]) one.addSubnet(base, bits, family)
    return { bits, family, own }
  })
  return {
    contains: (address) => {
      const found = normalised(address)
      return found !== null && list.check(found.address, found.groups ? 'ipv6' : 'ipv4')
    },
    covers: (text) => {
      const inner = networkOf(text)
      return (
        inner !== null &&
        networks.some(
          ({ bits, family, own }) => family === inner.family && bits <= inner.bits && own.check(inner.base, family),
        )
      )
    },
  }
}
