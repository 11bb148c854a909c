import type { Schedule } from '../../platform/jobs/schedule.ts'
import type { Services } from '../../services.ts'
import { disconnectSilent } from './channels/channel-status.ts'
import { expireUnpaired } from './channels/ops.ts'
import { hasSilent } from './channels/status-store.ts'
import { purgeBatches, purgeStale } from './checks/store.ts'
import { purgeDeadLetters } from './dead-letters/ops.ts'
import { purgeEventIds } from './groups/store.ts'
import { purgeEarly } from './messages/store.ts'
import { purgeAnswers } from './store.ts'

/** Repeats a purge of at most 5,000 rows until it deletes fewer. */
const untilEmpty = async (forget: () => Promise<number>): Promise<void> => {
  while ((await forget()) === 5_000);
}

/** Periodic jobs of the messaging app; each runs in one process. */
export const msgappSchedules = ({ seal }: Pick<Services, 'seal'>): Schedule[] => [
  { name: 'msgapp-silent', every: 2, run: (tx) => disconnectSilent(tx, seal), when: hasSilent },
  { name: 'msgapp-unpaired', every: 300, run: expireUnpaired },
  { name: 'msgapp-answers', every: 300, run: async (tx) => void (await purgeAnswers(tx)) },
  { name: 'msgapp-early', every: 3_600, run: (tx) => untilEmpty(() => purgeEarly(tx)) },
  { name: 'msgapp-checks', every: 600, run: (tx) => untilEmpty(() => purgeStale(tx)) },
  { name: 'msgapp-batches', every: 3_600, run: (tx) => untilEmpty(() => purgeBatches(tx)) },
  { name: 'msgapp-group-events', every: 3600, run: (tx) => untilEmpty(() => purgeEventIds(tx)) },
  { name: 'msgapp-aside', every: 3_600, run: (tx) => untilEmpty(() => purgeDeadLetters(tx)) },
]
