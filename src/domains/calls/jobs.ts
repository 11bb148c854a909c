import type { Schedule } from '../../platform/jobs/schedule.ts'
import { abandonedCallSeconds } from './limits.ts'
import { closeAbandoned } from './ops.ts'
import { hasAbandoned } from './store.ts'

/** Closes calls whose process has crashed. */
export const closeCalls: Schedule = {
  name: 'close-calls',
  every: 5,
  when: hasAbandoned(abandonedCallSeconds),
  run: async (tx) => void (await closeAbandoned(tx)),
}
