import type { RemoteInfo, Socket } from 'node:dgram'
import { type NetworkInterfaceInfo, networkInterfaces } from 'node:os'
import { openSocket } from './udp-ports.ts'

type Address = Pick<NetworkInterfaceInfo, 'address' | 'family' | 'internal'>

const addressesOfMachine = (): Address[] => Object.values(networkInterfaces()).flatMap((addresses) => addresses ?? [])

export const isLoopback = (address: string): boolean => address.startsWith('127.') || address === '::1'

/** A UDP socket on a non-loopback address of this machine. Drops packets of other machines. */
export type OwnSocket = { readonly socket: Socket; receive(take: (packet: Buffer, from: RemoteInfo) => void): void }

/**
 * Opens a socket for Firefox, which does not pair loopback addresses with its own candidates (nICEr,
 * `nr_ice_component_can_candidate_addr_pair`). A server on loopback offers this second address of the machine. It stays
 * closed to other machines. @param addresses of this machine @returns null if there are only loopback addresses
 */
export const openOwnSocket = async (addresses = addressesOfMachine()): Promise<OwnSocket | null> => {
  const outer = addresses.filter(({ internal, address }) => !internal && !address.startsWith('fe80:'))
  const chosen = outer.find(({ family }) => family === 'IPv4') ?? outer[0]
  if (!chosen) return null
  const own = new Set(addresses.map(({ address }) => address))
  try {
    // Any port: the configured range is for firewalls, which local packets do not pass.
    const socket = await openSocket(chosen.address, 0)
    if (!socket) return null
    const receive: OwnSocket['receive'] = (take) =>
      socket.on('message', (packet, from) => {
        if (own.has(from.address)) take(packet, from)
      })
    return { socket, receive }
  } catch {
    // The network has just disappeared: calls go on over loopback.
    return null
  }
}
