import type { InvalidationBus } from '../../../platform/db/invalidation-bus.ts'
import type { Tx } from '../../../platform/db/sql.ts'
import { Problem } from '../../../platform/http/problem.ts'
import { print } from '../../../platform/lib/id.ts'
import { micros } from '../../../platform/lib/money.ts'
import { charge } from '../../ledger/ops.ts'
import { graceDays } from '../limits.ts'
import { release } from '../ops.ts'
import { scheduleRenewal } from './provisioning.ts'
import * as virtualNumbers from './virtual-number-store.ts'

export type RenewalPayload = { account: string; id: string }

/**
 * Charges the next month, which begins at the end of the last one. While the balance does not cover it, the charge is
 * retried every day; after `graceDays` the number is released.
 */
export const renew = async (
  tx: Tx,
  changes: InvalidationBus,
  { account, id }: RenewalPayload,
  restDays: number,
): Promise<void> => {
  const found = await virtualNumbers.lock(tx, account, id)
  const { now } = await tx.one<{ now: Date }>`select app_now() as now`
  if (!found || found.expires_at > now) return
  try {
    await charge(tx, account, micros(found.monthly_price) ?? 0, 'numbers', {
      kind: 'number_month',
      reference: found.number,
      limitedKeys: null,
      note: `${print('DID', id)}, the month from ${found.expires_at.toISOString().slice(0, 10)}`,
    })
  } catch (error) {
    if (!(error instanceof Problem) || error.problem !== 'balance') throw error
    const day = 86_400_000
    if (now.getTime() >= found.expires_at.getTime() + graceDays * day)
      await release(tx, changes, account, id, 'unpaid', restDays)
    else await scheduleRenewal(tx, found, new Date(now.getTime() + day))
    return
  }
  await scheduleRenewal(tx, found, await virtualNumbers.addMonth(tx, account, id))
}
