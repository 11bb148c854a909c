import type { SipRequest, SipResponse } from '../message.ts'
import { buildResponse, makeTag, type ResponseOptions } from '../response.ts'
import { type Timers, t1Ms, t2Ms, t4Ms, transactionTimeoutMs } from '../timers.ts'
import { type Flow, isReliable } from '../transport/flow.ts'

export type ServerTransactionContext = {
  readonly timers: Timers
  send(message: SipResponse, flow: Flow): void
  ended(transaction: ServerTransaction): void
}

/** Reports what the peer did to the transaction. */
export type ServerTransactionEvents = {
  /** The peer cancelled the INVITE before a final response (9.2). */
  cancelled(cancel: SipRequest): void
  /** The refusal of an INVITE was never acknowledged (timer H). */
  unacknowledged(): void
}

type State = 'proceeding' | 'accepted' | 'completed' | 'confirmed' | 'terminated'

/** Delay of the automatic 100 (17.2.1), ms. */
const tryingMs = 200

/** A server transaction (RFC 3261, 17.2; RFC 6026, 8.5), INVITE or not. */
export class ServerTransaction {
  readonly request: SipRequest
  readonly flow: Flow
  /** Our tag in To, if the request has none. */
  readonly tag = makeTag()
  events: ServerTransactionEvents = { cancelled: () => {}, unacknowledged: () => {} }
  private readonly context: ServerTransactionContext
  private readonly isInvite: boolean
  private state: State = 'proceeding'
  private lastResponse: SipResponse | null = null
  private stopResending = () => {}
  private stopWaiting = () => {}

  constructor(request: SipRequest, flow: Flow, context: ServerTransactionContext) {
    this.request = request
    this.flow = flow
    this.context = context
    this.isInvite = request.method === 'INVITE'
    if (this.isInvite)
      this.stopWaiting = context.timers.after(tryingMs, () => this.lastResponse ?? this.reply({ status: 100 }))
  }

  /** True until a final response. */
  get isPending(): boolean {
    return this.state === 'proceeding'
  }

  get isAccepted(): boolean {
    return this.state === 'accepted'
  }

  /** Sends a response. After a final one it has no effect, except that a 2xx to an INVITE may be repeated. */
  reply(answer: ResponseOptions): SipResponse {
    const response = buildResponse(this.request, { tag: this.tag, ...answer })
    this.respond(response)
    return response
  }

  respond(response: SipResponse): void {
    const { status } = response
    const isSuccess = this.isInvite && status >= 200 && status < 300
    if (!(this.isPending || (this.isAccepted && isSuccess))) return
    this.lastResponse = response
    this.context.send(response, this.flow)
    if (status < 200) return
    if (isSuccess) {
      if (this.isPending) this.endAfter(transactionTimeoutMs, 'accepted')
    } else if (this.isInvite) this.awaitAck(response)
    else this.endAfter(isReliable(this.flow) ? 0 : transactionTimeoutMs, 'completed')
  }

  /** The peer retransmitted the request. */
  retransmitted(): void {
    if (this.lastResponse && (this.isPending || this.state === 'completed'))
      this.context.send(this.lastResponse, this.flow)
  }

  /** The peer acknowledged our refusal. */
  acknowledged(): void {
    if (this.state !== 'completed') return
    this.stopResending()
    this.endAfter(isReliable(this.flow) ? 0 : t4Ms, 'confirmed')
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
    this.stopWaiting = this.context.timers.after(transactionTimeoutMs, () => {
      this.terminate()
      this.events.unacknowledged()
    })
    if (!isReliable(this.flow)) this.resendAfter(t1Ms, response)
  }

  private resendAfter(milliseconds: number, response: SipResponse): void {
    this.stopResending = this.context.timers.after(milliseconds, () => {
      this.context.send(response, this.flow)
      this.resendAfter(Math.min(milliseconds * 2, t2Ms), response)
    })
  }

  private endAfter(milliseconds: number, state: State): void {
    this.state = state
    this.stopWaiting()
    this.stopWaiting = this.context.timers.after(milliseconds, () => this.terminate())
  }
}
