import { cseqOf } from '../fields.ts'
import { type Header, header, headersOf, noBody, type SipRequest, type SipResponse } from '../message.ts'
import { type Timers, t1Ms, t2Ms, t4Ms, transactionTimeoutMs } from '../timers.ts'
import { type Flow, isReliable } from '../transport/flow.ts'

export type ClientTransactionEvents = {
  /** Provisional responses, the final one, and each further 2xx to an INVITE. */
  response(response: SipResponse, transaction: ClientTransaction): void
  /** No final response will arrive. */
  failed(why: 'timeout' | 'transport', transaction: ClientTransaction): void
}

export type ClientTransactionContext = {
  readonly timers: Timers
  send(message: SipRequest, flow: Flow): boolean
  ended(transaction: ClientTransaction): void
}

const copyHeaders = (request: SipRequest, name: string): Header[] =>
  headersOf(request, name).map((value): Header => [name, value])

/** The shared form of CANCEL and the ACK to a refusal: branch, route and CSeq number of the request (9.1, 17.1.1.3). */
const relatedRequest = (request: SipRequest, method: 'ACK' | 'CANCEL', to: string): SipRequest => ({
  kind: 'request',
  method,
  uri: request.uri,
  headers: [
    ['Via', headersOf(request, 'Via')[0] ?? ''],
    ...copyHeaders(request, 'Route'),
    ['Max-Forwards', '70'],
    ...copyHeaders(request, 'From'),
    ['To', to],
    ...copyHeaders(request, 'Call-ID'),
    ['CSeq', `${cseqOf(request).number} ${method}`],
  ],
  body: noBody,
})

/** @param extra headers, such as Reason (RFC 3326) */
export const cancelOf = (request: SipRequest, extra: readonly Header[] = []): SipRequest => {
  const cancel = relatedRequest(request, 'CANCEL', header(request, 'To') ?? '')
  return { ...cancel, headers: [...cancel.headers, ...extra] }
}

type State = 'calling' | 'proceeding' | 'completed' | 'accepted' | 'terminated'

/**
 * A client transaction (RFC 3261, 17.1; RFC 6026, 8.4), INVITE or not. Retransmission and timeout are separate timers:
 * the doubling interval never decides when the transaction ends.
 */
export class ClientTransaction {
  readonly request: SipRequest
  readonly flow: Flow
  private readonly context: ClientTransactionContext
  private readonly events: ClientTransactionEvents
  private readonly isInvite: boolean
  private readonly isReliable: boolean
  private state: State = 'calling'
  private stopResending = () => {}
  private stopWaiting = () => {}

  /** @param timeoutMs time without any response after which it fails (timers B and F) */
  constructor(
    request: SipRequest,
    flow: Flow,
    context: ClientTransactionContext,
    events: ClientTransactionEvents,
    timeoutMs = transactionTimeoutMs,
  ) {
    this.request = request
    this.flow = flow
    this.context = context
    this.events = events
    this.isInvite = request.method === 'INVITE'
    this.isReliable = isReliable(flow)
    this.stopWaiting = context.timers.after(timeoutMs, () => this.fail('timeout'))
  }

  start(): void {
    if (!this.context.send(this.request, this.flow)) {
      // Fails asynchronously, after the caller has returned.
      this.stopWaiting()
      this.stopWaiting = this.context.timers.after(0, () => this.fail('transport'))
    } else if (!this.isReliable) this.resendAfter(t1Ms)
  }

  /** True until a final response. */
  get isPending(): boolean {
    return this.state === 'calling' || this.state === 'proceeding'
  }

  get hasProvisional(): boolean {
    return this.state === 'proceeding'
  }

  receive(response: SipResponse): void {
    if (response.status < 200) this.provisional(response)
    else if (this.isInvite && response.status < 300) this.success(response)
    else this.final(response)
  }

  /** The connection broke before the response. */
  disconnected(): void {
    if (this.isPending) this.fail('transport')
  }

  /** Limits the remaining time, for example after CANCEL (9.1). */
  limitWait(milliseconds: number): void {
    if (!this.isPending) return
    this.stopWaiting()
    this.stopWaiting = this.context.timers.after(milliseconds, () => this.fail('timeout'))
  }

  /** Ends without an event. */
  terminate(): void {
    if (this.state === 'terminated') return
    this.state = 'terminated'
    this.stopResending()
    this.stopWaiting()
    this.context.ended(this)
  }

  private provisional(response: SipResponse): void {
    if (!this.isPending) return
    if (this.state === 'calling') {
      this.state = 'proceeding'
      if (this.isInvite) {
        this.stopResending()
        // The user decides how long it may ring (17.1.1.2).
        this.stopWaiting()
      } else if (!this.isReliable) this.resendAfter(t2Ms)
    }
    this.events.response(response, this)
  }

  private success(response: SipResponse): void {
    if (this.isPending) {
      this.state = 'accepted'
      this.stopResending()
      this.endAfter(transactionTimeoutMs)
    }
    if (this.state === 'accepted') this.events.response(response, this)
  }

  private final(response: SipResponse): void {
    if (this.isInvite && (this.isPending || this.state === 'completed'))
      this.context.send(relatedRequest(this.request, 'ACK', header(response, 'To') ?? ''), this.flow)
    if (!this.isPending) return
    this.state = 'completed'
    this.stopResending()
    this.endAfter(this.isReliable ? 0 : this.isInvite ? transactionTimeoutMs : t4Ms)
    this.events.response(response, this)
  }

  private endAfter(milliseconds: number): void {
    this.stopWaiting()
    this.stopWaiting = this.context.timers.after(milliseconds, () => this.terminate())
  }

  private resendAfter(milliseconds: number): void {
    this.stopResending()
    this.stopResending = this.context.timers.after(milliseconds, () => {
      this.context.send(this.request, this.flow)
      this.resendAfter(this.isInvite ? milliseconds * 2 : Math.min(milliseconds * 2, t2Ms))
    })
  }

  private fail(why: 'timeout' | 'transport'): void {
    if (!this.isPending) return
    this.terminate()
    this.events.failed(why, this)
  }
}
