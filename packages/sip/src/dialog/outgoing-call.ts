import type { DigestClient } from '../digest/digest-client.ts'
import { cseqOf, rseqOf, tagOf, toOf } from '../fields.ts'
import type { Header, SipRequest, SipResponse } from '../message.ts'
import type { ResponseOptions } from '../response.ts'
import type { ServerTransaction } from '../transaction/server-transaction.ts'
import type { Flow } from '../transport/flow.ts'
import type { RequestOutcome, UacRequest } from '../user-agent/uac.ts'
import { Dialog } from './dialog.ts'
import type { DialogContext, DialogUser } from './dialog-context.ts'
import { type EarlyEvents, EarlyRequests } from './early-requests.ts'
import { isReliable } from './prack.ts'
import { intervalOfResponse } from './session-timer.ts'
import { SipSession, type SipSessionEvents } from './sip-session.ts'

export type OutgoingCallEvents = {
  /** Each provisional response, 101 to 199: ringing or early media. */
  progress(response: SipResponse, flow: Flow): void
  /** The first 2xx. */
  accepted(response: SipResponse, session: SipSession, flow: Flow): void
  /** The final outcome without a 2xx. Exactly one of `accepted` and `refused` is called, once. */
  refused(outcome: RequestOutcome): void
  readonly session: SipSessionEvents
  /** Returns the answer to the peer's offer in its 2xx, if the INVITE had no offer. */
  answer?(response: SipResponse): ResponseOptions['body']
}

/** Events of an unwanted session, which ends at once. */
const unwantedEvents: SipSessionEvents = {
  offered: () => ({ status: 488 }),
  acknowledged: () => {},
  info: () => ({ status: 200 }),
  ended: () => {},
}

/** An outgoing INVITE, which several peers may answer (RFC 3261, 13.2). The first 2xx wins; the others get a BYE. */
export class OutgoingCall {
  private readonly context: DialogContext
  private readonly events: OutgoingCallEvents
  private readonly digest: DigestClient | undefined
  private exchange: UacRequest | null = null
  private readonly early = new Map<string, EarlyDialog>()
  /** By the tag of the accepting peer. */
  private readonly sessions = new Map<string, SipSession>()
  private isCancelled = false
  private isDone = false

  constructor(core: DialogContext, events: OutgoingCallEvents, digest?: DigestClient) {
    this.context = core
    this.events = events
    this.digest = digest
  }

  /** True until a final response. */
  get isPending(): boolean {
    return !this.isDone
  }

  /** Called by the user agent with the request that carries the call. */
  run(exchange: UacRequest): void {
    this.exchange = exchange
    const settle = (outcome: RequestOutcome) => {
      for (const early of this.early.values()) early.release()
      this.early.clear()
      if (this.isDone) return
      this.isDone = true
      const isAccepted = outcome.outcome === 'answered' && outcome.response.status < 300
      // A 2xx that crossed the CANCEL counts as cancelled.
      this.events.refused(isAccepted ? { outcome: 'failed', why: 'cancelled', reason: 'taken back' } : outcome)
    }
    exchange.done.then(settle).catch(this.context.onError)
  }

  /**
   * Cancels the call. `refused` follows; a 2xx that is already on its way gets ACK and BYE.
   * @param extra headers of the CANCEL, such as Reason (RFC 3326)
   */
  cancel(extra: readonly Header[] = []): void {
    if (this.isDone) return
    this.isCancelled = true
    this.exchange?.cancel(extra)
  }

  provisional(response: SipResponse, request: SipRequest, flow: Flow): void {
    const tag = tagOf(toOf(response))
    const isNew = tag === null || (this.earlyDialogOf(tag, response, request, flow)?.receive(response, request) ?? true)
    if (isNew && !this.isDone && !this.isCancelled) this.events.progress(response, flow)
  }

  /** Handles every 2xx, from any branch (13.2.2.4). */
  success(response: SipResponse, request: SipRequest, flow: Flow): void {
    const tag = tagOf(toOf(response)) ?? ''
    const known = this.sessions.get(tag)
    if (known) {
      known.repeatedOk(response)
      return
    }
    const dialog = this.early.get(tag)?.release() ?? Dialog.fromResponse(request, response, flow)
    dialog.confirm(response)
    const isNeeded = !this.isDone && !this.isCancelled
    const session = new SipSession(this.context, dialog, isNeeded ? this.events.session : unwantedEvents, this.digest)
    this.sessions.set(tag, session)
    const body = request.body.length > 0 ? undefined : isNeeded ? this.events.answer?.(response) : undefined
    session.confirm(request, body)
    if (!isNeeded) {
      void session.bye()
      return
    }
    this.isDone = true
    const described = request.body.length > 0 ? { type: 'application/sdp', content: request.body } : body
    session.begin(response, intervalOfResponse(response), described)
    this.events.accepted(response, session, flow)
  }

  private earlyDialogOf(tag: string, response: SipResponse, request: SipRequest, flow: Flow): EarlyDialog | null {
    const known = this.early.get(tag)
    // A proxy forks to a few branches. The limit bounds memory against a peer that invents tags.
    if (known || this.early.size >= 32 || this.isDone) return known ?? null
    const early = new EarlyDialog(this.context, Dialog.fromResponse(request, response, flow), {
      digest: this.digest,
      events: this.events.session,
      ended: () => this.cancel(),
    })
    this.early.set(tag, early)
    return early
  }
}

type EarlyDialogSettings = {
  readonly digest: DigestClient | undefined
  readonly events: EarlyEvents
  /** The peer gave up. */
  ended(): void
}

/** Our early dialog: acknowledges reliable provisional responses (RFC 3262, 4). */
class EarlyDialog implements DialogUser {
  private readonly context: DialogContext
  readonly dialog: Dialog
  private readonly settings: EarlyDialogSettings
  private readonly requests: EarlyRequests
  private lastRseq = 0

  constructor(core: DialogContext, dialog: Dialog, settings: EarlyDialogSettings) {
    this.context = core
    this.dialog = dialog
    this.settings = settings
    this.requests = new EarlyRequests({ context: core, dialog, events: settings.events, side: 'caller' })
    core.register(dialog.key, this)
  }

  /** False for a response that is repeated or out of order: the caller ignores it (4). */
  receive(response: SipResponse, invite: SipRequest): boolean {
    const rseq = rseqOf(response)
    if (rseq === null || !isReliable(response)) return true
    if (this.lastRseq !== 0 && rseq !== this.lastRseq + 1) return false
    this.lastRseq = rseq
    this.dialog.confirm(response)
    if (invite.body.length > 0 && response.body.length > 0) this.requests.answered()
    const { digest } = this.settings
    const prack = this.dialog.build('PRACK', { headers: [['RAck', `${rseq} ${cseqOf(invite).number} INVITE`]] })
    this.context.sendRequest(this.dialog, prack, {
      ...(digest ? { digest } : {}),
      nextSeq: () => this.dialog.nextSeq(),
    })
    return true
  }

  /** Releases the dialog to its next user. */
  release(): Dialog {
    this.context.unregister(this.dialog.key, this)
    return this.dialog
  }

  request(transaction: ServerTransaction): void {
    const { method } = transaction.request
    if (method === 'BYE') {
      transaction.reply({ status: 200 })
      this.settings.ended()
    } else if (method === 'PRACK') transaction.reply({ status: 481 })
    else this.requests.handle(transaction)
  }

  acknowledged(): void {}

  repeatedOk(): void {}
}
