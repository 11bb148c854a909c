import type { RawData, WebSocket } from 'ws'
import { isKeepAlive, largest } from '../parse.ts'
import { type Flow, makeFlowId, mostUnread, type Receiver, type SentBy, type Transport } from './flow.ts'

export type WebSocketSettings = {
  /** WSS when TLS ends here or before us: what the browser believes. */
  readonly protocol: 'WS' | 'WSS'
  readonly sentBy: SentBy
}

const joined = (data: RawData): Buffer =>
  Array.isArray(data) ? Buffer.concat(data) : Buffer.isBuffer(data) ? data : Buffer.from(data)

/**
 * SIP over WebSocket, the server's side (RFC 7118): a frame is a message. Browsers cannot be connected to: a request goes over the flow
 * that they opened, or not at all.
 */
export class WebSockets implements Transport {
  readonly protocol: 'WS' | 'WSS'
  readonly sentBy: SentBy
  private readonly receiver: Receiver
  private readonly sockets = new Set<WebSocket>()

  constructor({ protocol, sentBy }: WebSocketSettings, receiver: Receiver) {
    this.protocol = protocol
    this.sentBy = sentBy
    this.receiver = receiver
  }

  /** Takes a socket whose upgrade is done and whose subprotocol is `sip`. The peer's address is the browser's, as far as it is known. */
  attach(socket: WebSocket, address: string, port: number): Flow {
    const { protocol } = this
    const flow: Flow = {
      ...{ id: makeFlowId(protocol), protocol, address, port },
      get isOpen() {
        return socket.readyState === socket.OPEN
      },
      send: (octets) => {
        if (socket.readyState !== socket.OPEN) return false
        if (socket.bufferedAmount > mostUnread) {
          socket.terminate()
          return false
        }
        // As text: JsSIP drops binary frames that are not UTF-8, and reads text either way (RFC 7118, 4.2).
        socket.send(octets, { binary: false })
        return true
      },
      close: (reason) => socket.close(1000, reason.slice(0, 100)),
      toward: () => flow,
    }
    this.sockets.add(socket)
    socket.on('message', (data) => {
      const octets = joined(data)
      if (octets.length > largest) socket.close(1009)
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
