import type { Schedule } from '../../../platform/jobs/schedule.ts'
import { changeConversations } from '../change-conversation.ts'
import { dueBatchSize } from '../limits.ts'
import { hasDueSnooze, lockDue } from './store.ts'

/** Opens conversations whose time has come. A reply opens them earlier: see fold-items.ts. */
export const endSnoozes: Schedule = {
  name: 'inbox-snoozes',
  every: 1,
  when: hasDueSnooze,
  run: async (tx) => {
    const due = await lockDue(tx, dueBatchSize)
    for (const rows of Map.groupBy(due, ({ account_id }) => account_id).values())
      await changeConversations(tx, rows, { status: 'open' }, null)
  },
}
