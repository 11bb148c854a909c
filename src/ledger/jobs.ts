import type { Tx } from '../db/sql.ts'
import { record } from '../events/ops.ts'
import type { Schedule } from '../jobs/schedule.ts'
import { iso } from '../lib/clock.ts'
import { print } from '../lib/id.ts'
import { decimal, micros } from '../lib/money.ts'
import * as store from './store.ts'

const money = (numeric: string) => decimal(micros(numeric) ?? 0)

/** Tells accounts whose balance has fallen below their limit. A look every few seconds instead of a check at each debit,
 *  which would cost every SMS; a fall that is mended before the look is not told. */
export const lookForLow = async (tx: Tx, at: Date): Promise<void> => {
  const crossed = await store.crossings(tx, 1000)
  await record(
    tx,
    crossed
      .filter(({ is_low }) => is_low)
      .map(({ account_id, balance, low_balance }) => ({
        account: account_id,
        name: 'balance.low',
        channel: null,
        conversation: 'balance',
        payload: {
          account_uuid: print('ACC', account_id),
          balance: money(balance),
          low_balance: money(low_balance),
          currency: 'USD',
          created_at: iso(at),
        },
      })),
  )
}

export const lowBalances: Schedule = { name: 'low-balances', every: 5, run: lookForLow }
