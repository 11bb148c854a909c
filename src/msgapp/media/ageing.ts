import type { Config } from '../../config.ts'
import type { Tx } from '../../db/sql.ts'
import type { Kind } from '../../jobs/kind.ts'
import { enqueue } from '../../jobs/queue.ts'
import type { Schedule } from '../../jobs/schedule.ts'
import { askToDiscard } from './discarding.ts'
import * as store from './store.ts'

const kind = 'msgapp.media.forget'
const most = 500

/** Lets go of old files, and has their bytes taken out of the store. @returns whether there are more */
const forgetSome = async (tx: Tx, days: number): Promise<boolean> => {
  const old = await store.forgetOld(tx, days, most)
  for (const { account_id, digest } of old) await askToDiscard(tx, account_id, digest)
  return old.length === most
}

/** Files older than TRUNKLINE_RETENTION_DAYS_MEDIA go, some at a time. Their messages stay, and say so. */
export const ageing = ({ mediaDays }: Pick<Config, 'mediaDays'>): Kind => ({
  kind,
  concurrency: 1,
  batch: 1,
  leaseSeconds: 60,
  maxAttempts: 20,
  settle: async (tx) => {
    if (mediaDays !== null && (await forgetSome(tx, mediaDays))) await enqueue(tx, kind, {})
  },
})

/** Looks for old files every hour, where files are not kept for ever. */
export const forgetOldFiles = ({ mediaDays }: Pick<Config, 'mediaDays'>): Schedule => ({
  name: 'msgapp-old-files',
  every: 3_600,
  run: async (tx) => {
    if (mediaDays !== null) await enqueue(tx, kind, {})
  },
})
