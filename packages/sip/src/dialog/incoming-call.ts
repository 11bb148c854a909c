import type { SipRequest } from '../message.ts'
import type { ResponseOptions } from '../response.ts'
import type { ServerTransaction } from '../transaction/server-transaction.ts'
import type { Flow } from '../transport/flow.ts'
import { Dialog, hasToken } from './dialog.ts'
import type { DialogContext, DialogUser } from './dialog-context.ts'
import { type EarlyEvents, EarlyRequests } from './early-requests.ts'
import { ReliableProvisionals } from './prack.ts'
import { negotiateInterval } from './session-timer.ts'
import { SipSession, type SipSessionEvents } from './sip-session.ts'

/**
 * Reports that the caller gave up: CANCEL, BYE before the answer, or no PRACK. Called once, and never after a final
 * response.
 */
export type IncomingCallEvents = Partial<EarlyEvents> & {
  cancelled(request: SipRequest | null): void
  /** The caller acknowledged a reliable provisional response. */
  acknowledged?(): void
}

/** An incoming INVITE that rings (RFC 3261, 13.3). It is accepted or refused once. */
export class IncomingCall implements DialogUser {
  readonly invite: SipRequest
  readonly flow: Flow
  events: IncomingCallEvents = { cancelled: () => {} }
  private readonly context: DialogContext
  private readonly transaction: ServerTransaction
  readonly dialog: Dialog
  private readonly reliableProvisionals: ReliableProvisionals | null
  private readonly earlyRequests: EarlyRequests

  constructor(core: DialogContext, transaction: ServerTransaction) {
    const { request, flow, tag } = transaction
    this.context = core
    this.transaction = transaction
    this.invite = request
    this.flow = flow
    this.dialog = Dialog.fromRequest(request, tag, flow)
    const isReliable = hasToken(request, 'Require', '100rel')
    this.reliableProvisionals = isReliable
      ? new ReliableProvisionals(core.timers, transaction, () => this.abandon(504, null))
      : null
    this.earlyRequests = new EarlyRequests({
      ...{ context: core, dialog: this.dialog, side: 'callee' },
      events: {
        offered: (offer) => this.events.offered?.(offer) ?? { status: 488 },
        info: (info) => this.events.info?.(info) ?? { status: 200 },
      },
    })
    core.register(this.dialog.key, this)
    transaction.events = {
      cancelled: (cancel) => this.abandon(487, cancel),
      unacknowledged: () => {},
    }
  }

  /** True until it is accepted, refused or cancelled. */
  get isPending(): boolean {
    return this.transaction.isPending
  }

  /** Sends a provisional response, 101 to 199: ringing or early media. */
  ring(answer: ResponseOptions): void {
    if (!this.isPending) return
    const full = { ...answer, headers: [...this.defaultHeaders(), ...(answer.headers ?? [])] }
    if (this.reliableProvisionals) this.reliableProvisionals.send(full)
    else this.transaction.reply(full)
  }

  /** Accepts the call. Returns null when the caller cancelled first. */
  accept(answer: Omit<ResponseOptions, 'status'>, events: SipSessionEvents): SipSession | null {
    if (!this.isPending) return null
    this.release()
    const session = new SipSession(this.context, this.dialog, events)
    const agreed = negotiateInterval(this.invite, this.context.sessionSeconds)
    const headers = [...this.defaultHeaders(), ...(agreed?.headers ?? []), ...(answer.headers ?? [])]
    const response = this.transaction.reply({ ...answer, status: 200, headers })
    session.begin(this.invite, agreed?.interval ?? null, answer.body)
    session.awaitAck(this.transaction, response)
    return session
  }

  refuse(answer: ResponseOptions): void {
    if (!this.isPending) return
    this.release()
    this.transaction.reply(answer)
  }

  request(transaction: ServerTransaction): void {
    const { method } = transaction.request
    if (method === 'PRACK') this.handlePrack(transaction)
    else if (method === 'BYE') {
      transaction.reply({ status: 200 })
      this.abandon(487, transaction.request)
    } else this.earlyRequests.handle(transaction)
  }

  private handlePrack(transaction: ServerTransaction): void {
    const acknowledged = this.reliableProvisionals?.acknowledge(transaction.request) ?? null
    if (!acknowledged) {
      transaction.reply({ status: 481 })
      return
    }
    // A body without an offer in the INVITE is our offer.
    if (acknowledged.body && this.invite.body.length > 0) this.earlyRequests.answered()
    this.earlyRequests.handle(transaction)
    this.events.acknowledged?.()
  }

  acknowledged(): void {}

  repeatedOk(): void {}

  private defaultHeaders(): (readonly [string, string])[] {
    return [
      ['Contact', this.context.contact(this.flow)],
      ['Allow', this.context.allow],
      ['Supported', this.context.supported],
    ]
  }

  private release(): void {
    this.reliableProvisionals?.stop()
    this.context.unregister(this.dialog.key, this)
  }

  private abandon(status: number, request: SipRequest | null): void {
    if (!this.isPending) return
    this.refuse({ status })
    this.events.cancelled(request)
  }
}
