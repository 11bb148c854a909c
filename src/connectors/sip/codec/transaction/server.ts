import type { SipRequest, SipResponse } from '../message.ts'
import { type Answer, makeTag, replyTo } from '../reply.ts'
import { patience, type Timers, t1, t2, t4 } from '../timers.ts'
import { type Flow, isReliable } from '../transport/flow.ts'

export type ServerContext = {
  readonly timers: Timers
  send(message: SipResponse, flow: Flow): void
  ended(transaction: ServerTransaction): void
}

/** How the transaction's user learns what the peer did with it. */
export type ServerEvents = {
  /** The peer takes the INVITE back before a final answer (9.2). */
  cancelled(cancel: SipRequest): void
  /** The final refusal of an INVITE was never acknowledged (timer H). */
  unacknowledged(): void
}

type State = 'proceeding' | 'accepted' | 'completed' | 'confirmed' | 'terminated'

/** After which a caller is told that we work on it (17.2.1), ms. */
const tryingMs = 200

/** A server transaction (RFC 3261, 17.2; RFC 6026, 8.5), INVITE or not. */
export class ServerTransaction {
  readonly request: SipRequest
  readonly flow: Flow
  /** Ours in To, where the request has none. */
  readonly tag = makeTag()
  events: ServerEvents = { cancelled: () => {}, unacknowledged: () => {} }
  private readonly context: ServerContext
  private readonly isInvite: boolean
  private state: State = 'proceeding'
  private last: SipResponse | null = null
  private stopResending = () => {}
  private stopWaiting = () => {}

  constructor(request: SipRequest, flow: Flow, context: ServerContext) {
    this.request = request
    this.flow = flow
    this.context = context
    this.isInvite = request.method === 'INVITE'
    if (this.isInvite) this.stopWaiting = context.timers.after(tryingMs, () => this.last ?? this.reply({ status: 100 }))
  }

  /** True until a final answer. */
  get isPending(): boolean {
    return this.state === 'proceeding'
  }

  get isAccepted(): boolean {
    return this.state === 'accepted'
  }

  /** Answers; nothing happens once a final answer was given, but that a 2xx to an INVITE may be sent again. */
  reply(answer: Answer): SipResponse {
    const response = replyTo(this.request, { tag: this.tag, ...answer })
    this.respond(response)
    return response
  }

  respond(response: SipResponse): void {
    const { status } = response
    const isSuccess = this.isInvite && status >= 200 && status < 300
    if (!(this.isPending || (this.isAccepted && isSuccess))) return
    this.last = response
    this.context.send(response, this.flow)
    if (status < 200) return
    if (isSuccess) {
      if (this.isPending) this.endAfter(patience, 'accepted')
    } else if (this.isInvite) this.awaitAck(response)
    else this.endAfter(isReliable(this.flow) ? 0 : patience, 'completed')
  }

  /** The same request once more. */
  repeated(): void {
    if (this.last && (this.isPending || this.state === 'completed')) this.context.send(this.last, this.flow)
  }

  /** The ACK to a refusal. */
  acknowledged(): void {
    if (this.state !== 'completed') return
    this.stopResending()
    this.endAfter(isReliable(this.flow) ? 0 : t4, 'confirmed')
  }

  terminate(): void {
    if (this.state === 'terminated') return
    this.state = 'terminated'
    this.stopResending()
    this.stopWaiting()
    this.context.ended(this)
  }

  private awaitAck(response: SipResponse): void {
    this.state = 'completed'
    this.stopWaiting()
    this.stopWaiting = this.context.timers.after(patience, () => {
      this.terminate()
      this.events.unacknowledged()
    })
    if (!isReliable(this.flow)) this.resendAfter(t1, response)
  }

  private resendAfter(milliseconds: number, response: SipResponse): void {
    this.stopResending = this.context.timers.after(milliseconds, () => {
      this.context.send(response, this.flow)
      this.resendAfter(Math.min(milliseconds * 2, t2), response)
    })
  }

  private endAfter(milliseconds: number, state: State): void {
    this.state = state
    this.stopWaiting()
    this.stopWaiting = this.context.timers.after(milliseconds, () => this.terminate())
  }
}
