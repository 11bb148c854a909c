import type { Tx } from '../../platform/db/sql.ts'
import { print } from '../../platform/lib/id.ts'
import { micros } from '../../platform/lib/money.ts'
import { refund } from '../ledger/ops.ts'
import { publishEvents } from './message-presenter.ts'
import * as states from './state-transition-store.ts'

/** Refunds messages, ordered by account (docs/locks.md). */
const refundMessages = async (tx: Tx, rows: readonly states.PaidRow[]): Promise<void> => {
  for (const { account_id, id, price, transfer_id: adjusts } of [...rows].sort((a, b) =>
    a.account_id < b.account_id ? -1 : 1,
  )) {
    const reference = print('SMO', id)
    await refund(tx, account_id, micros(price) ?? 0, 'sms', { kind: 'sms_refund', reference, adjusts })
  }
}

/** Ends messages that will not be sent, and refunds those of which no part was accepted. */
export const endUnsent = async (tx: Tx, messages: readonly states.EndedMessage[]): Promise<void> => {
  if (messages.length === 0) return
  await states.forceIndexPlans(tx)
  const ended = await states.markEnded(tx, messages)
  await refundMessages(
    tx,
    ended.filter(({ is_untouched }) => is_untouched),
  )
  await publishEvents(tx, ended)
}

/** Cancels and refunds a message before its send time. Returns false if the time has come or the message does not
 *  exist. */
export const cancelScheduledMessage = async (tx: Tx, account: string, id: string): Promise<boolean> => {
  const canceled = await states.markCanceled(tx, account, id)
  if (!canceled) return false
  await refundMessages(tx, [canceled])
  await publishEvents(tx, [canceled])
  return true
}
