import type { Schedule } from '../jobs/schedule.ts'
import { closeAbandoned } from './ops.ts'

/** After a crash the calls of the process that was are closed truthfully. */
export const closeCalls: Schedule = {
  name: 'close-calls',
  every: 5,
  run: async (tx) => void (await closeAbandoned(tx)),
}
