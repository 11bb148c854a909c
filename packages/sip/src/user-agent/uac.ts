import { withCSeq } from '../dialog/dialog.ts'
import type { DigestClient } from '../digest/digest-client.ts'
import { cseqOf } from '../fields.ts'
import { type Header, type SipRequest, type SipResponse, withHeader } from '../message.ts'
import { transactionTimeoutMs } from '../timers.ts'
import { type ClientTransaction, cancelOf } from '../transaction/client-transaction.ts'
import type { TransactionLayer } from '../transaction/transaction-layer.ts'
import type { Flow, SipTarget } from '../transport/flow.ts'
import type { TransportLayer } from '../transport/transport-layer.ts'

/** The result of a request. */
export type RequestOutcome =
  | { readonly outcome: 'answered'; readonly response: SipResponse; readonly request: SipRequest; readonly flow: Flow }
  /** No final response: a timeout, no reachable target, or a cancellation before it was sent. */
  | {
      readonly outcome: 'failed'
      readonly why: 'timeout' | 'unreachable' | 'overload' | 'cancelled'
      readonly reason: string
    }

export type UacRequestOptions = {
  /** Answers challenges; after the first one, signs every attempt. */
  readonly digest?: DigestClient
  /** How long all targets together may stay silent, ms. Each target gets an equal share of the remaining time. */
  readonly timeoutMs?: number
  /** How long an INVITE waits after each provisional response, ms. Default: forever, because a telephone may ring. */
  readonly ringMs?: number
  /** Our Contact, if the request needs one. It depends on the flow. */
  readonly contact?: (flow: Flow) => string
  /** The next CSeq number of the dialog, for another attempt within it. */
  readonly nextSeq?: () => number
  provisional?(response: SipResponse, request: SipRequest, flow: Flow): void
  /** Every 2xx to an INVITE, including the first, before `done` resolves. */
  success?(response: SipResponse, request: SipRequest, flow: Flow): void
}

const maxAttempts = 3

/** Minimum time for one target, ms: long enough for two lost packets. */
const minTargetMs = 1_000

/**
 * Runs one request to its end. Tries the targets in order (RFC 3263, 4.3), answers challenges, and retries a session
 * interval that was too small (RFC 4028, 7.3). `done` never rejects.
 */
export class UacRequest {
  readonly done: Promise<RequestOutcome>
  private readonly transport: TransportLayer
  private readonly transactions: TransactionLayer
  private readonly options: UacRequestOptions
  private request: SipRequest
  private targets: readonly (Flow | SipTarget)[] = []
  private transaction: ClientTransaction | null = null
  private flow: Flow | null = null
  private attempts = 0
  /** When the time for all targets ends, and the time for the current one. */
  private deadline: number
  private targetDeadline = 0
  private hasResponse = false
  private isCancelled = false
  private isCancelSent = false
  private cancelHeaders: readonly Header[] = []
  private resolveDone: (outcome: RequestOutcome) => void = () => {}

  constructor(
    transport: TransportLayer,
    transactions: TransactionLayer,
    request: SipRequest,
    options: UacRequestOptions,
  ) {
    this.transport = transport
    this.transactions = transactions
    this.request = options.digest?.sign(request) ?? request
    this.options = options
    this.deadline = this.timeoutAt
    this.done = new Promise((resolve) => {
      this.resolveDone = resolve
    })
  }

  async start(way: Promise<readonly (Flow | SipTarget)[]>): Promise<void> {
    try {
      this.targets = await way
      await this.tryNextTarget('no address to send to')
    } catch (error) {
      this.fail('unreachable', error instanceof Error ? error.message : String(error))
    }
  }

  /** Cancels an INVITE as soon as that is allowed: not before a provisional response (9.1). */
  cancel(extra: readonly Header[] = []): void {
    if (this.isCancelled) return
    this.isCancelled = true
    this.cancelHeaders = extra
    if (this.transaction) this.sendCancel()
  }

  private async tryNextTarget(reason: string, why: 'timeout' | 'unreachable' = 'unreachable'): Promise<void> {
    const [target, ...others] = this.targets
    this.targets = others
    if (this.isCancelled) this.fail('cancelled', 'taken back')
    else if (!target || this.now >= this.deadline) this.fail(why, reason)
    else await this.tryTarget(target)
  }

  private get timeoutAt(): number {
    return this.now + (this.options.timeoutMs ?? Number.POSITIVE_INFINITY)
  }

  private get now(): number {
    return this.transactions.timers.now()
  }

  private async tryTarget(target: Flow | SipTarget): Promise<void> {
    this.targetDeadline = this.now + Math.max(minTargetMs, (this.deadline - this.now) / (this.targets.length + 1))
    try {
      this.flow = 'send' in target ? target : await this.connectInTime(target)
    } catch (error) {
      await this.tryNextTarget(error instanceof Error ? error.message : String(error))
      return
    }
    if (this.isCancelled) this.fail('cancelled', 'taken back')
    else this.send(this.flow)
  }

  private async connectInTime(target: SipTarget): Promise<Flow> {
    if (this.options.timeoutMs === undefined) return this.transport.flow(target)
    let stop = () => {}
    const timeout = new Promise<never>((_, reject) => {
      const expire = () =>
        reject(new Error(`${target.protocol} ${target.address}:${target.port}: no connection in time`))
      stop = this.transactions.timers.after(this.targetDeadline - this.now, expire)
    })
    try {
      return await Promise.race([this.transport.flow(target), timeout])
    } finally {
      stop()
    }
  }

  private send(flow: Flow): void {
    const { contact, timeoutMs: whole } = this.options
    // A target that sent a challenge is reachable: it gets the whole time.
    const patienceMs = whole === undefined || this.hasResponse ? whole : Math.max(0, this.targetDeadline - this.now)
    if (contact) this.request = withHeader(this.request, 'Contact', contact(flow))
    const events = {
      response: (response: SipResponse, transaction: ClientTransaction) => this.receive(response, transaction, flow),
      failed: (why: 'timeout' | 'transport') => void this.targetFailed(why, flow),
    }
    this.transaction = this.transactions.request(this.request, flow, events, patienceMs)
    if (!this.transaction) this.fail('overload', 'too many requests are under way')
  }

  private receive(response: SipResponse, transaction: ClientTransaction, flow: Flow): void {
    const { request } = transaction
    this.hasResponse = true
    if (response.status < 200) {
      if (this.isCancelled) this.sendCancel()
      else if (this.options.ringMs !== undefined) transaction.limitWait(this.options.ringMs)
      if (response.status > 100) this.options.provisional?.(response, request, flow)
      return
    }
    if (request.method === 'INVITE' && response.status < 300) this.options.success?.(response, request, flow)
    const next = this.isCancelled ? null : this.nextAttempt(request, response)
    if (next) {
      this.request = withCSeq(next, this.options.nextSeq?.() ?? cseqOf(request).number + 1)
      this.attempts++
      this.send(flow)
    } else if (response.status === 503 && this.targets.length > 0 && !this.isCancelled) {
      this.hasResponse = false
      this.deadline = this.timeoutAt
      void this.tryNextTarget('503')
    } else this.resolveDone({ outcome: 'answered', response, request, flow })
  }

  /** The request for another attempt; null when the response is final. */
  private nextAttempt(request: SipRequest, response: SipResponse): SipRequest | null {
    if (this.attempts >= maxAttempts) return null
    const { status } = response
    if (status === 401 || status === 407) {
      return this.options.digest?.answer(request, response, this.attempts === 0) ?? null
    }
    if (status !== 422) return null
    const least = response.headers
      .find(([name]) => name === 'Min-SE')?.[1]
      .split(';')[0]
      ?.trim()
    const requested = request.headers.find(([name]) => name === 'Session-Expires')?.[1]
    if (least === undefined || requested === undefined || Number.parseInt(requested, 10) >= Number(least)) return null
    const longer = withHeader(request, 'Min-SE', least)
    return withHeader(longer, 'Session-Expires', requested.replace(/^\s*\d+/, least))
  }

  private async targetFailed(why: 'timeout' | 'transport', flow: Flow): Promise<void> {
    const reason = why === 'timeout' ? 'no answer in time' : 'the connection broke'
    const failure = why === 'timeout' ? 'timeout' : 'unreachable'
    await this.tryNextTarget(`${flow.protocol} ${flow.address}:${flow.port}: ${reason}`, failure)
  }

  private sendCancel(): void {
    const { transaction, flow } = this
    if (this.isCancelSent || !flow || !transaction?.isPending || !transaction.hasProvisional) return
    this.isCancelSent = true
    transaction.limitWait(transactionTimeoutMs)
    this.transactions.cancel(cancelOf(transaction.request, this.cancelHeaders), flow)
  }

  private fail(why: 'timeout' | 'unreachable' | 'overload' | 'cancelled', reason: string): void {
    this.resolveDone({ outcome: 'failed', why, reason })
  }
}
