import { dropDeadJobs } from '../../platform/jobs/dead-jobs.ts'
import type { Schedule } from '../../platform/jobs/schedule.ts'
import type { Services } from '../../services.ts'
import {
  deadJobBatchSize,
  deadJobRetentionSeconds,
  maxDeadJobsPerKind,
  openDeadJobDays,
  settledDeadJobDays,
} from './limits.ts'

const limits = {
  settledDays: settledDeadJobDays,
  openDays: openDeadJobDays,
  perKind: maxDeadJobsPerKind,
  batch: deadJobBatchSize,
}

/** Makes the schedule that bounds the table of dead jobs. Work that was never done is not lost silently: the log has an
 *  error, and a counter counts it. */
export const deadJobRetention = ({ countDroppedJobs, log }: Pick<Services, 'countDroppedJobs' | 'log'>): Schedule => ({
  name: 'forget-dead-jobs',
  every: deadJobRetentionSeconds,
  run: async (tx) => {
    const dropped = await dropDeadJobs(tx, limits)
    tx.afterCommit(() => {
      for (const { kind, reason, is_settled, count } of dropped) {
        countDroppedJobs({ kind, reason, settled: String(is_settled) }, count)
        if (!is_settled) log.error({ kind, reason, jobs: count }, 'jobs: dead jobs deleted, their work was not done')
      }
    })
  },
})
