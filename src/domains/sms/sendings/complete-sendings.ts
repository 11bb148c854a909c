import type { Schedule } from '../../../platform/jobs/schedule.ts'
import { checkedSendings, sendingCheckSeconds } from '../limits.ts'
import { completeNext, type SearchPosition } from './store.ts'

const start: SearchPosition = {
  account_id: '00000000-0000-0000-0000-000000000000',
  id: '00000000-0000-0000-0000-000000000000',
}

/** Marks sendings as completed whose messages were all submitted or have ended. Each run examines the next ones, and
 *  starts over after the last. */
export const completeSendings = (): Schedule => {
  let from = start
  return {
    name: 'complete-sendings',
    every: sendingCheckSeconds,
    run: async (tx) => {
      const last = await completeNext(tx, from, checkedSendings)
      from = last && last.examined === checkedSendings ? last : start
    },
  }
}
