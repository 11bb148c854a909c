import type { Schedule } from '../jobs/schedule.ts'
import type { Parts } from '../parts.ts'
import { turnSilent } from './channels/standing.ts'
import { forgetStale } from './checks/store.ts'
import { forgetHeard } from './groups/store.ts'
import { forgetEarly } from './messages/store.ts'
import { forgetAnswers } from './store.ts'

/** What the messaging app does every so often, in one process of all. */
export const msgappSchedules = ({ seal }: Pick<Parts, 'seal'>): Schedule[] => [
  { name: 'msgapp-silent', every: 2, run: (tx) => turnSilent(tx, seal) },
  { name: 'msgapp-answers', every: 300, run: async (tx) => void (await forgetAnswers(tx)) },
  { name: 'msgapp-early', every: 3_600, run: async (tx) => void (await forgetEarly(tx)) },
  { name: 'msgapp-checks', every: 600, run: async (tx) => void (await forgetStale(tx)) },
  { name: 'msgapp-group-events', every: 3600, run: async (tx) => void (await forgetHeard(tx)) },
]
