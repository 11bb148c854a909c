import type { Db } from '../../platform/db/sql.ts'
import type { Metrics } from '../../platform/http/metrics.ts'
import * as history from './history/store.ts'
import { countedAccounts } from './limits.ts'
import { lagSeconds } from './projector/event-store.ts'

export { rebuildInbox } from './history/rebuild.ts'

/** Registers the metrics of the inbox. */
export const installInboxMetrics = (metrics: Metrics, db: Db): void => {
  metrics.gauge(
    'trunkline_inbox_lag_seconds',
    'Age of the oldest event that the inbox does not show yet',
    [],
    async () => [{ labels: {}, value: await lagSeconds(db, countedAccounts) }],
  )
  metrics.gauge(
    'trunkline_inbox_history_accounts',
    'Accounts whose history the inbox has not taken in',
    [],
    async () => [{ labels: {}, value: await history.countPending(db, countedAccounts) }],
  )
}
