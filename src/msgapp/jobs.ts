import type { Schedule } from '../jobs/schedule.ts'
import type { Parts } from '../parts.ts'
import { forgetAside } from './aside/ops.ts'
import { turnSilent } from './channels/standing.ts'
import { forgetBatches, forgetStale } from './checks/store.ts'
import { forgetHeard } from './groups/store.ts'
import { forgetEarly } from './messages/store.ts'
import { forgetAnswers } from './store.ts'

/** What forgets at most 5,000 at a time, until it finds fewer. */
const wholly = async (forget: () => Promise<number>): Promise<void> => {
  while ((await forget()) === 5_000);
}

/** What the messaging app does every so often, in one process of all. */
export const msgappSchedules = ({ seal }: Pick<Parts, 'seal'>): Schedule[] => [
  { name: 'msgapp-silent', every: 2, run: (tx) => turnSilent(tx, seal) },
  { name: 'msgapp-answers', every: 300, run: async (tx) => void (await forgetAnswers(tx)) },
  { name: 'msgapp-early', every: 3_600, run: (tx) => wholly(() => forgetEarly(tx)) },
  { name: 'msgapp-checks', every: 600, run: (tx) => wholly(() => forgetStale(tx)) },
  { name: 'msgapp-batches', every: 3_600, run: (tx) => wholly(() => forgetBatches(tx)) },
  { name: 'msgapp-group-events', every: 3600, run: (tx) => wholly(() => forgetHeard(tx)) },
  { name: 'msgapp-aside', every: 3_600, run: (tx) => wholly(() => forgetAside(tx)) },
]
