import type { DigestClient } from '../digest/digest-client.ts'
import { cseqOf } from '../fields.ts'
import type { SipRequest, SipResponse } from '../message.ts'
import type { ResponseOptions } from '../response.ts'
import { transactionTimeoutMs } from '../timers.ts'
import type { ServerTransaction } from '../transaction/server-transaction.ts'
import type { Flow } from '../transport/flow.ts'
import type { RequestOutcome, UacRequest } from '../user-agent/uac.ts'
import { type Dialog, type DialogSnapshot, hasToken, type RequestContent } from './dialog.ts'
import type { DialogContext, DialogUser } from './dialog-context.ts'
import { type OkRetransmission, retransmitOk } from './ok-retransmission.ts'
import {
  intervalOfResponse,
  negotiateInterval,
  type SessionInterval,
  SessionTimer,
  sessionIntervalHeaders,
} from './session-timer.ts'

/** Why a session ended: BYE from the peer or from us, no refresh in time, no ACK, or the peer does not know it. */
export type SipSessionEnd = 'remote' | 'local' | 'expired' | 'unacknowledged' | 'gone'

export type SipSessionEvents = {
  /**
   * A re-INVITE, or an UPDATE with a body: returns the response. Without a body it requests our offer, which the ACK
   * answers.
   */
  offered(request: SipRequest): ResponseOptions | Promise<ResponseOptions>
  /** The ACK to our 2xx; it carries the peer's answer when the offer was ours. */
  acknowledged(ack: SipRequest): void
  info(request: SipRequest): ResponseOptions | Promise<ResponseOptions>
  /** Called exactly once. @param request the BYE, when the peer sent it */
  ended(why: SipSessionEnd, request: SipRequest | null): void
}

const maxGlares = 3

/** True when the outcome means that the peer has no such session (12.2.1.2). */
const isGone = (outcome: RequestOutcome): boolean =>
  outcome.outcome === 'failed' ? outcome.why === 'timeout' : [408, 481].includes(outcome.response.status)

/** An established call: the INVITE usage of a confirmed dialog (RFC 3261, 14 and 15; RFC 3311; RFC 4028). */
export class SipSession implements DialogUser {
  readonly dialog: Dialog
  private readonly context: DialogContext
  private readonly events: SipSessionEvents
  private readonly digest: DigestClient | undefined
  private readonly timer: SessionTimer
  private end: SipSessionEnd | null = null
  /** Our offer is under way; the peer's offer is being answered. */
  private hasLocalOffer = false
  private hasRemoteOffer = false
  private pendingOk: OkRetransmission | null = null
  private afterAck: (() => void) | null = null
  /** Repeats the ACK when the peer repeats its 2xx to our last INVITE. */
  private lastAck: { readonly seq: number; again(): void } | null = null
  private supportsUpdate = false
  private interval: SessionInterval | null = null
  /** Our last description, repeated in a refresh by re-INVITE. */
  private localDescription: ResponseOptions['body']

  constructor(core: DialogContext, dialog: Dialog, events: SipSessionEvents, digest?: DigestClient) {
    this.context = core
    this.dialog = dialog
    this.events = events
    this.digest = digest
    this.timer = new SessionTimer(core.timers, {
      refresh: () => void this.refresh(),
      expired: () => void this.terminate('expired'),
    })
    core.register(dialog.key, this)
  }

  get isEnded(): boolean {
    return this.end !== null
  }

  snapshot(): DialogSnapshot {
    return this.dialog.snapshot()
  }

  /** Continues over another flow after the peer reconnected. */
  setFlow(flow: Flow): void {
    this.dialog.flow = flow
  }

  /** Stores what the initial INVITE agreed upon. */
  begin(peer: SipRequest | SipResponse, interval: SessionInterval | null, described: ResponseOptions['body']): void {
    this.supportsUpdate = hasToken(peer, 'Allow', 'UPDATE')
    this.localDescription = described
    this.restart(interval)
  }

  /** Ends the session. Resolves to whether the peer answered the BYE. A second call has no effect. */
  async bye(extra: RequestContent = {}): Promise<boolean> {
    const outcome = await this.terminate('local', extra)
    return outcome?.outcome === 'answered'
  }

  /** Sends a new offer within the call. Null when the session ended meanwhile. */
  async reinvite(extra: RequestContent): Promise<RequestOutcome | null> {
    for (let glares = 0; ; glares++) {
      if (this.isEnded) return null
      const outcome = await this.offer('INVITE', extra)
      if (outcome.outcome === 'failed' || outcome.response.status !== 491 || glares >= maxGlares) return outcome
      await this.pause(
        this.dialog.side === 'caller' ? 2_100 + this.context.random() * 1_900 : this.context.random() * 2_000,
      )
    }
  }

  info(extra: RequestContent): Promise<RequestOutcome> {
    return this.sendInDialog('INFO', extra)
  }

  /** Checks that the peer still knows the session; ends it if not. */
  options(): Promise<RequestOutcome> {
    return this.sendInDialog('OPTIONS', {})
  }

  /** Repeats our 2xx until its ACK arrives; ends the session without one. */
  awaitAck(transaction: ServerTransaction, response: SipResponse): void {
    this.pendingOk = retransmitOk(this.context.timers, transaction, response, () => {
      this.pendingOk = null
      void this.terminate('unacknowledged')
    })
  }

  /** Sends the ACK to a 2xx to our INVITE. */
  confirm(invite: SipRequest, body?: ResponseOptions['body']): void {
    const ack = this.dialog.ack(invite, body)
    this.lastAck = { seq: cseqOf(invite).number, again: this.context.acknowledge(this.dialog, ack) }
  }

  repeatedOk(response: SipResponse): void {
    if (this.lastAck?.seq === cseqOf(response).number) this.lastAck.again()
  }

  acknowledged(ack: SipRequest): void {
    if (this.pendingOk?.seq !== cseqOf(ack).number) return
    this.pendingOk.stop()
    this.pendingOk = null
    if (!this.isEnded) this.events.acknowledged(ack)
    this.afterAck?.()
    this.afterAck = null
  }

  request(transaction: ServerTransaction): void {
    this.answer(transaction).catch((error: unknown) => {
      this.context.onError(error)
      transaction.reply({ status: 500 })
    })
  }

  private async answer(transaction: ServerTransaction): Promise<void> {
    const { request } = transaction
    const { method } = request
    if (method === 'BYE') {
      transaction.reply({ status: 200 })
      this.markEnded('remote', request)
    } else if (this.isEnded) transaction.reply({ status: 481 })
    else if (method === 'INVITE' || method === 'UPDATE') await this.handleOffer(transaction)
    else if (method === 'INFO') transaction.reply(await this.events.info(request))
    else if (method === 'OPTIONS') transaction.reply({ status: 200, headers: [['Allow', this.context.allow]] })
    else if (method === 'PRACK') transaction.reply({ status: 481 })
    else transaction.reply({ status: 405, headers: [['Allow', this.context.allow]] })
  }

  private async handleOffer(transaction: ServerTransaction): Promise<void> {
    const { request } = transaction
    const isInvite = request.method === 'INVITE'
    const hasOffer = isInvite || request.body.length > 0
    // 14.2; RFC 3311, 5.2.
    if (hasOffer && this.hasLocalOffer) transaction.reply({ status: 491 })
    else if (hasOffer && (this.hasRemoteOffer || this.pendingOk)) {
      transaction.reply({ status: 500, headers: [['Retry-After', String(Math.floor(this.context.random() * 10))]] })
    } else await this.respond(transaction, hasOffer)
  }

  private async respond(transaction: ServerTransaction, hasOffer: boolean): Promise<void> {
    const { request } = transaction
    this.hasRemoteOffer = hasOffer
    try {
      const answer = hasOffer ? await this.events.offered(request) : { status: 200 }
      if (this.isEnded) transaction.reply({ status: 487 })
      else if (answer.status >= 300) transaction.reply(answer)
      else this.acceptOffer(transaction, answer)
    } finally {
      this.hasRemoteOffer = false
    }
  }

  private acceptOffer(transaction: ServerTransaction, answer: ResponseOptions): void {
    const { request, flow } = transaction
    this.dialog.refresh(request)
    this.dialog.flow = flow
    this.localDescription = answer.body ?? this.localDescription
    const agreed = negotiateInterval(request, this.interval?.seconds ?? this.context.sessionSeconds)
    const headers = [['Contact', this.context.contact(flow)] as const, ['Allow', this.context.allow] as const]
    const response = transaction.reply({
      ...answer,
      headers: [...headers, ...(agreed?.headers ?? []), ...(answer.headers ?? [])],
    })
    this.restart(agreed?.interval ?? null)
    if (request.method === 'INVITE') this.awaitAck(transaction, response)
  }

  private async refresh(): Promise<void> {
    // A refusal changes nothing: `expired` bounds the session. `offer` detects a peer that does not know it.
    if (this.supportsUpdate) await this.offer('UPDATE', {})
    else await this.reinvite(this.localDescription ? { body: this.localDescription } : {})
  }

  private async offer(method: 'INVITE' | 'UPDATE', { headers = [], body }: RequestContent): Promise<RequestOutcome> {
    this.hasLocalOffer = true
    // Requests the agreed interval from the same refresher (RFC 4028, 7.4).
    const { seconds, isOurs } = this.interval ?? { seconds: this.context.sessionSeconds, isOurs: true }
    const interval = sessionIntervalHeaders(seconds, isOurs ? 'uac' : 'uas')
    const request = this.dialog.build(method, {
      headers: [['Allow', this.context.allow], ['Supported', this.context.supported], ...interval, ...headers],
      ...(body ? { body } : {}),
    })
    const outcome = await this.send(request).done
    this.hasLocalOffer = false
    if (outcome.outcome === 'answered' && outcome.response.status < 300) {
      this.dialog.refresh(outcome.response)
      this.localDescription = body ?? this.localDescription
      this.restart(intervalOfResponse(outcome.response))
    } else if (isGone(outcome)) await this.terminate('gone')
    return outcome
  }

  private restart(interval: SessionInterval | null): void {
    this.interval = interval
    this.timer.restart(interval)
  }

  private send(request: SipRequest): UacRequest {
    return this.context.sendRequest(this.dialog, request, {
      ...(this.digest ? { digest: this.digest } : {}),
      nextSeq: () => this.dialog.nextSeq(),
      // No telephone rings within a call: a peer that stays silent has lost the session.
      ringMs: transactionTimeoutMs,
      ...(request.method === 'INVITE' || request.method === 'UPDATE' ? { contact: this.context.contact } : {}),
      success: (response, invite) => {
        this.dialog.refresh(response)
        if (this.lastAck?.seq === cseqOf(invite).number) this.lastAck.again()
        else this.confirm(invite)
      },
    })
  }

  private async sendInDialog(method: string, extra: RequestContent): Promise<RequestOutcome> {
    if (this.isEnded) return { outcome: 'failed', why: 'cancelled', reason: 'the session is over' }
    const outcome = await this.send(this.dialog.build(method, extra)).done
    if (isGone(outcome)) this.markEnded('gone', null)
    return outcome
  }

  private pause(milliseconds: number): Promise<void> {
    return new Promise((resolve) => this.context.timers.after(milliseconds, resolve))
  }

  /** Ends the session from our side with a BYE. The callee sends it only after the caller's ACK or its timeout (15). */
  private async terminate(why: SipSessionEnd, extra: RequestContent = {}): Promise<RequestOutcome | null> {
    if (this.isEnded) return null
    const isEarly = this.pendingOk !== null
    this.markEnded(why, null)
    if (isEarly) await new Promise<void>((resolve) => this.waitForAck(resolve))
    const outcome = await this.send(this.dialog.build('BYE', extra)).done
    this.context.unregister(this.dialog.key, this)
    return outcome
  }

  private waitForAck(go: () => void): void {
    const stop = this.context.timers.after(transactionTimeoutMs, go)
    this.afterAck = () => {
      stop()
      go()
    }
  }

  private markEnded(why: SipSessionEnd, request: SipRequest | null): void {
    if (this.isEnded) return
    this.end = why
    this.timer.stop()
    // Otherwise a BYE must still be sent, and a request of the peer may cross it.
    if (why === 'remote' || why === 'gone') {
      this.pendingOk?.stop()
      this.pendingOk = null
      this.context.unregister(this.dialog.key, this)
    }
    try {
      this.events.ended(why, request)
    } catch (error) {
      this.context.onError(error)
    }
  }
}
