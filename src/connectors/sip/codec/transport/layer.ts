import { isIP } from 'node:net'
import { printVia, topVia, type Via, viasOf } from '../fields.ts'
import { type SipMessage, type SipRequest, type SipResponse, withHeader } from '../message.ts'
import { isKeepAlive, type Malformed, parse } from '../parse.ts'
import { print } from '../print.ts'
import type { Flow, Protocol, Receiver, SentBy, Target, Transport } from './flow.ts'

export type TransportEvents = {
  request(request: SipRequest, flow: Flow): void
  response(response: SipResponse, flow: Flow): void
  malformed(bad: Malformed, flow: Flow): void
  /** What was sent or received, whole: for the timeline of a call. */
  seen(direction: 'in' | 'out', message: SipMessage, flow: Flow): void
  closed(flow: Flow, reason: string): void
  /** Something of ours threw: what a peer sent must not end the program. */
  fault(error: unknown): void
}

/** Sets the top Via, and keeps those below. */
const withTopVia = <M extends SipMessage>(message: M, via: Via): M => {
  const [, ...others] = viasOf(message)
  return withHeader(message, 'Via', printVia(via), ...others.map(printVia))
}

/** `::ffff:192.0.2.1` is 192.0.2.1. */
const plain = (address: string): string => address.replace(/^::ffff:(?=\d+\.)/i, '')

/** The transport layer (RFC 3261, 18): the transports of an agent, what they tell, and the way of answers. */
export class TransportLayer implements Receiver {
  private readonly events: TransportEvents
  private readonly transports: Transport[] = []
  /** Responses that were not for us, or that carried another's Via. */
  strays = 0

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

  /** What our Via and Contact say over a protocol. @throws Error when none of that protocol is open */
  sentBy(protocol: Protocol): SentBy {
    return this.transport(protocol).sentBy
  }

  has(protocol: Protocol): boolean {
    return this.transports.some((transport) => transport.protocol === protocol)
  }

  /** @throws Error when the peer cannot be reached */
  async flow(target: Target): Promise<Flow> {
    return this.transport(target.protocol).flow(target)
  }

  send(message: SipMessage, flow: Flow): boolean {
    const isSent = flow.send(print(message))
    if (isSent) this.events.seen('out', message, flow)
    return isSent
  }

  /** Sends an answer back: over the flow of its request, else, when that connection broke, to where Via points (18.2.2). */
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
      this.take(octets, flow)
    } catch (error) {
      this.events.fault(error)
    }
  }

  closed(flow: Flow, reason: string): void {
    try {
      this.events.closed(flow, reason)
    } catch (error) {
      this.events.fault(error)
    }
  }

  private take(octets: Buffer, flow: Flow): void {
    if (isKeepAlive(octets)) return
    const message = parse(octets)
    if (message.kind === 'malformed') {
      const request = message.request && this.marked(message.request, flow)
      this.events.malformed({ ...message, request }, this.back(request, flow))
      return
    }
    this.events.seen('in', message, flow)
    if (message.kind === 'request') this.events.request(this.marked(message, flow), this.back(message, flow))
    else if (this.isOurs(message, flow)) this.events.response(message, flow)
    else this.strays++
  }

  private transport(protocol: Protocol): Transport {
    const found = this.transports.find((transport) => transport.protocol === protocol)
    if (!found) throw new Error(`no transport for ${protocol} is open`)
    return found
  }

  /** Notes in the top Via where the request really came from (18.2.1; RFC 3581, 4). */
  private marked(request: SipRequest, flow: Flow): SipRequest {
    const via = topVia(request)
    const address = plain(flow.address)
    const asksPort = via.params.has('rport')
    if (!asksPort && via.host.replace(/^\[|\]$/g, '') === address) return request
    const params = new Map(via.params)
    params.set('received', address)
    if (asksPort) params.set('rport', String(flow.port))
    return withTopVia(request, { ...via, params })
  }

  /** Where answers go to. Without rport, datagrams go to the port that Via names, whatever they came from (18.2.2). */
  private back(request: SipRequest | null, flow: Flow): Flow {
    if (!request) return flow
    const via = topVia(request)
    return via.params.has('rport') ? flow : flow.toward(via.port ?? 5060)
  }

  /** A response whose only Via is ours (18.1.2; 8.1.3.3). */
  private isOurs(response: SipResponse, flow: Flow): boolean {
    const [via, second] = viasOf(response)
    if (second) return false
    const ours = this.transports.filter(({ protocol }) => protocol === flow.protocol)
    return ours.some(({ sentBy }) => sentBy.host.toLowerCase() === via.host && (sentBy.port ?? via.port) === via.port)
  }
}
