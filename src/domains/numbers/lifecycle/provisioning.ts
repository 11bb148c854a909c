import type { Tx } from '../../../platform/db/sql.ts'
import { enqueue } from '../../../platform/jobs/queue.ts'
import { uuid } from '../../../platform/lib/id.ts'
import { endChannel } from '../../msgapp/channels/ops.ts'
import { smsOf } from '../catalogue/features.ts'
import * as store from '../store.ts'
import { publishNumberEvent } from './number-events.ts'
import * as virtualNumbers from './virtual-number-store.ts'

/** Schedules the renewal (renewal.ts) at the end of the number's paid month. */
export const scheduleRenewal = (tx: Tx, { account_id: account, id }: virtualNumbers.NumberRow, runAt: Date) =>
  enqueue(tx, 'numbers.renew', { account, id }, { account, runAt })

/** Buying or releasing a sandbox number never invalidates ownership proofs of other accounts. */
const endsProofs = async (tx: Tx, { group_id }: virtualNumbers.NumberRow): Promise<boolean> =>
  !(await store.isOfSandbox(tx, group_id))

/** Adds a number to the account and ends other accounts' messaging-app channels of that number. */
export const assignToAccount = async (tx: Tx, number: virtualNumbers.NewNumber): Promise<virtualNumbers.NumberRow> => {
  const row = await virtualNumbers.add(tx, number)
  await endChannel(tx, row.number, {
    account: row.account_id,
    own: false,
    endsProofs: await endsProofs(tx, row),
    reason: 'another account bought the number',
  })
  return row
}

/** Releases a number from the account and ends its messaging-app channel. */
export const releaseFromAccount = async (tx: Tx, account: string, id: string): Promise<virtualNumbers.NumberRow> => {
  const row = await virtualNumbers.release(tx, account, id)
  await endChannel(tx, row.number, {
    account,
    own: true,
    endsProofs: await endsProofs(tx, row),
    reason: 'the number was released',
  })
  return row
}

/**
 * Creates the SMS channel and caller id of a delivered number, schedules its renewal and publishes number.purchased.
 */
export const completeProvisioning = async (
  tx: Tx,
  row: virtualNumbers.NumberRow,
  group: store.GroupRow,
): Promise<void> => {
  const sms = smsOf(group)
  if (sms.in || sms.out) await virtualNumbers.addChannel(tx, row, uuid(), sms)
  await virtualNumbers.addCallerId(tx, row, uuid())
  await scheduleRenewal(tx, row, row.expires_at)
  await publishNumberEvent(tx, 'number.purchased', row)
}
