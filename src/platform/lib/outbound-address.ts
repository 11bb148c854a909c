import { BlockList, isIPv4 } from 'node:net'

/** Addresses outside the public Internet that outbound requests may reach. */
export type AddressPolicy = {
  /** Allows loopback, private and shared addresses: for a sandbox, or an installation within a private network. */
  readonly allowPrivate: boolean
  /** Networks that are always allowed, such as `10.1.0.0/16` or `fd12::/48`. Default: none. */
  readonly allow?: readonly string[]
}

/** Parses a network such as `10.0.0.0/8`; null if invalid. */
export const readNetwork = (text: string): { base: string; bits: number; family: 'ipv4' | 'ipv6' } | null => {
  const [, base = '', length] = /^([0-9a-f:.]+)(?:\/(\d{1,3}))?$/i.exec(text) ?? []
  const family = isIPv4(base) ? 'ipv4' : 'ipv6'
  const most = family === 'ipv4' ? 32 : 128
  const bits = length === undefined ? most : Number(length)
  if (bits > most || (family === 'ipv6' && !URL.canParse(`http://[${base}]/`))) return null
  return { base, bits, family }
}

/** @throws TypeError for an invalid network */
const listOf = (networks: readonly string[]): BlockList => {
  const list = new BlockList()
  for (const text of networks) {
    const network = readNetwork(text)
    if (!network) throw new TypeError(`${text} is no network such as 10.0.0.0/8`)
    const { base, bits, family } = network
    list.addSubnet(base, bits, family)
    // RFC 6052: a translator reaches the IPv4 address under this IPv6 address.
    if (family === 'ipv4') list.addSubnet(`64:ff9b::${base}`, 96 + bits, 'ipv6')
  }
  return list
}

/**
 * Ranges of the IANA special-purpose registries (IPv4 and IPv6, as of 2026), including globally reachable ones, which
 * have no public web servers. The first match names the address. BlockList applies IPv4 rules to IPv4-mapped addresses
 * (`::ffff:10.0.0.1`) too.
 */
const ranges = [
  {
    what: "an address of a cloud provider's metadata service",
    isPrivate: false,
    // AWS, GCP and others use 169.254.0.0/16. These do not: Azure, Oracle, Alibaba; AWS and GCP over IPv6.
    networks: ['168.63.129.16', '192.0.0.192', '100.100.100.200', 'fd00:ec2::254', 'fd20:ce::254'],
  },
  { what: 'a loopback address', isPrivate: true, networks: ['127.0.0.0/8', '::1'] },
  {
    what: 'a private address',
    isPrivate: true,
    networks: ['10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16', '100.64.0.0/10', 'fc00::/7'],
  },
  { what: 'a link-local address', isPrivate: false, networks: ['169.254.0.0/16', 'fe80::/10'] },
  { what: 'an unspecified address', isPrivate: false, networks: ['0.0.0.0/8', '::'] },
  {
    what: 'a multicast or broadcast address',
    isPrivate: false,
    networks: ['224.0.0.0/4', '255.255.255.255', 'ff00::/8'],
  },
  {
    what: 'an address of a special-purpose range',
    isPrivate: false,
    networks: [
      '192.0.0.0/24', // IETF protocol assignments
      '192.0.2.0/24', // documentation
      '192.31.196.0/24', // AS112
      '192.52.193.0/24', // AMT
      '192.88.99.0/24', // 6to4 relays
      '192.175.48.0/24', // AS112
      '198.18.0.0/15', // benchmarks
      '198.51.100.0/24', // documentation
      '203.0.113.0/24', // documentation
      '240.0.0.0/4', // reserved
      '64:ff9b:1::/48', // translation within a network
      '2001::/23', // IETF protocol assignments, Teredo among them
      '2001:db8::/32', // documentation
      '2002::/16', // 6to4: holds an IPv4 address
      '2620:4f:8000::/48', // AS112
      '3fff::/20', // documentation
    ],
  },
].map(({ networks, ...range }) => ({ ...range, list: listOf(networks) }))

/** IPv6 addresses that IANA has allocated for the Internet, and the translated form of IPv4. */
const global = listOf(['2000::/3', '64:ff9b::/96'])

/** Checks an address in canonical form. Returns the description of a forbidden address, or null if it is allowed. */
export type AddressCheck = (address: string) => string | null

/** @throws TypeError if the policy has an invalid network */
export const makeAddressCheck = ({ allowPrivate, allow = [] }: AddressPolicy): AddressCheck => {
  const allowed = listOf(allow)
  return (address) => {
    const family = isIPv4(address) ? 'ipv4' : 'ipv6'
    if (allowed.check(address, family)) return null
    const range = ranges.find(({ list }) => list.check(address, family))
    if (range) return range.isPrivate && allowPrivate ? null : range.what
    return family === 'ipv4' || global.check(address, family) ? null : 'not an address of the public Internet'
  }
}
