import type { Tx } from '../../../platform/db/sql.ts'
import type { QuotaHolder, Quotas } from '../../../platform/http/quotas.ts'
import * as store from './store.ts'

/**
 * Adds opt-outs of an account within its quota, and leaves those that exist as they are.
 * @returns the ids of the new ones
 * @throws the 403 Problem of the quota `opt_outs`
 */
export const addOptOuts = async (
  tx: Tx,
  quotas: Quotas,
  account: QuotaHolder,
  reason: store.Reason,
  optOuts: readonly store.NewOptOut[],
): Promise<string[]> => {
  // Lock order: docs/locks.md.
  const byKey = new Map(optOuts.map((one) => [store.lockKey(one), one]))
  const sorted = [...byKey].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, one]) => one)
  const ids = sorted.length === 0 ? [] : await store.add(tx, account.id, reason, sorted)
  if (ids.length > 0)
    await quotas.check(tx, account, 'opt_outs', () => store.count(tx, account.id, quotas.limitOf(account, 'opt_outs')))
  return ids
}
