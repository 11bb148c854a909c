import type { Core, DialogUser } from '../dialog/core.ts'
import { Dialog, dialogKey, type Frozen } from '../dialog/dialog.ts'
import { IncomingCall } from '../dialog/incoming.ts'
import { OutgoingCall, type OutgoingEvents } from '../dialog/outgoing.ts'
import { askedInterval } from '../dialog/refresher.ts'
import { Session, type SessionEvents } from '../dialog/session.ts'
import { DigestClient } from '../digest/client.ts'
import { callIdOf, fromOf, tagOf, toOf } from '../fields.ts'
import type { Header, SipMessage, SipRequest } from '../message.ts'
import { unwrapped } from '../multipart.ts'
import { type Answer, makeTag, replyTo } from '../reply.ts'
import { owned, realTimers, type Timers } from '../timers.ts'
import { TransactionLayer, type TransactionLimits } from '../transaction/layer.ts'
import type { ServerTransaction } from '../transaction/server.ts'
import type { Flow } from '../transport/flow.ts'
import { TransportLayer } from '../transport/layer.ts'
import { makeSipNames, type SipNames } from '../transport/locate.ts'
import { type Ask, compose, type Numbered, named } from './ask.ts'
import { allowed, refusalOf, supported } from './edge.ts'
import { Exchange, type ExchangeOptions, type Outcome } from './exchange.ts'
import { Ways } from './ways.ts'

/** What comes in. Nothing here is called with a request that a handler would have to doubt: see `edge.ts`. */
export type AgentHandlers = {
  /** False drops a request without a reply: nobody whom we know. Asked of every request outside our dialogs, malformed ones included. */
  admits?(flow: Flow, request: SipRequest | null): boolean
  onInvite(call: IncomingCall): void | Promise<void>
  onRegister?(request: SipRequest, flow: Flow): Answer | Promise<Answer>
  /** Outside a dialog. Answered without a transaction, so a flood of them is kept nowhere. */
  onOptions?(request: SipRequest, flow: Flow): Answer
  /** Every message that was sent or received, whole. */
  seen?(direction: 'in' | 'out', message: SipMessage, flow: Flow): void
  closed?(flow: Flow, reason: string): void
  /** Something of ours threw while it worked for a peer: a bug. The peer was answered 500. */
  fault(error: unknown): void
}

export type AgentSettings = {
  readonly handlers: AgentHandlers
  readonly timers?: Timers
  readonly names?: SipNames
  readonly random?: () => number
  /** What User-Agent and Server say. */
  readonly name?: string
  /** The user part of our Contact. */
  readonly user?: string
  /** Seconds between two signs of life of a call (RFC 4028); 0 for none. */
  readonly sessionSeconds?: number
  readonly limits?: Partial<TransactionLimits>
}

/** The user agent's core (RFC 3261, 8): what a gateway, a trunk or a simulated peer talks to. */
export class Agent {
  readonly transports: TransportLayer
  readonly timers: ReturnType<typeof owned>
  private readonly settings: AgentSettings
  private readonly ways: Ways
  private readonly transactions: TransactionLayer
  private readonly core: Core
  private readonly users = new Map<string, DialogUser>()
  private readonly tally = { malformed: 0, dropped: 0, faults: 0 }

  constructor(settings: AgentSettings) {
    const { handlers, timers = realTimers, limits } = settings
    this.settings = settings
    this.timers = owned(timers, (error) => this.core.fault(error))
    this.ways = new Ways(settings.names ?? makeSipNames(), settings.random ?? Math.random)
    this.transports = new TransportLayer({
      request: (request, flow) => this.receive(unwrapped(request), flow),
      response: (response, flow) => this.transactions.receiveResponse(unwrapped(response), flow),
      malformed: ({ status, reason, request }, flow) => {
        this.tally.malformed++
        if (request && this.admits(flow, request)) this.answer(request, flow, { status, reason })
      },
      seen: (direction, message, flow) => handlers.seen?.(direction, message, flow),
      closed: (flow, reason) => {
        this.transactions.disconnected(flow)
        handlers.closed?.(flow, reason)
      },
      fault: (error) => this.core.fault(error),
    })
    this.transactions = new TransactionLayer(
      this.transports,
      this.timers,
      {
        request: (transaction) => this.open(transaction),
        acknowledged: (ack) => this.userOf(ack)?.acknowledged(ack),
        late: (response) => this.userOf(response)?.late(response),
      },
      limits,
    )
    this.core = this.makeCore()
  }

  /** What did not parse; what was dropped because nobody is known there; what threw; 503 for too much; answers to nothing. */
  get counts() {
    return { ...this.tally, refused: this.transactions.refused, strays: this.transports.strays }
  }

  get underWay(): { servers: number; clients: number; dialogs: number } {
    return { ...this.transactions.underWay, dialogs: this.users.size }
  }

  /** OPTIONS, REGISTER and their kin. Never rejects. */
  request(method: string, ask: Ask, numbered?: Numbered): Promise<Outcome> {
    const contact = method === 'REGISTER' || method === 'SUBSCRIBE' ? { contact: this.core.contact } : {}
    return this.exchange(compose(method, ask, this.settings.name, numbered), ask, contact).done
  }

  /** Where requests to a URI would go, best first. @throws Error when nobody could be asked */
  async locate(uri: string): Promise<readonly { readonly address: string; readonly port: number }[]> {
    return this.ways.to(uri)
  }

  /** Calls somebody. */
  invite(ask: Ask, events: OutgoingEvents): OutgoingCall {
    const digest = ask.digest ?? (ask.credentials && new DigestClient(ask.credentials))
    const call = new OutgoingCall(this.core, events, digest)
    const own: Header[] = [['Allow', allowed], ['Supported', supported], ...askedInterval(this.core.sessionSeconds)]
    const request = compose('INVITE', { ...ask, headers: [...own, ...(ask.headers ?? [])] }, this.settings.name)
    const exchange = this.exchange(request, digest ? { ...ask, digest } : ask, {
      contact: this.core.contact,
      provisional: (...args) => call.provisional(...args),
      success: (...args) => call.success(...args),
    })
    call.run(exchange)
    return call
  }

  /** A session that was frozen before a crash: to end it, or to go on. */
  thaw(frozen: Frozen, events: SessionEvents): Session {
    // Numbers may have been used after it was frozen; a gap is no error (12.2.2).
    return new Session(this.core, new Dialog({ ...frozen, localSeq: frozen.localSeq + 1_000 }), events)
  }

  async close(): Promise<void> {
    this.transactions.close()
    this.timers.stop()
    this.users.clear()
    this.ways.close()
    await this.transports.close()
  }

  private makeCore(): Core {
    const { sessionSeconds = 1_800, random = Math.random, user, name, handlers } = this.settings
    return {
      timers: this.timers,
      random,
      sessionSeconds,
      allow: allowed,
      supported,
      keep: (key, owner) => this.users.set(key, owner),
      forget: (key, owner) => {
        if (this.users.get(key) === owner) this.users.delete(key)
      },
      within: (dialog, request, options = {}) => {
        const exchange = new Exchange(this.transports, this.transactions, named(request, name), options)
        void exchange.start(this.ways.within(dialog))
        return exchange
      },
      acknowledge: (dialog, ack) => this.acknowledge(dialog, ack),
      contact: (flow) => {
        const { host, port } = this.transports.sentBy(flow.protocol)
        // RFC 7118, 5: a WebSocket is `ws`, with TLS or without.
        const how = flow.protocol === 'WSS' ? 'ws' : flow.protocol.toLowerCase()
        const transport = how === 'udp' ? '' : `;transport=${how}`
        return `<sip:${user === undefined ? '' : `${user}@`}${host}${port === null ? '' : `:${port}`}${transport}>`
      },
      fault: (error) => {
        this.tally.faults++
        handlers.fault(error)
      },
    }
  }

  private exchange(request: SipRequest, ask: Ask, options: ExchangeOptions): Exchange {
    const { patienceMs, credentials, trust } = ask
    const digest = ask.digest ?? (credentials && new DigestClient(credentials))
    const full = { ...options, ...(digest ? { digest } : {}), ...(patienceMs === undefined ? {} : { patienceMs }) }
    const exchange = new Exchange(this.transports, this.transactions, request, full)
    void exchange.start(this.ways.to(ask.via ?? ask.uri, trust))
    return exchange
  }

  private acknowledge(dialog: Dialog, ack: SipRequest): () => void {
    const sent = this.ways.within(dialog).then(async ([first]) => {
      if (!first) return null
      const flow = 'send' in first ? first : await this.transports.flow(first)
      return { flow, ack: this.transactions.acknowledge(ack, flow) }
    })
    // An ACK that could not be sent is asked for again by the next 2xx.
    sent.catch(() => {})
    return () =>
      void sent.then(
        (known) => known && this.transports.send(known.ack, known.flow),
        () => {},
      )
  }

  private admits(flow: Flow, request: SipRequest): boolean {
    const isAdmitted = this.settings.handlers.admits?.(flow, request) ?? true
    if (!isAdmitted) this.tally.dropped++
    return isAdmitted
  }

  private receive(request: SipRequest, flow: Flow): void {
    // Who knows the Call-ID and both tags of a dialog takes part in it, from wherever it speaks: a carrier's other proxy, or
    // a trunk that was taken away while its calls went on.
    if (this.userOf(request) === null && !this.admits(flow, request)) return
    const { onOptions } = this.settings.handlers
    if (request.method !== 'OPTIONS' || tagOf(toOf(request)) !== null) this.transactions.receiveRequest(request, flow)
    else {
      const refusal = refusalOf(request, false)
      const answer = refusal ?? this.tried(() => onOptions?.(request, flow) ?? { status: 200 })
      this.answer(request, flow, {
        ...answer,
        headers: [['Allow', allowed], ['Supported', supported], ...(answer.headers ?? [])],
      })
    }
  }

  /** Answers without a transaction (8.2.7). */
  private answer(request: SipRequest, flow: Flow, answer: Answer): void {
    void this.transports.respond(replyTo(request, { tag: makeTag(), ...answer }), flow)
  }

  private tried(run: () => Answer): Answer {
    try {
      return run()
    } catch (error) {
      this.core.fault(error)
      return { status: 500 }
    }
  }

  private open(transaction: ServerTransaction): void {
    const { request } = transaction
    const user = this.userOf(request)
    const refusal = refusalOf(request, user !== null)
    if (refusal) transaction.reply(refusal)
    else if (user === null) this.outside(transaction).catch((error: unknown) => this.failed(transaction, error))
    else if (!user.dialog.admits(request)) transaction.reply({ status: 500 })
    else user.request(transaction)
  }

  private async outside(transaction: ServerTransaction): Promise<void> {
    const { request, flow } = transaction
    const { onInvite, onRegister } = this.settings.handlers
    if (request.method === 'INVITE') await onInvite(new IncomingCall(this.core, transaction))
    else if (request.method === 'REGISTER' && onRegister) transaction.reply(await onRegister(request, flow))
    else transaction.reply({ status: 405, headers: [['Allow', allowed]] })
  }

  private failed(transaction: ServerTransaction, error: unknown): void {
    this.core.fault(error)
    transaction.reply({ status: 500 })
  }

  /** Who speaks within the dialog of a message: what To names is ours in requests, what From names in responses. */
  private userOf(message: SipMessage): DialogUser | null {
    const [from, to] = [tagOf(fromOf(message)) ?? '', tagOf(toOf(message)) ?? '']
    if (to === '') return null
    const [ours, theirs] = message.kind === 'request' ? [to, from] : [from, to]
    return this.users.get(dialogKey(callIdOf(message), ours, theirs)) ?? null
  }
}
