import type { Exchange, Outcome } from '../agent/exchange.ts'
import type { DigestClient } from '../digest/client.ts'
import { cseqOf } from '../fields.ts'
import type { SipRequest, SipResponse } from '../message.ts'
import type { Answer } from '../reply.ts'
import { patience } from '../timers.ts'
import type { ServerTransaction } from '../transaction/server.ts'
import type { Flow } from '../transport/flow.ts'
import type { Core, DialogUser } from './core.ts'
import { type Dialog, type Extra, type Frozen, lists } from './dialog.ts'
import { agreedByPeer, agreedByUs, askedInterval, type Interval, Refresher } from './refresher.ts'
import { resendUntilAcknowledged, type Unacknowledged } from './unacknowledged.ts'

/** Why a session is over: a BYE of the peer's or ours; no refresh in time; no ACK; or the peer does not know of it. */
export type SessionEnd = 'remote' | 'local' | 'expired' | 'unacknowledged' | 'gone'

export type SessionEvents = {
  /** re-INVITE, or UPDATE with a body: what to answer. Without a body it asks for an offer of ours, answered in the ACK. */
  offered(request: SipRequest): Answer | Promise<Answer>
  /** The ACK to an answer of ours: with the peer's answer, when the offer was ours. */
  acknowledged(ack: SipRequest): void
  info(request: SipRequest): Answer | Promise<Answer>
  /** Exactly once. @param request the BYE, when it was the peer's */
  ended(why: SessionEnd, request: SipRequest | null): void
}

const mostGlares = 3

/** Answers to our requests that say that the peer has no such session (12.2.1.2). */
const isGone = (outcome: Outcome): boolean =>
  outcome.outcome === 'failed' ? outcome.why === 'timeout' : [408, 481].includes(outcome.response.status)

/** An established call: the INVITE's usage of a confirmed dialog (RFC 3261, 14 and 15; RFC 3311; RFC 4028). */
export class Session implements DialogUser {
  readonly dialog: Dialog
  private readonly core: Core
  private readonly events: SessionEvents
  private readonly digest: DigestClient | undefined
  private readonly refresher: Refresher
  private end: SessionEnd | null = null
  /** An offer of ours is under way; one of theirs is being answered. */
  private offering = false
  private answering = false
  private waiting: Unacknowledged | null = null
  private afterAck: (() => void) | null = null
  /** What to send when the peer's 2xx to our last INVITE comes again: its ACK was lost. */
  private acknowledge: { readonly seq: number; again(): void } | null = null
  private peerUpdates = false
  private interval: Interval | null = null
  /** Our last description, repeated where a refresh wants one. */
  private described: Answer['body']

  constructor(core: Core, dialog: Dialog, events: SessionEvents, digest?: DigestClient) {
    this.core = core
    this.dialog = dialog
    this.events = events
    this.digest = digest
    this.refresher = new Refresher(core.timers, {
      refresh: () => void this.keepAlive(),
      expired: () => void this.finish('expired'),
    })
    core.keep(dialog.key, this)
  }

  get isOver(): boolean {
    return this.end !== null
  }

  freeze(): Frozen {
    return this.dialog.freeze()
  }

  /** Goes on over another flow: the peer's connection broke and came back. */
  move(flow: Flow): void {
    this.dialog.flow = flow
  }

  /** Notes what the INVITE that began it agreed upon. */
  begin(peer: SipRequest | SipResponse, interval: Interval | null, described: Answer['body']): void {
    this.peerUpdates = lists(peer, 'Allow', 'UPDATE')
    this.described = described
    this.restart(interval)
  }

  /** Ends it. Resolves when the peer has answered, or will not. A second time changes nothing. @returns whether it answered */
  async bye(extra: Extra = {}): Promise<boolean> {
    const outcome = await this.finish('local', extra)
    return outcome?.outcome === 'answered'
  }

  /** A new offer within the call. Null when the session ended meanwhile. */
  async reinvite(extra: Extra): Promise<Outcome | null> {
    for (let glares = 0; ; glares++) {
      if (this.isOver) return null
      const outcome = await this.offer('INVITE', extra)
      if (outcome.outcome === 'failed' || outcome.response.status !== 491 || glares >= mostGlares) return outcome
      await this.pause(this.dialog.side === 'caller' ? 2_100 + this.core.random() * 1_900 : this.core.random() * 2_000)
    }
  }

  info(extra: Extra): Promise<Outcome> {
    return this.ask('INFO', extra)
  }

  /** Asks whether the peer still knows of the session; ends it when not. */
  options(): Promise<Outcome> {
    return this.ask('OPTIONS', {})
  }

  /** Sends our 2xx until its ACK comes; ends the session when none does. */
  awaitAck(transaction: ServerTransaction, response: SipResponse): void {
    this.waiting = resendUntilAcknowledged(this.core.timers, transaction, response, () => {
      this.waiting = null
      void this.finish('unacknowledged')
    })
  }

  /** Sends the ACK to a 2xx to an INVITE of ours. */
  confirm(invite: SipRequest, body?: Answer['body']): void {
    const ack = this.dialog.ack(invite, body)
    this.acknowledge = { seq: cseqOf(invite).number, again: this.core.acknowledge(this.dialog, ack) }
  }

  late(response: SipResponse): void {
    if (this.acknowledge?.seq === cseqOf(response).number) this.acknowledge.again()
  }

  acknowledged(ack: SipRequest): void {
    if (this.waiting?.seq !== cseqOf(ack).number) return
    this.waiting.stop()
    this.waiting = null
    if (!this.isOver) this.events.acknowledged(ack)
    this.afterAck?.()
    this.afterAck = null
  }

  request(transaction: ServerTransaction): void {
    this.answer(transaction).catch((error: unknown) => {
      this.core.fault(error)
      transaction.reply({ status: 500 })
    })
  }

  private async answer(transaction: ServerTransaction): Promise<void> {
    const { request } = transaction
    const { method } = request
    if (method === 'BYE') {
      transaction.reply({ status: 200 })
      this.conclude('remote', request)
    } else if (this.isOver) transaction.reply({ status: 481 })
    else if (method === 'INVITE' || method === 'UPDATE') await this.takeOffer(transaction)
    else if (method === 'INFO') transaction.reply(await this.events.info(request))
    else if (method === 'OPTIONS') transaction.reply({ status: 200, headers: [['Allow', this.core.allow]] })
    else if (method === 'PRACK') transaction.reply({ status: 481 })
    else transaction.reply({ status: 405, headers: [['Allow', this.core.allow]] })
  }

  private async takeOffer(transaction: ServerTransaction): Promise<void> {
    const { request } = transaction
    const isInvite = request.method === 'INVITE'
    const hasOffer = isInvite || request.body.length > 0
    // 14.2; RFC 3311, 5.2.
    if (hasOffer && this.offering) transaction.reply({ status: 491 })
    else if (hasOffer && (this.answering || this.waiting)) {
      transaction.reply({ status: 500, headers: [['Retry-After', String(Math.floor(this.core.random() * 10))]] })
    } else await this.respond(transaction, hasOffer)
  }

  private async respond(transaction: ServerTransaction, hasOffer: boolean): Promise<void> {
    const { request } = transaction
    this.answering = hasOffer
    try {
      const answer = hasOffer ? await this.events.offered(request) : { status: 200 }
      if (this.isOver) transaction.reply({ status: 487 })
      else if (answer.status >= 300) transaction.reply(answer)
      else this.agree(transaction, answer)
    } finally {
      this.answering = false
    }
  }

  private agree(transaction: ServerTransaction, answer: Answer): void {
    const { request, flow } = transaction
    this.dialog.refresh(request)
    this.dialog.flow = flow
    this.described = answer.body ?? this.described
    const agreed = agreedByUs(request, this.interval?.seconds ?? this.core.sessionSeconds)
    const headers = [['Contact', this.core.contact(flow)] as const, ['Allow', this.core.allow] as const]
    const response = transaction.reply({
      ...answer,
      headers: [...headers, ...(agreed?.headers ?? []), ...(answer.headers ?? [])],
    })
    this.restart(agreed?.interval ?? null)
    if (request.method === 'INVITE') this.awaitAck(transaction, response)
  }

  private async keepAlive(): Promise<void> {
    // A refusal changes nothing: what is bounded by `expired` ends by it. That the peer knows nothing of it, `offer` sees.
    if (this.peerUpdates) await this.offer('UPDATE', {})
    else await this.reinvite(this.described ? { body: this.described } : {})
  }

  private async offer(method: 'INVITE' | 'UPDATE', { headers = [], body }: Extra): Promise<Outcome> {
    this.offering = true
    // What was agreed is asked for again, from the same refresher (RFC 4028, 7.4).
    const { seconds, isOurs } = this.interval ?? { seconds: this.core.sessionSeconds, isOurs: true }
    const interval = askedInterval(seconds, isOurs ? 'uac' : 'uas')
    const request = this.dialog.build(method, {
      headers: [['Allow', this.core.allow], ['Supported', this.core.supported], ...interval, ...headers],
      ...(body ? { body } : {}),
    })
    const outcome = await this.send(request).done
    this.offering = false
    if (outcome.outcome === 'answered' && outcome.response.status < 300) {
      this.dialog.refresh(outcome.response)
      this.described = body ?? this.described
      this.restart(agreedByPeer(outcome.response))
    } else if (isGone(outcome)) await this.finish('gone')
    return outcome
  }

  private restart(interval: Interval | null): void {
    this.interval = interval
    this.refresher.restart(interval)
  }

  private send(request: SipRequest): Exchange {
    return this.core.within(this.dialog, request, {
      ...(this.digest ? { digest: this.digest } : {}),
      nextSeq: () => this.dialog.nextSeq(),
      // Nobody rings within a call: a peer that says nothing more has forgotten it.
      ringMs: patience,
      ...(request.method === 'INVITE' || request.method === 'UPDATE' ? { contact: this.core.contact } : {}),
      success: (response, invite) => {
        this.dialog.refresh(response)
        if (this.acknowledge?.seq === cseqOf(invite).number) this.acknowledge.again()
        else this.confirm(invite)
      },
    })
  }

  private async ask(method: string, extra: Extra): Promise<Outcome> {
    if (this.isOver) return { outcome: 'failed', why: 'cancelled', reason: 'the session is over' }
    const outcome = await this.send(this.dialog.build(method, extra)).done
    if (isGone(outcome)) this.conclude('gone', null)
    return outcome
  }

  private pause(milliseconds: number): Promise<void> {
    return new Promise((resolve) => this.core.timers.after(milliseconds, resolve))
  }

  /** Ends it from our side: a BYE, which the callee sends only once the caller's ACK is there, or will not come (15). */
  private async finish(why: SessionEnd, extra: Extra = {}): Promise<Outcome | null> {
    if (this.isOver) return null
    const isEarly = this.waiting !== null
    this.conclude(why, null)
    if (isEarly) await new Promise<void>((resolve) => this.holdBack(resolve))
    const outcome = await this.send(this.dialog.build('BYE', extra)).done
    this.core.forget(this.dialog.key, this)
    return outcome
  }

  private holdBack(go: () => void): void {
    const stop = this.core.timers.after(patience, go)
    this.afterAck = () => {
      stop()
      go()
    }
  }

  private conclude(why: SessionEnd, request: SipRequest | null): void {
    if (this.isOver) return
    this.end = why
    this.refresher.stop()
    // Otherwise there is a BYE to be sent, and a request of the peer's may cross it.
    if (why === 'remote' || why === 'gone') {
      this.waiting?.stop()
      this.waiting = null
      this.core.forget(this.dialog.key, this)
    }
    try {
      this.events.ended(why, request)
    } catch (error) {
      this.core.fault(error)
    }
  }
}
