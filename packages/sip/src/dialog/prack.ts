import { cseqOf, rackOf, rseqOf } from '../fields.ts'
import type { Header, SipRequest, SipResponse } from '../message.ts'
import type { ResponseOptions } from '../response.ts'
import { type Timers, t1Ms, transactionTimeoutMs } from '../timers.ts'
import type { ServerTransaction } from '../transaction/server-transaction.ts'
import { hasToken } from './dialog.ts'

/** True for a provisional response that we must acknowledge (RFC 3262, 4). */
export const isReliable = (response: SipResponse): boolean =>
  rseqOf(response) !== null && hasToken(response, 'Require', '100rel')

/**
 * Our reliable provisional responses (RFC 3262, 3): each is repeated until its PRACK arrives, one at a time. Only the
 * last of the waiting responses is sent.
 */
export class ReliableProvisionals {
  private readonly timers: Timers
  private readonly transaction: ServerTransaction
  private readonly onTimeout: () => void
  private rseq = 1 + Math.floor(Math.random() * 1_000_000)
  /** The response whose PRACK is missing. */
  private awaited: ResponseOptions | null = null
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
    if (this.awaited) {
      this.next = answer
      return
    }
    this.awaited = answer
    this.rseq++
    const headers: Header[] = [...(answer.headers ?? []), ['Require', '100rel'], ['RSeq', String(this.rseq)]]
    const response = this.transaction.reply({ ...answer, headers })
    this.resendAfter(t1Ms, response)
    this.stopWaiting = this.timers.after(transactionTimeoutMs, () => {
      this.stop()
      this.onTimeout()
    })
  }

  /** Returns the response that a PRACK acknowledges; null when none waits for it (481). */
  acknowledge(prack: SipRequest): ResponseOptions | null {
    const rack = rackOf(prack)
    const invite = cseqOf(this.transaction.request)
    const { awaited, next } = this
    if (!awaited || !rack || rack.rseq !== this.rseq || rack.cseq.number !== invite.number) return null
    this.stop()
    this.next = null
    if (next && this.transaction.isPending) this.send(next)
    return awaited
  }

  stop(): void {
    this.awaited = null
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
