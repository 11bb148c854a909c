import type { Schedule } from '../../../platform/jobs/schedule.ts'
import { changeConversations } from '../change-conversation.ts'
import { closeEverySeconds } from '../limits.ts'
import { lockIdle } from './store.ts'

/** Closes conversations that wait for no answer, as many days after their last item as the account wants. */
export const closeIdle: Schedule = {
  name: 'inbox-close-idle',
  every: closeEverySeconds,
  run: async (tx) => {
    const idle = await lockIdle(tx)
    for (const rows of Map.groupBy(idle, ({ account_id }) => account_id).values())
      await changeConversations(tx, rows, { status: 'closed' }, null, true)
  },
}
