import { cseqOf } from '../fields.ts'
import { type Header, header, headersOf, noBody, type SipRequest, type SipResponse } from '../message.ts'
import { patience, type Timers, t1, t2, t4 } from '../timers.ts'
import { type Flow, isReliable } from '../transport/flow.ts'

export type ClientEvents = {
  /** Provisional answers, the final one, and each further 2xx to an INVITE. */
  response(response: SipResponse, transaction: ClientTransaction): void
  /** No final answer will come. */
  failed(why: 'timeout' | 'transport', transaction: ClientTransaction): void
}

export type ClientContext = {
  readonly timers: Timers
  send(message: SipRequest, flow: Flow): boolean
  ended(transaction: ClientTransaction): void
}

const carbonCopy = (request: SipRequest, name: string): Header[] =>
  headersOf(request, name).map((value): Header => [name, value])

/** What ACK to a refusal and CANCEL have in common: the request's branch, route and numbers (9.1, 17.1.1.3). */
const companion = (request: SipRequest, method: 'ACK' | 'CANCEL', to: string): SipRequest => ({
  kind: 'request',
  method,
  uri: request.uri,
  headers: [
    ['Via', headersOf(request, 'Via')[0] ?? ''],
    ...carbonCopy(request, 'Route'),
    ['Max-Forwards', '70'],
    ...carbonCopy(request, 'From'),
    ['To', to],
    ...carbonCopy(request, 'Call-ID'),
    ['CSeq', `${cseqOf(request).number} ${method}`],
  ],
  body: noBody,
})

/** @param extra headers, such as Reason (RFC 3326) */
export const cancelOf = (request: SipRequest, extra: readonly Header[] = []): SipRequest => {
  const cancel = companion(request, 'CANCEL', header(request, 'To') ?? '')
  return { ...cancel, headers: [...cancel.headers, ...extra] }
}

type State = 'calling' | 'proceeding' | 'completed' | 'accepted' | 'terminated'

/**
 * A client transaction (RFC 3261, 17.1; RFC 6026, 8.4), INVITE or not. Retransmission and giving up are timers of their own: what
 * doubles never decides when it is over.
 */
export class ClientTransaction {
  readonly request: SipRequest
  readonly flow: Flow
  private readonly context: ClientContext
  private readonly events: ClientEvents
  private readonly isInvite: boolean
  private readonly isReliable: boolean
  private state: State = 'calling'
  private stopResending = () => {}
  private stopWaiting = () => {}

  /** @param patienceMs without any answer: then it has failed (timers B and F) */
  constructor(request: SipRequest, flow: Flow, context: ClientContext, events: ClientEvents, patienceMs = patience) {
    this.request = request
    this.flow = flow
    this.context = context
    this.events = events
    this.isInvite = request.method === 'INVITE'
    this.isReliable = isReliable(flow)
    this.stopWaiting = context.timers.after(patienceMs, () => this.fail('timeout'))
  }

  start(): void {
    if (!this.context.send(this.request, this.flow)) {
      // Not within the call that began it.
      this.stopWaiting()
      this.stopWaiting = this.context.timers.after(0, () => this.fail('transport'))
    } else if (!this.isReliable) this.resendAfter(t1)
  }

  /** True until a final answer. */
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

  /** The connection broke before the answer. */
  disconnected(): void {
    if (this.isPending) this.fail('transport')
  }

  /** Gives up at the latest so many milliseconds from now: after CANCEL, say (9.1). */
  limit(milliseconds: number): void {
    if (!this.isPending) return
    this.stopWaiting()
    this.stopWaiting = this.context.timers.after(milliseconds, () => this.fail('timeout'))
  }

  /** Ends without a word. */
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
        // How long it may ring is the user's matter (17.1.1.2).
        this.stopWaiting()
      } else if (!this.isReliable) this.resendAfter(t2)
    }
    this.events.response(response, this)
  }

  private success(response: SipResponse): void {
    if (this.isPending) {
      this.state = 'accepted'
      this.stopResending()
      this.endAfter(patience)
    }
    if (this.state === 'accepted') this.events.response(response, this)
  }

  private final(response: SipResponse): void {
    if (this.isInvite && (this.isPending || this.state === 'completed'))
      this.context.send(companion(this.request, 'ACK', header(response, 'To') ?? ''), this.flow)
    if (!this.isPending) return
    this.state = 'completed'
    this.stopResending()
    this.endAfter(this.isReliable ? 0 : this.isInvite ? patience : t4)
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
      this.resendAfter(this.isInvite ? milliseconds * 2 : Math.min(milliseconds * 2, t2))
    })
  }

  private fail(why: 'timeout' | 'transport'): void {
    if (!this.isPending) return
    this.terminate()
    this.events.failed(why, this)
  }
}
