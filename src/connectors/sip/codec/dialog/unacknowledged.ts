import { cseqOf } from '../fields.ts'
import type { SipResponse } from '../message.ts'
import { patience, type Timers, t1, t2 } from '../timers.ts'
import type { ServerTransaction } from '../transaction/server.ts'

/** A 2xx of ours whose ACK has not come. */
export type Unacknowledged = { readonly seq: number; stop(): void }

/**
 * Sends a 2xx to an INVITE again and again until its ACK comes (RFC 3261, 13.3.1.4): over whatever transport, for a proxy on the way
 * may speak UDP.
 * @param lost called when none came in 64 × T1
 */
export const resendUntilAcknowledged = (
  timers: Timers,
  transaction: ServerTransaction,
  response: SipResponse,
  lost: () => void,
): Unacknowledged => {
  let stopResending = () => {}
  const resend = (milliseconds: number): void => {
    stopResending = timers.after(milliseconds, () => {
      transaction.respond(response)
      resend(Math.min(milliseconds * 2, t2))
    })
  }
  resend(t1)
  const giveUp = timers.after(patience, () => {
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
