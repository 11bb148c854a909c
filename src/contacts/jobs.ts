import type { Schedule } from '../jobs/schedule.ts'
import { forget } from './files/store.ts'

/** Clears away what imports left behind whose process was killed. */
export const forgetContactImports: Schedule = {
  name: 'forget-contact-imports',
  every: 3600,
  run: async (tx) => {
    await forget(tx)
  },
}
