import { renumbered } from '../dialog/dialog.ts'
import type { DigestClient } from '../digest/client.ts'
import { cseqOf } from '../fields.ts'
import { type Header, type SipRequest, type SipResponse, withHeader } from '../message.ts'
import { patience } from '../timers.ts'
import { type ClientTransaction, cancelOf } from '../transaction/client.ts'
import type { TransactionLayer } from '../transaction/layer.ts'
import type { Flow, Target } from '../transport/flow.ts'
import type { TransportLayer } from '../transport/layer.ts'

/** What became of a request. */
export type Outcome =
  | { readonly outcome: 'answered'; readonly response: SipResponse; readonly request: SipRequest; readonly flow: Flow }
  /** Nobody answered: in time, or at all; or it was taken back before it was sent. */
  | {
      readonly outcome: 'failed'
      readonly why: 'timeout' | 'unreachable' | 'overload' | 'cancelled'
      readonly reason: string
    }

export type ExchangeOptions = {
  /** Answers challenges, and signs from the first attempt on once it was challenged. */
  readonly digest?: DigestClient
  /** How long all targets together may stay silent, ms: each has an equal share of what is left. */
  readonly patienceMs?: number
  /** How long an INVITE waits behind each provisional answer, ms; for ever unless told: a telephone may ring. */
  readonly ringMs?: number
  /** Our Contact, when the request shall have one: known only when it is known how it travels. */
  readonly contact?: (flow: Flow) => string
  /** The number for another attempt, within a dialog: the dialog's. */
  readonly nextSeq?: () => number
  provisional?(response: SipResponse, request: SipRequest, flow: Flow): void
  /** Each 2xx to an INVITE, the first included: before `done`. */
  success?(response: SipResponse, request: SipRequest, flow: Flow): void
}

const mostAttempts = 3

/** No target has less of the patience, ms: two packets may be lost. */
const leastShare = 1_000

/**
 * One request to its end: the targets in turn (RFC 3263, 4.3), answers to challenges, an interval that was too small
 * (RFC 4028, 7.3). `done` never rejects.
 */
export class Exchange {
  readonly done: Promise<Outcome>
  private readonly transport: TransportLayer
  private readonly transactions: TransactionLayer
  private readonly options: ExchangeOptions
  private request: SipRequest
  private targets: readonly (Flow | Target)[] = []
  private transaction: ClientTransaction | null = null
  private flow: Flow | null = null
  private attempts = 0
  /** When patience ends with all targets, and with the one that is tried. */
  private deadline: number
  private until = 0
  private isHeard = false
  private isCancelled = false
  private isCancelSent = false
  private onCancel: readonly Header[] = []
  private settle: (outcome: Outcome) => void = () => {}

  constructor(
    transport: TransportLayer,
    transactions: TransactionLayer,
    request: SipRequest,
    options: ExchangeOptions,
  ) {
    this.transport = transport
    this.transactions = transactions
    this.request = options.digest?.sign(request) ?? request
    this.options = options
    this.deadline = this.patientUntil
    this.done = new Promise((resolve) => {
      this.settle = resolve
    })
  }

  async start(way: Promise<readonly (Flow | Target)[]>): Promise<void> {
    try {
      this.targets = await way
      await this.next('no address to send to')
    } catch (error) {
      this.fail('unreachable', error instanceof Error ? error.message : String(error))
    }
  }

  /** Takes an INVITE back as soon as that is allowed: not before the peer said something (9.1). */
  cancel(extra: readonly Header[] = []): void {
    if (this.isCancelled) return
    this.isCancelled = true
    this.onCancel = extra
    if (this.transaction) this.sendCancel()
  }

  private async next(reason: string, why: 'timeout' | 'unreachable' = 'unreachable'): Promise<void> {
    const [target, ...others] = this.targets
    this.targets = others
    if (this.isCancelled) this.fail('cancelled', 'taken back')
    else if (!target || this.now >= this.deadline) this.fail(why, reason)
    else await this.attempt(target)
  }

  private get patientUntil(): number {
    return this.now + (this.options.patienceMs ?? Number.POSITIVE_INFINITY)
  }

  private get now(): number {
    return this.transactions.timers.now()
  }

  private async attempt(target: Flow | Target): Promise<void> {
    this.until = this.now + Math.max(leastShare, (this.deadline - this.now) / (this.targets.length + 1))
    try {
      this.flow = 'send' in target ? target : await this.connected(target)
    } catch (error) {
      await this.next(error instanceof Error ? error.message : String(error))
      return
    }
    if (this.isCancelled) this.fail('cancelled', 'taken back')
    else this.send(this.flow)
  }

  private async connected(target: Target): Promise<Flow> {
    if (this.options.patienceMs === undefined) return this.transport.flow(target)
    let stop = () => {}
    const isLate = new Promise<never>((_, reject) => {
      const give = () => reject(new Error(`${target.protocol} ${target.address}:${target.port}: no connection in time`))
      stop = this.transactions.timers.after(this.until - this.now, give)
    })
    try {
      return await Promise.race([this.transport.flow(target), isLate])
    } finally {
      stop()
    }
  }

  private send(flow: Flow): void {
    const { contact, patienceMs: whole } = this.options
    // Whoever has asked for a password is there.
    const patienceMs = whole === undefined || this.isHeard ? whole : Math.max(0, this.until - this.now)
    if (contact) this.request = withHeader(this.request, 'Contact', contact(flow))
    const events = {
      response: (response: SipResponse, transaction: ClientTransaction) => this.receive(response, transaction, flow),
      failed: (why: 'timeout' | 'transport') => void this.lost(why, flow),
    }
    this.transaction = this.transactions.request(this.request, flow, events, patienceMs)
    if (!this.transaction) this.fail('overload', 'too many requests are under way')
  }

  private receive(response: SipResponse, transaction: ClientTransaction, flow: Flow): void {
    const { request } = transaction
    this.isHeard = true
    if (response.status < 200) {
      if (this.isCancelled) this.sendCancel()
      else if (this.options.ringMs !== undefined) transaction.limit(this.options.ringMs)
      if (response.status > 100) this.options.provisional?.(response, request, flow)
      return
    }
    if (request.method === 'INVITE' && response.status < 300) this.options.success?.(response, request, flow)
    const again = this.isCancelled ? null : this.again(request, response)
    if (again) {
      this.request = renumbered(again, this.options.nextSeq?.() ?? cseqOf(request).number + 1)
      this.attempts++
      this.send(flow)
    } else if (response.status === 503 && this.targets.length > 0 && !this.isCancelled) {
      this.isHeard = false
      this.deadline = this.patientUntil
      void this.next('503')
    } else this.settle({ outcome: 'answered', response, request, flow })
  }

  /** The request as it may succeed now; null when the answer is the last word. */
  private again(request: SipRequest, response: SipResponse): SipRequest | null {
    if (this.attempts >= mostAttempts) return null
    const { status } = response
    if (status === 401 || status === 407) {
      return this.options.digest?.answer(request, response, this.attempts === 0) ?? null
    }
    if (status !== 422) return null
    const least = response.headers
      .find(([name]) => name === 'Min-SE')?.[1]
      .split(';')[0]
      ?.trim()
    const asked = request.headers.find(([name]) => name === 'Session-Expires')?.[1]
    if (least === undefined || asked === undefined || Number.parseInt(asked, 10) >= Number(least)) return null
    const longer = withHeader(request, 'Min-SE', least)
    return withHeader(longer, 'Session-Expires', asked.replace(/^\s*\d+/, least))
  }

  private async lost(why: 'timeout' | 'transport', flow: Flow): Promise<void> {
    const reason = why === 'timeout' ? 'no answer in time' : 'the connection broke'
    const failure = why === 'timeout' ? 'timeout' : 'unreachable'
    await this.next(`${flow.protocol} ${flow.address}:${flow.port}: ${reason}`, failure)
  }

  private sendCancel(): void {
    const { transaction, flow } = this
    if (this.isCancelSent || !flow || !transaction?.isPending || !transaction.hasProvisional) return
    this.isCancelSent = true
    transaction.limit(patience)
    this.transactions.cancel(cancelOf(transaction.request, this.onCancel), flow)
  }

  private fail(why: 'timeout' | 'unreachable' | 'overload' | 'cancelled', reason: string): void {
    this.settle({ outcome: 'failed', why, reason })
  }
}
