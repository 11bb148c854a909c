import type { Tx } from '../../platform/db/sql.ts'
import type { JobKind } from '../../platform/jobs/job-kind.ts'
import { enqueue } from '../../platform/jobs/queue.ts'
import type { Schedule } from '../../platform/jobs/schedule.ts'
import type { Services } from '../../services.ts'
import * as log from './delivery/delivery-log-store.ts'
import { advance } from './history/replay-store.ts'
import * as stats from './history/stats-store.ts'
import { maxStatsDays, replayPageSize, statsPurgeSize } from './limits.ts'

export const replayKind = 'webhooks.replay'
const purgeKind = 'webhooks.forget'

/** Replays the events of a time window, one page per job run, so that a long window delays no other job. */
const replay: JobKind<log.Replay> = {
  kind: replayKind,
  concurrency: 4,
  batch: 1,
  leaseSeconds: 30,
  maxAttempts: 20,
  fair: true,
  onComplete: async (tx, done) => {
    for (const { job } of done) {
      const { last, sent, reached } = await log.replayPage(tx, job.payload, replayPageSize)
      await advance(tx, job.payload, { sent, reached, isDone: last === null })
      if (last !== null)
        await enqueue(
          tx,
          replayKind,
          { ...job.payload, after: last },
          job.account === null ? {} : { account: job.account },
        )
    }
  },
}

const start = '00000000-0000-0000-0000-000000000000'

type PurgeStep = { what: 'deliveries'; after: log.WalkPosition } | { what: 'events'; after: string }

/** Deletes a few rows at a time, so that a table of millions is never locked for long. */
const purgeSome = async (tx: Tx, days: number, { what, after }: PurgeStep): Promise<PurgeStep | null> => {
  if (what === 'events') {
    const { gone, account } = await log.deleteOldEvents(tx, days, after)
    return account === null ? null : { what, after: gone > 0 ? after : account }
  }
  const { gone, account, id } = await log.deleteOldDeliveries(tx, days, after)
  if (account !== null && id !== null) return { what, after: gone > 0 ? after : { account, id } }
  await log.purgeWebhooks(tx, days)
  return { what: 'events', after: start }
}

const makePurge = (days: number): JobKind<PurgeStep> => ({
  kind: purgeKind,
  concurrency: 1,
  batch: 1,
  leaseSeconds: 30,
  maxAttempts: 20,
  onComplete: async (tx, done) => {
    for (const { job } of done) {
      const next = await purgeSome(tx, days, job.payload)
      if (next) await enqueue(tx, purgeKind, next)
    }
  },
})

/** Background jobs of webhooks, except the deliveries themselves. */
export const webhookJobs = ({ config }: Pick<Services, 'config'>): readonly JobKind[] => [
  replay,
  makePurge(config.deliveryDays),
]

/** Deletes, once a day, deliveries older than TRUNKLINE_RETENTION_DAYS_DELIVERIES. */
export const purgeDeliveriesDaily: Schedule = {
  name: 'forget-deliveries',
  every: '03:20',
  run: async (tx) => {
    const begin: PurgeStep = { what: 'deliveries', after: { account: start, id: start } }
    await enqueue(tx, purgeKind, begin)
  },
}

/** Deletes old statistics. */
export const purgeWebhookStats: Schedule = {
  name: 'forget-webhook-stats',
  every: 600,
  run: async (tx) => void (await stats.deleteOld(tx, maxStatsDays.day, statsPurgeSize)),
}
