import { cseqOf } from '../fields.ts'
import type { SipResponse } from '../message.ts'
import { type Timers, t1Ms, t2Ms, transactionTimeoutMs } from '../timers.ts'
import type { ServerTransaction } from '../transaction/server-transaction.ts'

/** Our 2xx whose ACK is missing. */
export type OkRetransmission = { readonly seq: number; stop(): void }

/**
 * Repeats a 2xx to an INVITE until its ACK arrives (RFC 3261, 13.3.1.4), over any transport: a proxy on the way may use
 * UDP.
 * @param lost called when no ACK arrived in 64 × T1
 */
export const retransmitOk = (
  timers: Timers,
  transaction: ServerTransaction,
  response: SipResponse,
  lost: () => void,
): OkRetransmission => {
  let stopResending = () => {}
  const resend = (milliseconds: number): void => {
    stopResending = timers.after(milliseconds, () => {
      transaction.respond(response)
      resend(Math.min(milliseconds * 2, t2Ms))
    })
  }
  resend(t1Ms)
  const giveUp = timers.after(transactionTimeoutMs, () => {
    stopResending()
    lost()
  })
  return {
    seq: cseqOf(transaction.request).number,
    stop: () => {
      stopResending()
      giveUp()
    },
  }
}
