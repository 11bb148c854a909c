import type { Tx } from '../../platform/db/sql.ts'
import { print } from '../../platform/lib/id.ts'
import { micros } from '../../platform/lib/money.ts'
import { refund, refundAll } from '../ledger/ops.ts'
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

/**
 * Cancels and refunds messages of sendings that no submit has begun.
 * @param own messages whose own jobs the transaction ends
 * @returns the ids of the canceled messages
 */
export const cancelUnsubmitted = async (
  tx: Tx,
  messages: readonly { account: string; id: string }[],
  own: readonly string[],
): Promise<string[]> => {
  if (messages.length === 0) return []
  const sorted = messages.toSorted((a, b) => ((a.account === b.account ? a.id < b.id : a.account < b.account) ? -1 : 1))
  const canceled = await states.markUnsubmittedCanceled(tx, sorted, own)
  const paid = Map.groupBy(
    canceled.toSorted((a, b) => (a.account_id < b.account_id ? -1 : 1)),
    ({ account_id, transfer_id }) => `${account_id} ${transfer_id}`,
  )
  for (const rows of paid.values()) {
    const [{ account_id: account, transfer_id: adjusts } = { account_id: '', transfer_id: null }] = rows
    if (adjusts === null) continue
    const items = rows.map(({ id, price }) => ({ reference: print('SMO', id), amount: micros(price) ?? 0 }))
    await refundAll(tx, account, 'sms', { kind: 'sms_refund', adjusts }, items)
  }
  await publishEvents(tx, canceled)
  return canceled.map(({ id }) => id)
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
