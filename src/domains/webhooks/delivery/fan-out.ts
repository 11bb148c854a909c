import { isUnavailable } from '../../../platform/db/sql.ts'
import { makeTurns } from '../../../platform/jobs/turns.ts'
import { startPoller } from '../../../platform/lib/poller.ts'
import type { Services } from '../../../services.ts'
import { notifyRecorded } from '../../events/ops.ts'
import {
  deliveryPollMs,
  fanOutBatchSize,
  fanOutBurstSeconds,
  idleDeliveryPollMs,
  maxFanOutAccounts,
} from '../limits.ts'
import * as store from './fan-out-store.ts'

type Deps = Pick<Services, 'db' | 'log' | 'quotas' | 'wakeUps'>

export type FanOut = {
  /** Reports that the account has backlogged events. */
  notify(account: string): void
  /** Starts nothing more and waits for the step under way. */
  stop(): Promise<void>
}

/**
 * Creates deliveries of backlogged events: those with many webhooks, and those of imports. Each account has its rate
 * (quota `fanouts`), and accounts take turns: a flood delays only its own account's events.
 */
export const startFanOut = ({ db, log, quotas, wakeUps }: Deps): FanOut => {
  let isDatabaseDown = false

  const logFailure = (error: unknown) => {
    if (!isDatabaseDown || !isUnavailable(error)) log.error({ err: error }, 'webhooks: fan-out failed')
    isDatabaseDown = isUnavailable(error)
  }

  /** Returns the milliseconds until the account may continue; null if it has no more. */
  const step = async (account: string): Promise<number | null> => {
    const holder = await quotas.findHolder(db, account)
    if (!holder) return null
    const rate = quotas.limitOf(holder, 'fanouts')
    const { webhooks, wait } = await store.createDeliveries(db, account, {
      rate,
      burst: rate * fanOutBurstSeconds,
      most: fanOutBatchSize,
    })
    isDatabaseDown = false
    if (webhooks.length > 0)
      notifyRecorded(
        webhooks.map((webhook) => ({ account, webhook })),
        [],
      )
    return wait === null ? null : wait * 1_000
  }

  const turns = makeTurns(1, (account) =>
    step(account).catch((error: unknown) => {
      logFailure(error)
      return deliveryPollMs
    }),
  )

  // An account that waits for its rate is not hastened.
  const add = (account: string) => {
    if (!turns.has(account) && turns.size() < maxFanOutAccounts) turns.schedule(account, 0)
  }

  // Other processes record events too.
  const polls = startPoller({
    fastMs: deliveryPollMs,
    slowMs: idleDeliveryPollMs,
    wakeUps,
    look: async () => {
      const accounts = await store.findBacklogged(db, maxFanOutAccounts)
      for (const account of accounts) add(account)
      return { isBusy: accounts.length > 0 }
    },
    onError: logFailure,
  })
  const unsubscribe = wakeUps.on('deliveries', polls.wake)

  return {
    notify: add,
    stop: async () => {
      unsubscribe()
      await Promise.all([turns.stop(), polls.end()])
    },
  }
}
