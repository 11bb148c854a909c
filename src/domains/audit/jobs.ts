import type { Schedule } from '../../platform/jobs/schedule.ts'
import * as store from './store.ts'

/** Makes the retention schedule. @param days age at which rows are deleted, by the clock of the database */
export const auditRetention = (days: number): Schedule => ({
  name: 'forget-audit',
  every: 600,
  run: async (tx) => void (await store.deleteOlder(tx, days, 5_000)),
})
