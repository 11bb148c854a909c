import type { Tx } from '../db/sql.ts'
import { refund } from '../ledger/ops.ts'
import { print } from '../lib/id.ts'
import { micros } from '../lib/money.ts'
import { tell } from './shown.ts'
import * as states from './states.ts'
import type { EventRow } from './store.ts'

/** Gives back what messages cost. By account, the order in which acceptance locks balances too. */
const payBack = async (tx: Tx, rows: readonly EventRow[]): Promise<void> => {
  for (const { account_id, id, price } of [...rows].sort((a, b) => (a.account_id < b.account_id ? -1 : 1))) {
    const reference = print('SMO', id)
    await refund(tx, account_id, micros(price) ?? 0, 'sms', { kind: 'sms_refund', reference })
  }
}

/** Ends messages that will not be sent. One of which no carrier has any part is paid back. */
export const endUnsent = async (tx: Tx, messages: readonly states.Ended[]): Promise<void> => {
  if (messages.length === 0) return
  await states.byIndex(tx)
  const ended = await states.end(tx, messages)
  await payBack(
    tx,
    ended.filter(({ is_untouched }) => is_untouched),
  )
  await tell(tx, ended)
}

/** Takes back a message whose time has not come. False when it has, or there is none. */
export const cancel = async (tx: Tx, account: string, id: string): Promise<boolean> => {
  const canceled = await states.cancel(tx, account, id)
  if (!canceled) return false
  await payBack(tx, [canceled])
  await tell(tx, [canceled])
  return true
}
