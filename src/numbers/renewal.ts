import type { Changes } from '../db/changes.ts'
import type { Tx } from '../db/sql.ts'
import { Problem } from '../http/problem.ts'
import { charge } from '../ledger/ops.ts'
import { print } from '../lib/id.ts'
import { micros } from '../lib/money.ts'
import { planRenewal } from './handover.ts'
import { release } from './ops.ts'
import * as owned from './owned.ts'

/** Days after the end of the paid month during which a number stays although its next month is not paid. */
export const graceDays = 7

export type Due = { account: string; id: string }

/**
 * Takes the price of the next month, which begins at the end of the last one, from the balance. While the balance does not
 * cover it, it is tried again every day; after `graceDays` the number is released.
 */
export const renew = async (tx: Tx, changes: Changes, { account, id }: Due, restDays: number): Promise<void> => {
  const found = await owned.lock(tx, account, id)
  const { now } = await tx.one<{ now: Date }>`select app_now() as now`
  if (!found || found.expires_at > now) return
  try {
    await charge(tx, account, micros(found.monthly_price) ?? 0, 'numbers', {
      kind: 'number_month',
      reference: found.number,
      note: `${print('DID', id)}, the month from ${found.expires_at.toISOString().slice(0, 10)}`,
    })
  } catch (error) {
    if (!(error instanceof Problem) || error.problem !== 'balance') throw error
    const day = 86_400_000
    if (now.getTime() >= found.expires_at.getTime() + graceDays * day)
      await release(tx, changes, account, id, 'unpaid', restDays)
    else await planRenewal(tx, found, new Date(now.getTime() + day))
    return
  }
  await planRenewal(tx, found, await owned.prolong(tx, account, id))
}
