import { cseqOf, rackOf } from '../fields.ts'
import type { Header, SipRequest, SipResponse } from '../message.ts'
import type { Answer } from '../reply.ts'
import { patience, type Timers, t1 } from '../timers.ts'
import type { ServerTransaction } from '../transaction/server.ts'

/**
 * Provisional answers of ours that must arrive (RFC 3262, 3): sent again until the PRACK comes, one at a time; what is said meanwhile
 * waits, and only the last of it is sent.
 */
export class ReliableAnswers {
  private readonly timers: Timers
  private readonly transaction: ServerTransaction
  private readonly lost: () => void
  private rseq = 1 + Math.floor(Math.random() * 1_000_000)
  private isAwaited = false
  private next: Answer | null = null
  private stopResending = () => {}
  private stopWaiting = () => {}

  /** @param lost called when no PRACK came: the INVITE is to be refused (3) */
  constructor(timers: Timers, transaction: ServerTransaction, lost: () => void) {
    this.timers = timers
    this.transaction = transaction
    this.lost = lost
  }

  send(answer: Answer): void {
    if (this.isAwaited) {
      this.next = answer
      return
    }
    this.isAwaited = true
    this.rseq++
    const headers: Header[] = [...(answer.headers ?? []), ['Require', '100rel'], ['RSeq', String(this.rseq)]]
    const response = this.transaction.reply({ ...answer, headers })
    this.resendAfter(t1, response)
    this.stopWaiting = this.timers.after(patience, () => {
      this.stop()
      this.lost()
    })
  }

  /** False when the PRACK belongs to nothing that waits: 481. */
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
