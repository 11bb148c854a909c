import type { SipRequest } from '../message.ts'
import type { Answer } from '../reply.ts'
import type { ServerTransaction } from '../transaction/server.ts'
import type { Flow } from '../transport/flow.ts'
import type { Core, DialogUser } from './core.ts'
import { Dialog, lists } from './dialog.ts'
import { agreedByUs } from './refresher.ts'
import { ReliableAnswers } from './reliable.ts'
import { Session, type SessionEvents } from './session.ts'

/** How a caller who does not wait is heard of: CANCEL, BYE before the answer, or no PRACK. Once, and never after an answer. */
export type IncomingEvents = {
  cancelled(request: SipRequest | null): void
  /** The caller has a provisional answer that it wanted to be reliable. */
  arrived?(): void
}

/** An INVITE that rings with us (RFC 3261, 13.3): to be accepted or refused, once. */
export class IncomingCall implements DialogUser {
  readonly invite: SipRequest
  readonly flow: Flow
  events: IncomingEvents = { cancelled: () => {} }
  private readonly core: Core
  private readonly transaction: ServerTransaction
  readonly dialog: Dialog
  private readonly reliable: ReliableAnswers | null

  constructor(core: Core, transaction: ServerTransaction) {
    const { request, flow, tag } = transaction
    this.core = core
    this.transaction = transaction
    this.invite = request
    this.flow = flow
    this.dialog = Dialog.ofRequest(request, tag, flow)
    const isReliable = lists(request, 'Require', '100rel')
    this.reliable = isReliable ? new ReliableAnswers(core.timers, transaction, () => this.giveUp(504, null)) : null
    core.keep(this.dialog.key, this)
    transaction.events = {
      cancelled: (cancel) => this.giveUp(487, cancel),
      unacknowledged: () => {},
    }
  }

  /** True until it is accepted, refused or taken back. */
  get isPending(): boolean {
    return this.transaction.isPending
  }

  /** 101 to 199: it rings, or there is something to be heard already. */
  ring(answer: Answer): void {
    if (!this.isPending) return
    const full = { ...answer, headers: [...this.own(), ...(answer.headers ?? [])] }
    if (this.reliable) this.reliable.send(full)
    else this.transaction.reply(full)
  }

  /** Null when the caller was faster in taking it back. */
  accept(answer: Omit<Answer, 'status'>, events: SessionEvents): Session | null {
    if (!this.isPending) return null
    this.leave()
    const session = new Session(this.core, this.dialog, events)
    const agreed = agreedByUs(this.invite, this.core.sessionSeconds)
    const headers = [...this.own(), ...(agreed?.headers ?? []), ...(answer.headers ?? [])]
    const response = this.transaction.reply({ ...answer, status: 200, headers })
    session.begin(this.invite, agreed?.interval ?? null, answer.body)
    session.awaitAck(this.transaction, response)
    return session
  }

  refuse(answer: Answer): void {
    if (!this.isPending) return
    this.leave()
    this.transaction.reply(answer)
  }

  request(transaction: ServerTransaction): void {
    const { method } = transaction.request
    if (method === 'PRACK') this.arrived(transaction)
    else if (method === 'BYE') {
      transaction.reply({ status: 200 })
      this.giveUp(487, transaction.request)
    } else if (method === 'OPTIONS' || method === 'INFO') transaction.reply({ status: 200 })
    // RFC 3311, 5.2: the offer of the INVITE is not answered yet.
    else if (method === 'UPDATE') transaction.reply({ status: 500, headers: [['Retry-After', '2']] })
    else transaction.reply({ status: 405, headers: [['Allow', this.core.allow]] })
  }

  private arrived(transaction: ServerTransaction): void {
    const isAwaited = this.reliable?.acknowledge(transaction.request) ?? false
    transaction.reply({ status: isAwaited ? 200 : 481 })
    if (isAwaited) this.events.arrived?.()
  }

  acknowledged(): void {}

  late(): void {}

  private own(): (readonly [string, string])[] {
    return [
      ['Contact', this.core.contact(this.flow)],
      ['Allow', this.core.allow],
      ['Supported', this.core.supported],
    ]
  }

  private leave(): void {
    this.reliable?.stop()
    this.core.forget(this.dialog.key, this)
  }

  private giveUp(status: number, request: SipRequest | null): void {
    if (!this.isPending) return
    this.refuse({ status })
    this.events.cancelled(request)
  }
}
