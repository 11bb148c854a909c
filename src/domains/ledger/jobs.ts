import type { Tx } from '../../platform/db/sql.ts'
import type { Schedule } from '../../platform/jobs/schedule.ts'
import { record } from '../events/ops.ts'
import { presentLowBalance } from './balance-presenter.ts'
import * as store from './store.ts'

/** Publishes `balance.low` for accounts whose balance has fallen below their limit. Runs every few seconds, because a
 *  check at each debit would slow down every SMS. A balance that recovers before the run is not reported. */
export const publishLowBalances = async (tx: Tx, at: Date): Promise<void> => {
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
        payload: presentLowBalance({ account_id, balance, low_balance }, at),
      })),
  )
}

export const lowBalances: Schedule = {
  name: 'low-balances',
  every: 5,
  run: publishLowBalances,
  when: store.hasCrossing,
}
