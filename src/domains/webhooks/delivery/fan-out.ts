import { isUnavailable } from '../../../platform/db/sql.ts'
import { tick } from '../../../platform/jobs/tick.ts'
import type { Services } from '../../../services.ts'
import { notifyRecorded } from '../../events/ops.ts'
import { fanOutBatchSize, fanOutBurstSeconds, fanOutPollMs, maxFanOutAccounts } from '../limits.ts'
import * as store from './fan-out-store.ts'

type Deps = Pick<Services, 'db' | 'log' | 'quotas'>

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
export const startFanOut = ({ db, log, quotas }: Deps): FanOut => {
  /** By account: the time at which it may continue (monotonic clock). */
  const waiting = new Map<string, number>()
  let running: Promise<void> | null = null
  let timer: NodeJS.Timeout | undefined
  let isDatabaseDown = false
  let isClosed = false

  const logFailure = (error: unknown) => {
    if (!isDatabaseDown || !isUnavailable(error)) log.error({ err: error }, 'webhooks: fan-out failed')
    isDatabaseDown = isUnavailable(error)
  }

  const step = async (account: string) => {
    const holder = await quotas.findHolder(db, account)
    if (!holder) return void waiting.delete(account)
    const rate = quotas.limitOf(holder, 'fanouts')
    const { webhooks, wait } = await store.createDeliveries(db, account, {
      rate,
      burst: rate * fanOutBurstSeconds,
      most: fanOutBatchSize,
    })
    isDatabaseDown = false
    // The account moves behind the others.
    waiting.delete(account)
    if (wait !== null) waiting.set(account, performance.now() + wait * 1000)
    if (webhooks.length > 0)
      notifyRecorded(
        webhooks.map((webhook) => ({ account, webhook })),
        [],
      )
  }

  const runDue = async () => {
    for (;;) {
      const now = performance.now()
      const due = waiting.entries().find(([, at]) => at <= now)
      if (!due || isClosed) return
      try {
        await step(due[0])
      } catch (error) {
        logFailure(error)
        waiting.set(due[0], performance.now() + fanOutPollMs)
      }
    }
  }

  const run = () => {
    if (running || isClosed) return
    running = runDue().finally(() => {
      running = null
      clearTimeout(timer)
      const next = Math.min(...waiting.values())
      if (next < Number.POSITIVE_INFINITY)
        timer = setTimeout(run, Math.min(fanOutPollMs, Math.max(5, next - performance.now()))).unref()
    })
  }

  const add = (account: string) => {
    if (waiting.has(account) || waiting.size >= maxFanOutAccounts) return
    waiting.set(account, 0)
    run()
  }

  // Other processes record events too.
  const ticking = tick(
    fanOutPollMs,
    async () => {
      for (const account of await store.findBacklogged(db, maxFanOutAccounts)) add(account)
    },
    logFailure,
  )

  return {
    notify: add,
    stop: async () => {
      isClosed = true
      clearTimeout(timer)
      await ticking.end()
      await running
    },
  }
}
