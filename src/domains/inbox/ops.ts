import type { Config } from '../../config.ts'
import type { Db } from '../../platform/db/sql.ts'
import type { Metrics } from '../../platform/http/metrics.ts'
import { type RebuildResult, type RunControl, rebuildAll } from './history/rebuild.ts'
import * as history from './history/store.ts'
import { countedAccounts } from './limits.ts'
import { lagSeconds } from './projector/event-store.ts'

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

/**
 * Takes all messages and calls into the inbox again, while the platform runs or not.
 * @param account `ACC…`; null: all accounts
 * @throws Error for an unknown account, and when it is stopped
 */
export const rebuildInbox = (
  settings: Pick<Config, 'home' | 'databaseUrl'>,
  account: string | null,
  control: RunControl,
): Promise<RebuildResult> => rebuildAll(settings, account, control)
