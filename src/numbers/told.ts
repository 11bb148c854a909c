import type { Tx } from '../db/sql.ts'
import { record } from '../events/ops.ts'
import type { NumberRow } from './owned.ts'
import { shownNumber } from './shown.ts'

type What = 'number.purchased' | 'number.released' | 'number.suspended'

/**
 * Tells the account what became of a number, in the transaction that did it: the virtual number as it stands now and, but
 * for a purchase, why. These events concern the whole account; those of one number come in their order.
 */
export const tell = (tx: Tx, what: What, row: NumberRow, reason?: string): Promise<void> =>
  record(tx, [
    {
      account: row.account_id,
      name: what,
      channel: null,
      conversation: row.number,
      payload: { ...shownNumber(row), ...(reason === undefined ? {} : { reason }) },
    },
  ])
