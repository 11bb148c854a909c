import type { Schedule } from '../../platform/jobs/schedule.ts'
import { closeAbandoned } from './ops.ts'

/** Closes calls whose process has crashed. */
export const closeCalls: Schedule = {
  name: 'close-calls',
  every: 5,
  run: async (tx) => void (await closeAbandoned(tx)),
}
