import type { Tx } from '../db/sql.ts'
import { enqueue } from '../jobs/queue.ts'
import { uuid } from '../lib/id.ts'
import { smsOf } from './features.ts'
import * as owned from './owned.ts'
import type * as store from './store.ts'
import { tell } from './told.ts'

/** Plans what renewal.ts does at the end of a number's paid month. */
export const planRenewal = (tx: Tx, { account_id: account, id }: owned.NumberRow, runAt: Date) =>
  enqueue(tx, 'numbers.renew', { account, id }, { account, runAt })

/** Gives a number that has become the account's its SMS channel and its caller id, and tells of it. */
export const handOver = async (tx: Tx, row: owned.NumberRow, group: store.GroupRow): Promise<void> => {
  const sms = smsOf(group)
  if (sms.in || sms.out) await owned.addChannel(tx, row, uuid(), sms)
  await owned.addCallerId(tx, row, uuid())
  await planRenewal(tx, row, row.expires_at)
  await tell(tx, 'number.purchased', row)
}
