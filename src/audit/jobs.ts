import type { Schedule } from '../jobs/schedule.ts'
import * as store from './store.ts'

/** @param days after which rows of the audit trail are deleted, by the clock of the database */
export const forgetAudit = (days: number): Schedule => ({
  name: 'forget-audit',
  every: 600,
  run: async (tx) => void (await store.forget(tx, days, 5_000)),
})
