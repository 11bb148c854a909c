import { type Flow, makeFlowId, type SentBy, type Transport, type TransportReceiver } from './flow.ts'

/**
 * Calls of a user agent to itself, without a network: two flows, and each delivers to the other. The callee's dialogs are
 * those on `callee`, so that both sides of a call can be told apart.
 */
export class LocalTransport implements Transport {
  readonly protocol = 'LOCAL'
  readonly sentBy: SentBy = { host: '127.0.0.1', port: null }
  /** The side that sends the INVITE. */
  readonly caller: Flow
  /** The side that receives it. */
  readonly callee: Flow
  private isOpen = true

  constructor(receiver: TransportReceiver) {
    const isOpen = () => this.isOpen
    const flowTo = (other: () => Flow): Flow => {
      const flow: Flow = {
        ...{ id: makeFlowId(this.protocol), protocol: this.protocol, address: this.sentBy.host, port: 0 },
        get isOpen() {
          return isOpen()
        },
        send: (octets) => {
          // Later, as a peer's: what sends is not ready for the answer yet.
          if (isOpen()) setImmediate(() => isOpen() && receiver.received(octets, other()))
          return isOpen()
        },
        close: () => {},
        withPort: () => flow,
      }
      return flow
    }
    this.caller = flowTo(() => this.callee)
    this.callee = flowTo(() => this.caller)
  }

  async flow(): Promise<Flow> {
    return this.caller
  }

  async close(): Promise<void> {
    this.isOpen = false
  }
}
