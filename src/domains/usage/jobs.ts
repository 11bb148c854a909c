import type { Tx } from '../../platform/db/sql.ts'
import type { Schedule } from '../../platform/jobs/schedule.ts'
import { makeDaySums } from './day-sums.ts'
import { foldBatchSize, foldRunMs } from './limits.ts'
import * as store from './store.ts'

/**
 * Counts noted transfers, batch by batch, until none is left or the time is over. The transaction takes the notes and
 * adds the sums: each transfer counts once.
 */
export const foldUsage = async (tx: Tx): Promise<void> => {
  const end = performance.now() + foldRunMs
  while (performance.now() < end) {
    const keys = await store.takePending(tx, foldBatchSize)
    if (keys.length === 0) return
    const days = makeDaySums()
    await days.add(await store.sourcesOf(tx, keys))
    await store.addSums(tx, days.sums())
    if (keys.length < foldBatchSize) return
  }
}

export const countUsage: Schedule = { name: 'count-usage', every: 2, run: foldUsage, when: store.hasPending }
