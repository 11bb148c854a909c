import type { Config } from '../../config.ts'
import type { Tx } from '../../db/sql.ts'
import type { Kind } from '../../jobs/kind.ts'
import { enqueue } from '../../jobs/queue.ts'
import type { Schedule } from '../../jobs/schedule.ts'
import { askToDiscardAll, isBehind } from './discarding.ts'
import * as store from './store.ts'

const kind = 'msgapp.media.forget'
const most = 500

/** So many files wait at most to be taken out of the store; then the rest of the old ones waits, so many seconds at a time. */
const mostWaiting = 5_000
const pauseSeconds = 10

/** Lets go of old files, and has their bytes taken out of the store, as long as there are any. */
const forgetSome = async (tx: Tx, days: number): Promise<void> => {
  if (await isBehind(tx, mostWaiting)) {
    await enqueue(tx, kind, {}, { runAt: await store.inSeconds(tx, pauseSeconds) })
    return
  }
  const old = await store.forgetOld(tx, days, most)
  await askToDiscardAll(tx, old)
  if (old.length === most) await enqueue(tx, kind, {})
}

/** Files older than TRUNKLINE_RETENTION_DAYS_MEDIA go, some at a time. Their messages stay, and say so. */
export const ageing = ({ mediaDays }: Pick<Config, 'mediaDays'>): Kind => ({
  kind,
  concurrency: 1,
  batch: 1,
  leaseSeconds: 60,
  maxAttempts: 20,
  settle: async (tx) => {
    if (mediaDays !== null) await forgetSome(tx, mediaDays)
  },
})

/** Looks for old files every hour, where files are not kept for ever. */
export const forgetOldFiles = ({ mediaDays }: Pick<Config, 'mediaDays'>): Schedule => ({
  name: 'msgapp-old-files',
  every: 3_600,
  run: async (tx) => {
    // One that waits for the store goes on by itself.
    if (mediaDays !== null && !(await store.hasJobs(tx, kind, 1))) await enqueue(tx, kind, {})
  },
})
