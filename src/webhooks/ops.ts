import type { Sql } from '../db/sql.ts'
import type { Metrics } from '../http/metrics.ts'
import * as lanes from './lanes.ts'
import * as store from './store.ts'

/** For a start that knows that no other process lives (embedded database): what the one before delivered for need not wait
 *  for the end of its leases. @returns how many webhooks */
export const releaseLanes = (sql: Sql): Promise<number> => lanes.releaseAll(sql)

/** All that is pending is counted once for the figures of a scrape, and for those who scrape at the same time. */
const keepMs = 5_000

const counter = (sql: Sql): (() => Promise<store.Totals>) => {
  let counted: Promise<store.Totals> | null = null
  let until = 0
  return () => {
    if (counted && performance.now() < until) return counted
    until = performance.now() + keepMs
    counted = store.totals(sql).catch((error: unknown) => {
      counted = null
      throw error
    })
    return counted
  }
}

/** The figures of webhooks for /metrics: of the whole installation. */
export const installWebhookMetrics = (metrics: Metrics, sql: Sql): void => {
  const totals = counter(sql)
  metrics.gauge(
    'trunkline_webhooks',
    'Webhooks by state: enabled, failing among them, disabled',
    ['state'],
    async () => {
      const { enabled, failing, disabled } = await totals()
      return Object.entries({ enabled, failing, disabled }).map(([state, value]) => ({ labels: { state }, value }))
    },
  )
  metrics.gauge('trunkline_webhook_deliveries_pending', 'Deliveries neither made nor given up', [], async () => [
    { labels: {}, value: (await totals()).pending },
  ])
  metrics.gauge(
    'trunkline_event_backlog',
    'Events whose deliveries are made later, at the pace of their accounts; counted up to 100,000',
    [],
    async () => [{ labels: {}, value: (await totals()).backlog }],
  )
  metrics.gauge('trunkline_webhook_oldest_pending_seconds', 'Age of the oldest of them', [], async () => [
    { labels: {}, value: (await totals()).oldest_seconds },
  ])
}
