import { createSocket, type Socket } from 'node:dgram'
import { once } from 'node:events'
import { isIPv6 } from 'node:net'
import { type Flow, hostOf, type Receiver, type SentBy, type Target, type Transport } from './flow.ts'

export type UdpSettings = {
  readonly address: string
  /** 0 takes any. */
  readonly port: number
  /** How peers reach us, when not by what is bound. */
  readonly advertised?: SentBy
}

const flowOver = (socket: Socket, address: string, port: number): Flow => {
  const flow: Flow = {
    id: `UDP-${hostOf(address)}:${port}`,
    protocol: 'UDP',
    address,
    port,
    isOpen: true,
    send: (octets) => {
      try {
        // An error that is told later is a lost datagram: the transaction sends it again.
        socket.send(octets, port, address, () => {})
        return true
      } catch {
        return false
      }
    },
    close: () => {},
    toward: (other) => (other === port ? flow : flowOver(socket, address, other)),
  }
  return flow
}

/** SIP over UDP (RFC 3261, 18). One socket sends and receives, so that answers come back through NATs (RFC 3581). */
export const openUdp = async (settings: UdpSettings, receiver: Receiver): Promise<Transport> => {
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
    sentBy: settings.advertised ?? { host: hostOf(settings.address), port: socket.address().port },
    flow: async ({ address, port }: Target) => flowOver(socket, address, port),
    close: async () => {
      socket.close()
      await once(socket, 'close')
    },
  }
}
