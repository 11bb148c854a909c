import type { Schedule } from '../../platform/jobs/schedule.ts'
import { abandonedCallSeconds, leftStreamSeconds, maxQueuedSeconds } from './limits.ts'
import { closeAbandoned, reportStreamsOfEndedCalls } from './ops.ts'
import { removeOldCommands } from './orders/command-store.ts'
import { endExpired } from './orders/ops.ts'
import { hasExpired } from './orders/order-store.ts'
import { hasAbandoned } from './store.ts'
import { hasLeftStreams } from './streams/stream-store.ts'

/** Closes calls whose process has crashed. */
export const closeCalls: Schedule = {
  name: 'close-calls',
  every: 5,
  when: hasAbandoned(abandonedCallSeconds),
  run: async (tx) => void (await closeAbandoned(tx)),
}

/** Ends queued calls that no process placed in time. */
export const endExpiredCalls: Schedule = {
  name: 'end-expired-calls',
  every: 5,
  when: hasExpired(maxQueuedSeconds),
  run: async (tx) => void (await endExpired(tx, 100, maxQueuedSeconds)),
}

/** Reports the end of streams whose process ended right after their call. */
export const reportStreams: Schedule = {
  name: 'report-streams',
  every: 10,
  when: hasLeftStreams(leftStreamSeconds),
  run: (tx, at) => reportStreamsOfEndedCalls(tx, at),
}

/** Removes commands on calls after a day. */
export const deleteOldCommands: Schedule = {
  name: 'delete-call-commands',
  every: 600,
  run: async (tx) => void (await removeOldCommands(tx, 5_000)),
}
