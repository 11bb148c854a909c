import { randomBytes } from 'node:crypto'
import { callIdOf, cseqOf, fromOf, printVia, tagOf, toOf, topVia } from '../fields.ts'
import type { SipMessage, SipRequest, SipResponse } from '../message.ts'
import { buildResponse } from '../response.ts'
import type { Timers } from '../timers.ts'
import type { Flow } from '../transport/flow.ts'
import type { TransportLayer } from '../transport/transport-layer.ts'
import { ClientTransaction, type ClientTransactionEvents } from './client-transaction.ts'
import { ServerTransaction } from './server-transaction.ts'

export type TransactionEvents = {
  /** A new request; never an ACK or a CANCEL. */
  request(transaction: ServerTransaction): void
  /** The ACK to a 2xx. */
  acknowledged(ack: SipRequest, flow: Flow): void
  /** A 2xx to an INVITE whose transaction has ended: its ACK was lost (13.2.2.4). */
  repeatedOk(response: SipResponse, flow: Flow): void
}

export type TransactionLimits = {
  /** Concurrent transactions. Above the limit, requests are answered 503 and none of ours starts. */
  readonly maxServer: number
  readonly maxClient: number
}

const cookie = 'z9hG4bK'

/** The key that identifies a retransmitted request (17.2.3). ACK belongs to its INVITE. */
const serverKey = (request: SipRequest, method = request.method): string => {
  const via = topVia(request)
  const branch = via.params.get('branch') ?? ''
  const kind = method === 'ACK' ? 'INVITE' : method
  if (branch.startsWith(cookie) && branch.length > cookie.length) return `${branch} ${via.host}:${via.port} ${kind}`
  // A peer of RFC 2543 sends no unique branch for each request.
  const { number } = cseqOf(request)
  return `2543 ${callIdOf(request)} ${tagOf(fromOf(request))} ${number} ${printVia(via)} ${kind}`
}

const clientKey = (branch: string, method: string): string => `${branch} ${method}`

/** The same request over two paths has two branches (8.2.2.2). Null within a dialog. */
const mergeKey = (request: SipRequest): string | null => {
  if (tagOf(toOf(request)) !== null) return null
  const { number, method } = cseqOf(request)
  return `${callIdOf(request)} ${tagOf(fromOf(request))} ${number} ${method}`
}

/** Requests that end something get extra capacity. */
const isEnding = (request: SipRequest): boolean => request.method === 'BYE'

/** The transaction layer (RFC 3261, 17): matches messages to transactions, and limits their number. */
export class TransactionLayer {
  private readonly transport: TransportLayer
  readonly timers: Timers
  private readonly events: TransactionEvents
  private readonly limits: TransactionLimits
  private readonly servers = new Map<string, ServerTransaction>()
  private readonly mergeCandidates = new Map<string, ServerTransaction>()
  private readonly clients = new Map<string, ClientTransaction>()
  private isClosed = false
  /** Requests answered 503 because of the limit. */
  refused = 0

  constructor(
    transport: TransportLayer,
    timers: Timers,
    events: TransactionEvents,
    limits: Partial<TransactionLimits> = {},
  ) {
    this.transport = transport
    this.timers = timers
    this.events = events
    this.limits = { maxServer: 20_000, maxClient: 20_000, ...limits }
  }

  get active(): { servers: number; clients: number } {
    return { servers: this.servers.size, clients: this.clients.size }
  }

  /** Starts a client transaction and adds our Via. Null above the limit, or after `close`. */
  request(
    request: SipRequest,
    flow: Flow,
    events: ClientTransactionEvents,
    timeoutMs?: number,
  ): ClientTransaction | null {
    if (this.isClosed || (this.clients.size >= this.limits.maxClient && !isEnding(request))) return null
    const branch = `${cookie}${randomBytes(9).toString('base64url')}`
    return this.startClient(this.withVia(request, flow, branch), branch, flow, events, timeoutMs)
  }

  /** Cancels an INVITE, with its branch (9.1). */
  cancel(cancel: SipRequest, flow: Flow): void {
    const branch = topVia(cancel).params.get('branch') ?? ''
    this.startClient(cancel, branch, flow, { response: () => {}, failed: () => {} })
  }

  /** Sends an ACK to a 2xx: no transaction, but a branch of its own (13.2.2.4). Returns the sent ACK for repetition. */
  acknowledge(ack: SipRequest, flow: Flow): SipRequest {
    const sent = this.withVia(ack, flow, `${cookie}${randomBytes(9).toString('base64url')}`)
    this.transport.send(sent, flow)
    return sent
  }

  receiveRequest(request: SipRequest, flow: Flow): void {
    const key = serverKey(request)
    const known = this.servers.get(key)
    if (request.method === 'ACK') {
      if (known && !known.isAccepted) known.acknowledged()
      else this.events.acknowledged(request, flow)
    } else if (known) known.retransmitted()
    else this.startServer(request, key, flow)
  }

  receiveResponse(response: SipResponse, flow: Flow): void {
    const { method } = cseqOf(response)
    const transaction = this.clients.get(clientKey(topVia(response).params.get('branch') ?? '', method))
    if (transaction) transaction.receive(response)
    else if (method === 'INVITE' && response.status >= 200 && response.status < 300)
      this.events.repeatedOk(response, flow)
    else this.transport.strayResponses++
  }

  /** A connection broke: no response will arrive over it. */
  disconnected(flow: Flow): void {
    for (const transaction of [...this.clients.values()]) if (transaction.flow === flow) transaction.disconnected()
  }

  /** Ends all transactions. Pending client transactions fail. */
  close(): void {
    this.isClosed = true
    for (const transaction of [...this.clients.values()]) transaction.disconnected()
    for (const transaction of [...this.clients.values(), ...this.servers.values()]) transaction.terminate()
  }

  private withVia(request: SipRequest, flow: Flow, branch: string): SipRequest {
    const params = new Map<string, string | null>([['branch', branch]])
    // RFC 3581, 3: responses return to the source port.
    if (flow.protocol === 'UDP') params.set('rport', null)
    const via = printVia({ protocol: flow.protocol, ...this.transport.sentBy(flow.protocol), params })
    const rest = request.headers.filter(([name]) => name !== 'Via')
    return { ...request, headers: [['Via', via], ...rest] }
  }

  private startClient(
    request: SipRequest,
    branch: string,
    flow: Flow,
    events: ClientTransactionEvents,
    timeoutMs?: number,
  ): ClientTransaction {
    const key = clientKey(branch, request.method)
    const context = {
      timers: this.timers,
      send: (message: SipMessage, to: Flow) => this.transport.send(message, to),
      ended: () => this.clients.delete(key),
    }
    const transaction = new ClientTransaction(request, flow, context, events, timeoutMs)
    this.clients.set(key, transaction)
    transaction.start()
    return transaction
  }

  private startServer(request: SipRequest, key: string, flow: Flow): void {
    const { maxServer } = this.limits
    const isOver = this.servers.size >= (isEnding(request) || request.method === 'CANCEL' ? maxServer * 1.1 : maxServer)
    if (isOver) {
      this.refused++
      void this.transport.respond(
        buildResponse(request, { status: 503, headers: [['Retry-After', '5']], tag: 'busy' }),
        flow,
      )
      return
    }
    const merge = mergeKey(request)
    const transaction = new ServerTransaction(request, flow, {
      timers: this.timers,
      send: (message, to) => void this.transport.respond(message, to),
      ended: () => {
        this.servers.delete(key)
        if (merge !== null && this.mergeCandidates.get(merge) === transaction) this.mergeCandidates.delete(merge)
      },
    })
    this.servers.set(key, transaction)
    if (request.method === 'CANCEL') this.handleCancel(transaction)
    else if (merge !== null && this.mergeCandidates.has(merge)) transaction.reply({ status: 482 })
    else {
      if (merge !== null) this.mergeCandidates.set(merge, transaction)
      this.events.request(transaction)
    }
  }

  private handleCancel(cancel: ServerTransaction): void {
    const invite = this.servers.get(serverKey(cancel.request, 'INVITE'))
    if (!invite) {
      cancel.reply({ status: 481 })
      return
    }
    // The tag is that of the response to the INVITE (9.2).
    cancel.reply({ status: 200, tag: invite.tag })
    if (invite.isPending) invite.events.cancelled(cancel.request)
  }
}
