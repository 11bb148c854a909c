import type { RawData, WebSocket } from 'ws'
import { isKeepAlive, maxMessageLength } from '../parse.ts'
import { type Flow, makeFlowId, maxUnread, type SentBy, type Transport, type TransportReceiver } from './flow.ts'

export type WebSocketTransportSettings = {
  /** WSS when TLS ends here or before us, so that browsers see a secure connection. */
  readonly protocol: 'WS' | 'WSS'
  readonly sentBy: SentBy
}

const toBuffer = (data: RawData): Buffer =>
  Array.isArray(data) ? Buffer.concat(data) : Buffer.isBuffer(data) ? data : Buffer.from(data)

/**
 * The server side of SIP over WebSocket (RFC 7118): one message per frame. A browser accepts no connections, so
 * requests only use flows that it opened.
 */
export class WebSocketTransport implements Transport {
  readonly protocol: 'WS' | 'WSS'
  readonly sentBy: SentBy
  private readonly receiver: TransportReceiver
  private readonly sockets = new Set<WebSocket>()

  constructor({ protocol, sentBy }: WebSocketTransportSettings, receiver: TransportReceiver) {
    this.protocol = protocol
    this.sentBy = sentBy
    this.receiver = receiver
  }

  /**
   * Adds a socket whose upgrade is done and whose subprotocol is `sip`. The address is the browser's as far as it is
   * known.
   */
  attach(socket: WebSocket, address: string, port: number): Flow {
    const { protocol } = this
    const flow: Flow = {
      ...{ id: makeFlowId(protocol), protocol, address, port },
      get isOpen() {
        return socket.readyState === socket.OPEN
      },
      send: (octets) => {
        if (socket.readyState !== socket.OPEN) return false
        if (socket.bufferedAmount > maxUnread) {
          socket.terminate()
          return false
        }
        // As text: JsSIP drops binary frames that are not UTF-8, and accepts every text frame (RFC 7118, 4.2).
        socket.send(octets, { binary: false })
        return true
      },
      close: (reason) => socket.close(1000, reason.slice(0, 100)),
      withPort: () => flow,
    }
    this.sockets.add(socket)
    socket.on('message', (data) => {
      const octets = toBuffer(data)
      if (octets.length > maxMessageLength) socket.close(1009)
      else if (!isKeepAlive(octets)) this.receiver.received(octets, flow)
      else if (octets.length === 4) flow.send(Buffer.from('\r\n'))
    })
    socket.on('error', () => socket.terminate())
    socket.on('close', (code) => {
      this.sockets.delete(socket)
      this.receiver.closed(flow, `closed with ${code}`)
    })
    return flow
  }

  async flow(): Promise<Flow> {
    throw new Error('a browser cannot be connected to')
  }

  async close(): Promise<void> {
    for (const socket of this.sockets) socket.terminate()
  }
}
