import type { Tx } from '../db/sql.ts'
import { enqueue } from '../jobs/queue.ts'
import { uuid } from '../lib/id.ts'
import { endChannel } from '../msgapp/channels/ops.ts'
import { smsOf } from './features.ts'
import * as owned from './owned.ts'
import type * as store from './store.ts'
import { tell } from './told.ts'

/** Plans what renewal.ts does at the end of a number's paid month. */
export const planRenewal = (tx: Tx, { account_id: account, id }: owned.NumberRow, runAt: Date) =>
  enqueue(tx, 'numbers.renew', { account, id }, { account, runAt })

/** Makes a number the account's; nobody else goes on as it on the messaging app. */
export const take = async (tx: Tx, wanted: owned.NewNumber): Promise<owned.NumberRow> => {
  const row = await owned.add(tx, wanted)
  await endChannel(tx, row.number, {
    account: row.account_id,
    own: false,
    reason: 'the number was bought by somebody else',
  })
  return row
}

/** Takes a number out of the account's use, and from the messaging app. */
export const letGo = async (tx: Tx, account: string, id: string): Promise<owned.NumberRow> => {
  const row = await owned.release(tx, account, id)
  await endChannel(tx, row.number, { account, own: true, reason: 'the number was released' })
  return row
}

/** Gives a number that has become the account's its SMS channel and its caller id, and tells of it. */
export const handOver = async (tx: Tx, row: owned.NumberRow, group: store.GroupRow): Promise<void> => {
  const sms = smsOf(group)
  if (sms.in || sms.out) await owned.addChannel(tx, row, uuid(), sms)
  await owned.addCallerId(tx, row, uuid())
  await planRenewal(tx, row, row.expires_at)
  await tell(tx, 'number.purchased', row)
}
