import { cseqOf, rackOf } from '../fields.ts'
import type { Header, SipRequest, SipResponse } from '../message.ts'
import type { ResponseOptions } from '../response.ts'
import { type Timers, t1Ms, transactionTimeoutMs } from '../timers.ts'
import type { ServerTransaction } from '../transaction/server-transaction.ts'

/**
 * Our reliable provisional responses (RFC 3262, 3): each is repeated until its PRACK arrives, one at a time. Only the
 * last of the waiting responses is sent.
 */
export class ReliableProvisionals {
  private readonly timers: Timers
  private readonly transaction: ServerTransaction
  private readonly onTimeout: () => void
  private rseq = 1 + Math.floor(Math.random() * 1_000_000)
  private isAwaited = false
  private next: ResponseOptions | null = null
  private stopResending = () => {}
  private stopWaiting = () => {}

  /** @param lost called when no PRACK arrived: the INVITE must be refused (3) */
  constructor(timers: Timers, transaction: ServerTransaction, lost: () => void) {
    this.timers = timers
    this.transaction = transaction
    this.onTimeout = lost
  }

  send(answer: ResponseOptions): void {
    if (this.isAwaited) {
      this.next = answer
      return
    }
    this.isAwaited = true
    this.rseq++
    const headers: Header[] = [...(answer.headers ?? []), ['Require', '100rel'], ['RSeq', String(this.rseq)]]
    const response = this.transaction.reply({ ...answer, headers })
    this.resendAfter(t1Ms, response)
    this.stopWaiting = this.timers.after(transactionTimeoutMs, () => {
      this.stop()
      this.onTimeout()
    })
  }

  /** False when no response waits for this PRACK (481). */
  acknowledge(prack: SipRequest): boolean {
    const rack = rackOf(prack)
    const invite = cseqOf(this.transaction.request)
    if (!this.isAwaited || !rack || rack.rseq !== this.rseq || rack.cseq.number !== invite.number) return false
    this.stop()
    const { next } = this
    this.next = null
    if (next && this.transaction.isPending) this.send(next)
    return true
  }

  stop(): void {
    this.isAwaited = false
    this.stopResending()
    this.stopWaiting()
  }

  private resendAfter(milliseconds: number, response: SipResponse): void {
    this.stopResending = this.timers.after(milliseconds, () => {
      this.transaction.respond(response)
      this.resendAfter(milliseconds * 2, response)
    })
  }
}
