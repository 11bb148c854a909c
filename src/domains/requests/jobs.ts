import type { Schedule } from '../../platform/jobs/schedule.ts'
import { purgeSize, storedDays } from './limits.ts'
import * as store from './store.ts'

/** Deletes requests after seven days. */
export const purgeRequests: Schedule = {
  name: 'forget-api-requests',
  every: 60,
  run: async (tx) => void (await store.deleteOld(tx, storedDays, purgeSize)),
}
