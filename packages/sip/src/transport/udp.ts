import { createSocket, type Socket } from 'node:dgram'
import { once } from 'node:events'
import { isIPv6 } from 'node:net'
import { type Flow, formatHost, type SentBy, type SipTarget, type Transport, type TransportReceiver } from './flow.ts'

export type UdpSettings = {
  readonly address: string
  /** 0 selects a free port. */
  readonly port: number
  /** Our public address, if it differs from the bound one. */
  readonly advertised?: SentBy
}

const flowOver = (socket: Socket, address: string, port: number): Flow => {
  const flow: Flow = {
    id: `UDP-${formatHost(address)}:${port}`,
    protocol: 'UDP',
    address,
    port,
    isOpen: true,
    send: (octets) => {
      try {
        // A later error means a lost datagram, which the transaction retransmits.
        socket.send(octets, port, address, () => {})
        return true
      } catch {
        return false
      }
    },
    close: () => {},
    withPort: (other) => (other === port ? flow : flowOver(socket, address, other)),
  }
  return flow
}

/** SIP over UDP (RFC 3261, 18). One socket sends and receives, so that responses return through NATs (RFC 3581). */
export const openUdp = async (settings: UdpSettings, receiver: TransportReceiver): Promise<Transport> => {
  const socket = createSocket(isIPv6(settings.address) ? 'udp6' : 'udp4')
  try {
    const listening = once(socket, 'listening')
    socket.bind(settings.port, settings.address)
    await listening
  } catch (error) {
    socket.close()
    throw error
  }
  socket.on('error', () => {})
  socket.on('message', (octets, { address, port }) => receiver.received(octets, flowOver(socket, address, port)))
  return {
    protocol: 'UDP',
    sentBy: settings.advertised ?? { host: formatHost(settings.address), port: socket.address().port },
    flow: async ({ address, port }: SipTarget) => flowOver(socket, address, port),
    close: async () => {
      socket.close()
      await once(socket, 'close')
    },
  }
}
