import type { Tx } from '../db/sql.ts'
import type { Kind } from '../jobs/kind.ts'
import { enqueue } from '../jobs/queue.ts'
import type { Schedule } from '../jobs/schedule.ts'
import type { Parts } from '../parts.ts'
import * as log from './log.ts'

export const replayKind = 'webhooks.replay'
const forgetKind = 'webhooks.forget'
const pageSize = 1_000

/** Tells again what happened in a window of time: a page of events at a time, so that nobody waits for a long one. */
const replay: Kind<log.Replay> = {
  kind: replayKind,
  concurrency: 4,
  batch: 1,
  leaseSeconds: 30,
  maxAttempts: 20,
  fair: true,
  settle: async (tx, done) => {
    for (const { job } of done) {
      const { last } = await log.replay(tx, job.payload, pageSize)
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

type Forget = { what: 'deliveries'; after: log.Place } | { what: 'events'; after: string }

/** A few rows at a time: a table of millions is never held up. */
const forgetSome = async (tx: Tx, days: number, { what, after }: Forget): Promise<Forget | null> => {
  if (what === 'events') {
    const { gone, account } = await log.forgetEvents(tx, days, after)
    return account === null ? null : { what, after: gone > 0 ? after : account }
  }
  const { gone, account, id } = await log.forgetDeliveries(tx, days, after)
  if (account !== null && id !== null) return { what, after: gone > 0 ? after : { account, id } }
  await log.forgetWebhooks(tx, days)
  return { what: 'events', after: start }
}

const forget = (days: number): Kind<Forget> => ({
  kind: forgetKind,
  concurrency: 1,
  batch: 1,
  leaseSeconds: 30,
  maxAttempts: 20,
  settle: async (tx, done) => {
    for (const { job } of done) {
      const next = await forgetSome(tx, days, job.payload)
      if (next) await enqueue(tx, forgetKind, next)
    }
  },
})

/** The background work of this folder, but for the deliveries themselves. */
export const webhookJobs = ({ config }: Pick<Parts, 'config'>): readonly Kind[] => [replay, forget(config.deliveryDays)]

/** Once a day what is older than TRUNKLINE_RETENTION_DAYS_DELIVERIES goes. */
export const forgetDeliveries: Schedule = {
  name: 'forget-deliveries',
  every: '03:20',
  run: async (tx) => {
    const begin: Forget = { what: 'deliveries', after: { account: start, id: start } }
    await enqueue(tx, forgetKind, begin)
  },
}
