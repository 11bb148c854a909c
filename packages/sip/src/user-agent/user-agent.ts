import { Dialog, type DialogSnapshot, dialogKey } from '../dialog/dialog.ts'
import type { DialogContext, DialogUser } from '../dialog/dialog-context.ts'
import { IncomingCall } from '../dialog/incoming-call.ts'
import { OutgoingCall, type OutgoingCallEvents } from '../dialog/outgoing-call.ts'
import { sessionIntervalHeaders } from '../dialog/session-timer.ts'
import { SipSession, type SipSessionEvents } from '../dialog/sip-session.ts'
import { DigestClient } from '../digest/digest-client.ts'
import { callIdOf, fromOf, tagOf, toOf } from '../fields.ts'
import type { Header, SipMessage, SipRequest } from '../message.ts'
import { withSdpPart } from '../multipart.ts'
import { buildResponse, makeTag, type ResponseOptions } from '../response.ts'
import { cancellableTimers, realTimers, type Timers } from '../timers.ts'
import type { ServerTransaction } from '../transaction/server-transaction.ts'
import { TransactionLayer, type TransactionLimits } from '../transaction/transaction-layer.ts'
import type { Flow } from '../transport/flow.ts'
import { makeSipResolver, type SipResolver } from '../transport/locate.ts'
import { TransportLayer } from '../transport/transport-layer.ts'
import { buildRequest, type RequestOptions, type RequestSequence, withUserAgent } from './request.ts'
import { TargetResolver } from './target-resolver.ts'
import { type RequestOutcome, UacRequest, type UacRequestOptions } from './uac.ts'
import { allowedMethods, refusalOfMethod, supportedExtensions, validateRequest } from './validate-request.ts'

/** Handlers of incoming traffic. `validateRequest` has checked every request before a handler gets it. */
export type UserAgentHandlers = {
  /**
   * False drops a request without a reply: the peer is unknown. Called for every request outside our dialogs, including
   * malformed ones (null).
   */
  isAllowed?(flow: Flow, request: SipRequest | null): boolean
  onInvite(call: IncomingCall): void | Promise<void>
  onRegister?(request: SipRequest, flow: Flow): ResponseOptions | Promise<ResponseOptions>
  /** OPTIONS outside a dialog. The answer needs no transaction, so a flood of OPTIONS stores nothing. */
  onOptions?(request: SipRequest, flow: Flow): ResponseOptions
  /** Every complete message that was sent or received. */
  onMessage?(direction: 'in' | 'out', message: SipMessage, flow: Flow): void
  onClosed?(flow: Flow, reason: string): void
  /** An internal error while handling a peer's message. The peer was answered 500. */
  onError(error: unknown): void
}

export type UserAgentSettings = {
  readonly handlers: UserAgentHandlers
  readonly timers?: Timers
  readonly names?: SipResolver
  readonly random?: () => number
  /** Value of User-Agent and Server. */
  readonly name?: string
  /** User part of our Contact. */
  readonly user?: string
  /** Session refresh interval in seconds (RFC 4028); 0 disables session timers. */
  readonly sessionSeconds?: number
  readonly limits?: Partial<TransactionLimits>
}

/** The core of a user agent (RFC 3261, 8), used by the gateway, by trunks and by simulated peers. */
export class UserAgent {
  readonly transports: TransportLayer
  readonly timers: ReturnType<typeof cancellableTimers>
  private readonly settings: UserAgentSettings
  private readonly targets: TargetResolver
  private readonly transactions: TransactionLayer
  private readonly context: DialogContext
  private readonly users = new Map<string, DialogUser>()
  private readonly tallies = { malformed: 0, dropped: 0, faults: 0 }

  constructor(settings: UserAgentSettings) {
    const { handlers, timers = realTimers, limits } = settings
    this.settings = settings
    this.timers = cancellableTimers(timers, (error) => this.context.onError(error))
    this.targets = new TargetResolver(settings.names ?? makeSipResolver(), settings.random ?? Math.random)
    this.transports = new TransportLayer({
      request: (request, flow) => this.receive(withSdpPart(request), flow),
      response: (response, flow) => this.transactions.receiveResponse(withSdpPart(response), flow),
      malformed: ({ status, reason, request }, flow) => {
        this.tallies.malformed++
        if (request && this.isAllowed(flow, request)) this.answer(request, flow, { status, reason })
      },
      trace: (direction, message, flow) => handlers.onMessage?.(direction, message, flow),
      closed: (flow, reason) => {
        this.transactions.disconnected(flow)
        handlers.onClosed?.(flow, reason)
      },
      onError: (error) => this.context.onError(error),
    })
    this.transactions = new TransactionLayer(
      this.transports,
      this.timers,
      {
        request: (transaction) => this.handleTransaction(transaction),
        acknowledged: (ack) => this.dialogUserOf(ack)?.acknowledged(ack),
        repeatedOk: (response) => this.dialogUserOf(response)?.repeatedOk(response),
      },
      limits,
    )
    this.context = this.makeContext()
  }

  /**
   * Messages that did not parse; requests dropped from unknown peers; internal errors; requests answered 503; unmatched
   * responses.
   */
  get counts() {
    return { ...this.tallies, refused: this.transactions.refused, strays: this.transports.strayResponses }
  }

  get active(): { servers: number; clients: number; dialogs: number } {
    return { ...this.transactions.active, dialogs: this.users.size }
  }

  /** Sends a request outside a dialog, such as OPTIONS or REGISTER. Never rejects. */
  request(method: string, ask: RequestOptions, numbered?: RequestSequence): Promise<RequestOutcome> {
    const contact = method === 'REGISTER' || method === 'SUBSCRIBE' ? { contact: this.context.contact } : {}
    return this.exchange(buildRequest(method, ask, this.settings.name, numbered), ask, contact).done
  }

  /** Addresses that a URI resolves to, best first. @throws Error when no name server answered */
  async locate(uri: string): Promise<readonly { readonly address: string; readonly port: number }[]> {
    return this.targets.resolve(uri)
  }

  /** Starts an outgoing call. */
  invite(ask: RequestOptions, events: OutgoingCallEvents): OutgoingCall {
    const digest = ask.digest ?? (ask.credentials && new DigestClient(ask.credentials))
    const call = new OutgoingCall(this.context, events, digest)
    const own: Header[] = [
      ['Allow', allowedMethods],
      ['Supported', supportedExtensions],
      ...sessionIntervalHeaders(this.context.sessionSeconds),
    ]
    const request = buildRequest('INVITE', { ...ask, headers: [...own, ...(ask.headers ?? [])] }, this.settings.name)
    const exchange = this.exchange(request, digest ? { ...ask, digest } : ask, {
      contact: this.context.contact,
      provisional: (...args) => call.provisional(...args),
      success: (...args) => call.success(...args),
    })
    call.run(exchange)
    return call
  }

  /** Restores a session from the snapshot taken before a crash, to end or to continue it. */
  restore(frozen: DialogSnapshot, events: SipSessionEvents): SipSession {
    // Sequence numbers may have been used after the snapshot; a gap is allowed (12.2.2).
    return new SipSession(this.context, new Dialog({ ...frozen, localSeq: frozen.localSeq + 1_000 }), events)
  }

  async close(): Promise<void> {
    this.transactions.close()
    this.timers.stop()
    this.users.clear()
    this.targets.close()
    await this.transports.close()
  }

  private makeContext(): DialogContext {
    const { sessionSeconds = 1_800, random = Math.random, user, name, handlers } = this.settings
    return {
      timers: this.timers,
      random,
      sessionSeconds,
      allow: allowedMethods,
      supported: supportedExtensions,
      register: (key, owner) => this.users.set(key, owner),
      unregister: (key, owner) => {
        if (this.users.get(key) === owner) this.users.delete(key)
      },
      sendRequest: (dialog, request, options = {}) => {
        const exchange = new UacRequest(this.transports, this.transactions, withUserAgent(request, name), options)
        void exchange.start(this.targets.resolveInDialog(dialog))
        return exchange
      },
      acknowledge: (dialog, ack) => this.acknowledge(dialog, ack),
      contact: (flow) => {
        const { host, port } = this.transports.sentBy(flow.protocol)
        // RFC 7118, 5: the transport parameter of a WebSocket is `ws`, with or without TLS.
        const how = flow.protocol === 'WSS' ? 'ws' : flow.protocol.toLowerCase()
        const transport = how === 'udp' ? '' : `;transport=${how}`
        return `<sip:${user === undefined ? '' : `${user}@`}${host}${port === null ? '' : `:${port}`}${transport}>`
      },
      onError: (error) => {
        this.tallies.faults++
        handlers.onError(error)
      },
    }
  }

  private exchange(request: SipRequest, ask: RequestOptions, options: UacRequestOptions): UacRequest {
    const { credentials, trust } = ask
    const digest = ask.digest ?? (credentials && new DigestClient(credentials))
    const limit: UacRequestOptions = ask.timeoutMs === undefined ? {} : { timeoutMs: ask.timeoutMs }
    const full = { ...options, ...(digest ? { digest } : {}), ...limit }
    const exchange = new UacRequest(this.transports, this.transactions, request, full)
    void exchange.start(this.targets.resolve(ask.via ?? ask.uri, trust))
    return exchange
  }

  private acknowledge(dialog: Dialog, ack: SipRequest): () => void {
    const sent = this.targets.resolveInDialog(dialog).then(async ([first]) => {
      if (!first) return null
      const flow = 'send' in first ? first : await this.transports.flow(first)
      return { flow, ack: this.transactions.acknowledge(ack, flow) }
    })
    // If the ACK could not be sent, the next repeated 2xx triggers it again.
    sent.catch(() => {})
    return () =>
      void sent.then(
        (known) => known && this.transports.send(known.ack, known.flow),
        () => {},
      )
  }

  private isAllowed(flow: Flow, request: SipRequest): boolean {
    const isAdmitted = this.settings.handlers.isAllowed?.(flow, request) ?? true
    if (!isAdmitted) this.tallies.dropped++
    return isAdmitted
  }

  private receive(request: SipRequest, flow: Flow): void {
    // A peer that knows the Call-ID and both tags of a dialog belongs to it, from any address: another proxy of the
    // carrier, or a trunk that was removed during its calls.
    if (this.dialogUserOf(request) === null && !this.isAllowed(flow, request)) return
    const { onOptions } = this.settings.handlers
    if (request.method !== 'OPTIONS' || tagOf(toOf(request)) !== null) this.transactions.receiveRequest(request, flow)
    else {
      const refusal = validateRequest(request, false)
      const answer = refusal ?? this.tryAnswer(() => onOptions?.(request, flow) ?? { status: 200 })
      this.answer(request, flow, {
        ...answer,
        headers: [['Allow', allowedMethods], ['Supported', supportedExtensions], ...(answer.headers ?? [])],
      })
    }
  }

  /** Answers without a transaction (8.2.7). */
  private answer(request: SipRequest, flow: Flow, answer: ResponseOptions): void {
    void this.transports.respond(buildResponse(request, { tag: makeTag(), ...answer }), flow)
  }

  private tryAnswer(run: () => ResponseOptions): ResponseOptions {
    try {
      return run()
    } catch (error) {
      this.context.onError(error)
      return { status: 500 }
    }
  }

  private handleTransaction(transaction: ServerTransaction): void {
    const { request } = transaction
    const user = this.dialogUserOf(request)
    const refusal = validateRequest(request, user !== null)
    if (refusal) transaction.reply(refusal)
    else if (user === null)
      this.handleOutsideDialog(transaction).catch((error: unknown) => this.answerError(transaction, error))
    else if (!user.dialog.acceptSequence(request)) transaction.reply({ status: 500 })
    else user.request(transaction)
  }

  private async handleOutsideDialog(transaction: ServerTransaction): Promise<void> {
    const { request, flow } = transaction
    const { onInvite, onRegister } = this.settings.handlers
    if (request.method === 'INVITE') await onInvite(new IncomingCall(this.context, transaction))
    else if (request.method === 'REGISTER' && onRegister) transaction.reply(await onRegister(request, flow))
    else transaction.reply(refusalOfMethod(request.method))
  }

  private answerError(transaction: ServerTransaction, error: unknown): void {
    this.context.onError(error)
    transaction.reply({ status: 500 })
  }

  /** The user of the dialog a message belongs to. Our tag is in To for requests and in From for responses. */
  private dialogUserOf(message: SipMessage): DialogUser | null {
    const [from, to] = [tagOf(fromOf(message)) ?? '', tagOf(toOf(message)) ?? '']
    if (to === '') return null
    const [ours, theirs] = message.kind === 'request' ? [to, from] : [from, to]
    return this.users.get(dialogKey(callIdOf(message), ours, theirs)) ?? null
  }
}
