import type { Schedule } from '../../platform/jobs/schedule.ts'
import { purgeExpired } from './files/store.ts'

/** Deletes what imports of killed processes left behind. */
export const purgeContactImports: Schedule = {
  name: 'forget-contact-imports',
  every: 3600,
  run: async (tx) => {
    await purgeExpired(tx)
  },
}
