import { isUnavailable } from '../db/sql.ts'
import { announce } from '../events/ops.ts'
import { tick } from '../jobs/tick.ts'
import type { Parts } from '../parts.ts'
import * as store from './backlog.ts'

/** Deliveries made by one statement: some 20 ms, so that the accounts behind wait no longer for their turn. */
const most = 1_000
/** Seconds of the pace that an account which was quiet may take at once. */
const burstSeconds = 10
const lookEvery = 500
/** Accounts that this process knows to be waiting; the others are found as these finish. */
const mostAccounts = 1_000

type Given = Pick<Parts, 'db' | 'log' | 'quotas'>

export type FanOut = {
  /** The account has events that wait. */
  hint(account: string): void
  /** Begins nothing more and waits for what is under way. */
  stop(): Promise<void>
}

/**
 * Makes deliveries of the events in the backlog: those for many webhooks, and those of imports. Each account has its pace (the
 * quota `fanouts`), and accounts take turns, so one account's flood delays only its own events.
 */
export const startFanOut = ({ db, log, quotas }: Given): FanOut => {
  /** By account: when it may go on, by the monotonic clock. */
  const waiting = new Map<string, number>()
  let running: Promise<void> | null = null
  let timer: NodeJS.Timeout | undefined
  let isAway = false
  let isClosed = false

  const failed = (error: unknown) => {
    if (!isAway || !isUnavailable(error)) log.error({ err: error }, 'webhooks: making deliveries of events failed')
    isAway = isUnavailable(error)
  }

  const step = async (account: string) => {
    const holder = await quotas.holder(db, account)
    if (!holder) return void waiting.delete(account)
    const rate = quotas.of(holder, 'fanouts')
    const { webhooks, wait } = await store.fanOut(db, account, { rate, burst: rate * burstSeconds, most })
    isAway = false
    // Behind the others.
    waiting.delete(account)
    if (wait !== null) waiting.set(account, performance.now() + wait * 1000)
    if (webhooks.length > 0)
      announce(
        webhooks.map((webhook) => ({ account, webhook })),
        [],
      )
  }

  const turn = async () => {
    for (;;) {
      const now = performance.now()
      const due = waiting.entries().find(([, at]) => at <= now)
      if (!due || isClosed) return
      try {
        await step(due[0])
      } catch (error) {
        failed(error)
        waiting.set(due[0], performance.now() + lookEvery)
      }
    }
  }

  const go = () => {
    if (running || isClosed) return
    running = turn().finally(() => {
      running = null
      clearTimeout(timer)
      const next = Math.min(...waiting.values())
      if (next < Number.POSITIVE_INFINITY)
        timer = setTimeout(go, Math.min(lookEvery, Math.max(5, next - performance.now()))).unref()
    })
  }

  const add = (account: string) => {
    if (waiting.has(account) || waiting.size >= mostAccounts) return
    waiting.set(account, 0)
    go()
  }

  // Other processes record events too.
  const ticking = tick(
    lookEvery,
    async () => {
      for (const account of await store.behind(db, mostAccounts)) add(account)
    },
    failed,
  )

  return {
    hint: add,
    stop: async () => {
      isClosed = true
      clearTimeout(timer)
      await ticking.end()
      await running
    },
  }
}
