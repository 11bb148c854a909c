import type { Sql } from '../../platform/db/sql.ts'
import { maxMeteredTransfers } from './limits.ts'
import * as store from './store.ts'

/** Returns how many transfers are not counted yet, at most 100,000. */
export const countUsagePending = (db: Sql): Promise<number> => store.countPending(db, null, maxMeteredTransfers)
