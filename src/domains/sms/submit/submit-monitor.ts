import type { Logger } from 'pino'
import type { Metrics } from '../../../platform/http/metrics.ts'
import type { QueriedPart, QueryResult, SmsCarrier, SmsDriver, SubmitResult } from '../../../ports/sms.ts'
import { metricName, smsDrivers } from '../drivers.ts'
import { lastErrorTtlMs, refusalLogIntervalMs } from '../limits.ts'

/** A connection whose submits are watched. */
type WatchedConnection = {
  readonly kind: string
  readonly name: string
  readonly driver: Pick<SmsDriver<unknown>, 'acceptedStatus' | 'isKnownReason'>
}

type WrapCarrier = (connection: WatchedConnection, carrier: SmsCarrier) => SmsCarrier

const makeSubmitMetrics = (metrics: Metrics, kind: string) => ({
  submits: metrics.counter(metricName(kind, 'submits_total'), 'Submits by the status of their answer', [
    'connection',
    'status',
  ]),
  answered: metrics.histogram(
    metricName(kind, 'submit_duration_seconds'),
    'Time from a submit to its answer',
    ['connection'],
    [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
  ),
})

/** Makes a monitor that reports refusals of carriers in metrics, in the log and in the state of the connection. */
export const makeSubmitMonitor = (metrics: Metrics, log: Logger): WrapCarrier => {
  const countQuery = metrics.counter(
    'trunkline_sms_receipt_queries_total',
    'Questions to carriers for parts without a final receipt, by the state that they answered',
    ['connection', 'outcome'],
  )
  const byKind = new Map([...smsDrivers.keys()].map((kind) => [kind, makeSubmitMetrics(metrics, kind)]))
  return ({ kind, name: connection, driver }, carrier) => {
    const counted = byKind.get(kind)
    let last: { at: number; reason: string } | null = null
    /** Log lines by status; bounded by the known reasons of the driver. */
    const lines = new Map<string, { until: number; count: number }>()

    /** All reasons that the driver does not know share one label. */
    const statusOf = (result: SubmitResult): string => {
      if (result.outcome === 'accepted') return driver.acceptedStatus
      return result.outcome === 'unknown' || driver.isKnownReason(result.reason) ? result.reason : 'other'
    }

    const note = (status: string) => {
      const now = performance.now()
      last = { at: now, reason: `submit refused: ${status}` }
      const line = lines.get(status)
      if (line && line.until > now) {
        line.count++
        return
      }
      log.warn({ connection, status, since_last_line: line?.count ?? 0 }, `${kind}: submit refused`)
      lines.set(status, { until: now + refusalLogIntervalMs, count: 0 })
    }

    const ask = carrier.query?.bind(carrier)
    const test = carrier.test?.bind(carrier)
    const query = async (part: QueriedPart): Promise<QueryResult> => {
      const result = (await ask?.(part)) ?? { outcome: 'retry' as const }
      if (result.outcome !== 'retry')
        countQuery({ connection, outcome: result.outcome === 'state' ? result.state : 'refused' })
      return result
    }
    return {
      freeWindow: () => carrier.freeWindow(),
      isUp: () => carrier.isUp(),
      close: () => carrier.close(),
      ...(ask ? { query } : {}),
      ...(test ? { test } : {}),
      state: () => {
        const state = carrier.state()
        const isRecent = last !== null && performance.now() - last.at < lastErrorTtlMs
        return isRecent && state.lastError === null ? { ...state, lastError: last?.reason ?? null } : state
      },
      submit: async (part) => {
        const begun = performance.now()
        const result = await carrier.submit(part)
        // Nothing was sent: no submit to count.
        if (result.outcome === 'retry' && !result.wasSent) return result
        const status = statusOf(result)
        counted?.submits({ connection, status })
        counted?.answered({ connection }, (performance.now() - begun) / 1_000)
        if (result.outcome !== 'accepted') note(status)
        return result
      },
    }
  }
}
