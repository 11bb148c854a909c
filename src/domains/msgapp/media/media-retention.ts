import type { Config } from '../../../config.ts'
import type { Tx } from '../../../platform/db/sql.ts'
import type { JobKind } from '../../../platform/jobs/job-kind.ts'
import { enqueue } from '../../../platform/jobs/queue.ts'
import type { Schedule } from '../../../platform/jobs/schedule.ts'
import { maxPendingDeletions, retentionBatchSize, retentionPauseSeconds } from '../limits.ts'
import { isBehind, requestDeletions } from './media-gc.ts'
import * as store from './store.ts'

const kind = 'msgapp.media.forget'

/** Expires old files, and requests deletion of their bytes, while there are any. */
const expireSome = async (tx: Tx, days: number): Promise<void> => {
  if (await isBehind(tx, maxPendingDeletions)) {
    await enqueue(tx, kind, {}, { runAt: await store.inSeconds(tx, retentionPauseSeconds) })
    return
  }
  const old = await store.expireOld(tx, days, retentionBatchSize)
  await requestDeletions(tx, old)
  if (old.length === retentionBatchSize) await enqueue(tx, kind, {})
}

/**
 * Expires files older than TRUNKLINE_RETENTION_DAYS_MEDIA, a few at a time. Their messages stay and show the reason.
 */
export const mediaRetention = ({ mediaDays }: Pick<Config, 'mediaDays'>): JobKind => ({
  kind,
  concurrency: 1,
  batch: 1,
  leaseSeconds: 60,
  maxAttempts: 20,
  onComplete: async (tx) => {
    if (mediaDays !== null) await expireSome(tx, mediaDays)
  },
})

/** Starts the expiry of old files every hour, unless files are stored without limit. */
export const expireOldFiles = ({ mediaDays }: Pick<Config, 'mediaDays'>): Schedule => ({
  name: 'msgapp-old-files',
  every: 3_600,
  run: async (tx) => {
    // A job that waits for the store continues by itself.
    if (mediaDays !== null && !(await store.hasJobs(tx, kind, 1))) await enqueue(tx, kind, {})
  },
})
