import { isIP } from 'node:net'
import { printVia, topVia, type Via, viasOf } from '../fields.ts'
import { type SipMessage, type SipRequest, type SipResponse, withHeader } from '../message.ts'
import { isKeepAlive, type MalformedMessage, parseMessage } from '../parse.ts'
import { printMessage } from '../print.ts'
import type { Flow, Protocol, SentBy, SipTarget, Transport, TransportReceiver } from './flow.ts'

export type TransportEvents = {
  request(request: SipRequest, flow: Flow): void
  response(response: SipResponse, flow: Flow): void
  malformed(bad: MalformedMessage, flow: Flow): void
  /** Every complete message sent or received, for the timeline of a call. */
  trace(direction: 'in' | 'out', message: SipMessage, flow: Flow): void
  closed(flow: Flow, reason: string): void
  /** An internal error: a peer's message must not end the program. */
  onError(error: unknown): void
}

/** Replaces the top Via and keeps the others. */
const withTopVia = <M extends SipMessage>(message: M, via: Via): M => {
  const [, ...others] = viasOf(message)
  return withHeader(message, 'Via', printVia(via), ...others.map(printVia))
}

/** `::ffff:192.0.2.1` becomes 192.0.2.1. */
const withoutMappedPrefix = (address: string): string => address.replace(/^::ffff:(?=\d+\.)/i, '')

/** The transport layer (RFC 3261, 18): the transports of a user agent, their events, and the routing of responses. */
export class TransportLayer implements TransportReceiver {
  private readonly events: TransportEvents
  private readonly transports: Transport[] = []
  /** Responses that match nothing of ours, or that carry a foreign Via. */
  strayResponses = 0

  constructor(events: TransportEvents) {
    this.events = events
    this.received = this.received.bind(this)
    this.closed = this.closed.bind(this)
  }

  add<T extends Transport>(transport: T): T {
    this.transports.push(transport)
    return transport
  }

  async close(): Promise<void> {
    await Promise.all(this.transports.splice(0).map((transport) => transport.close()))
  }

  /** Our address in Via and Contact for a protocol. @throws Error when no transport of that protocol is open */
  sentBy(protocol: Protocol): SentBy {
    return this.transport(protocol).sentBy
  }

  has(protocol: Protocol): boolean {
    return this.transports.some((transport) => transport.protocol === protocol)
  }

  /** @throws Error when the peer cannot be reached */
  async flow(target: SipTarget): Promise<Flow> {
    return this.transport(target.protocol).flow(target)
  }

  send(message: SipMessage, flow: Flow): boolean {
    const isSent = flow.send(printMessage(message))
    if (isSent) this.events.trace('out', message, flow)
    return isSent
  }

  /** Sends a response over the flow of its request or, if that connection broke, to the address of Via (18.2.2). */
  async respond(response: SipResponse, flow: Flow): Promise<boolean> {
    if (flow.isOpen || flow.protocol === 'WS' || flow.protocol === 'WSS') return this.send(response, flow)
    const via = topVia(response)
    const address = via.params.get('received') ?? via.host
    if (!isIP(address)) return false
    try {
      const port = via.port ?? (flow.protocol === 'TLS' ? 5061 : 5060)
      return this.send(response, await this.flow({ protocol: flow.protocol, address, port }))
    } catch {
      return false
    }
  }

  received(octets: Buffer, flow: Flow): void {
    try {
      this.handleMessage(octets, flow)
    } catch (error) {
      this.events.onError(error)
    }
  }

  closed(flow: Flow, reason: string): void {
    try {
      this.events.closed(flow, reason)
    } catch (error) {
      this.events.onError(error)
    }
  }

  private handleMessage(octets: Buffer, flow: Flow): void {
    if (isKeepAlive(octets)) return
    const message = parseMessage(octets)
    if (message.kind === 'malformed') {
      const request = message.request && this.withReceived(message.request, flow)
      this.events.malformed({ ...message, request }, this.responseFlow(request, flow))
      return
    }
    this.events.trace('in', message, flow)
    if (message.kind === 'request')
      this.events.request(this.withReceived(message, flow), this.responseFlow(message, flow))
    else if (this.isOurs(message, flow)) this.events.response(message, flow)
    else this.strayResponses++
  }

  private transport(protocol: Protocol): Transport {
    const found = this.transports.find((transport) => transport.protocol === protocol)
    if (!found) throw new Error(`no transport for ${protocol} is open`)
    return found
  }

  /** Adds the real source of the request to its top Via (18.2.1; RFC 3581, 4). */
  private withReceived(request: SipRequest, flow: Flow): SipRequest {
    const via = topVia(request)
    const address = withoutMappedPrefix(flow.address)
    const asksPort = via.params.has('rport')
    if (!asksPort && via.host.replace(/^\[|\]$/g, '') === address) return request
    const params = new Map(via.params)
    params.set('received', address)
    if (asksPort) params.set('rport', String(flow.port))
    return withTopVia(request, { ...via, params })
  }

  /**
   * The flow of the responses. Without rport, datagrams go to the port named in Via, whatever the source port (18.2.2).
   */
  private responseFlow(request: SipRequest | null, flow: Flow): Flow {
    if (!request) return flow
    const via = topVia(request)
    return via.params.has('rport') ? flow : flow.withPort(via.port ?? 5060)
  }

  /** True for a response whose only Via is ours (18.1.2; 8.1.3.3). */
  private isOurs(response: SipResponse, flow: Flow): boolean {
    const [via, second] = viasOf(response)
    if (second) return false
    const ours = this.transports.filter(({ protocol }) => protocol === flow.protocol)
    return ours.some(({ sentBy }) => sentBy.host.toLowerCase() === via.host && (sentBy.port ?? via.port) === via.port)
  }
}
