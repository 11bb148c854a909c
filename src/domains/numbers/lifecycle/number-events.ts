import type { Tx } from '../../../platform/db/sql.ts'
import { record } from '../../events/ops.ts'
import { presentNumber } from './number-presenter.ts'
import type { NumberRow } from './virtual-number-store.ts'

type NumberEvent = 'number.purchased' | 'number.released' | 'number.suspended' | 'number.updated'

/**
 * Publishes an event about a number in the transaction of its cause: the present virtual number and, except for a
 * purchase, the reason. These events concern the whole account; those of one number arrive in order.
 */
export const publishNumberEvent = (tx: Tx, what: NumberEvent, row: NumberRow, reason?: string): Promise<void> =>
  record(tx, [
    {
      account: row.account_id,
      name: what,
      channel: null,
      conversation: row.number,
      payload: { ...presentNumber(row), ...(reason === undefined ? {} : { reason }) },
    },
  ])
