import type { Logger } from 'pino'
import type { Metrics } from '../../../platform/http/metrics.ts'
import type { SmsCarrier, SubmitResult } from '../../../ports/sms.ts'
import { lastErrorTtlMs, refusalLogIntervalMs } from '../limits.ts'

type WrapCarrier = (name: string, carrier: SmsCarrier) => SmsCarrier

/**
 * Makes a monitor that reports refusals of carriers in metrics, in the log and in the state of the connection.
 * @param isKnown whether the standard names a status; all other statuses share one label
 */
export const makeSubmitMonitor = (metrics: Metrics, log: Logger, isKnown: (status: number) => boolean): WrapCarrier => {
  const labelOf = (result: SubmitResult): string => {
    if (result.outcome === 'accepted') return 'ESME_ROK'
    if (result.outcome === 'unknown') return 'unanswered'
    return isKnown(result.status) ? result.reason : 'other'
  }
  const submits = metrics.counter('trunkline_smpp_submits_total', 'Submits by the status of their answer', [
    'connection',
    'status',
  ])
  const answered = metrics.histogram(
    'trunkline_smpp_submit_duration_seconds',
    'Time from a submit to its answer',
    ['connection'],
    [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
  )
  return (connection, carrier) => {
    let last: { at: number; reason: string } | null = null
    /** Log lines by status; bounded by the statuses of the standard. */
    const lines = new Map<string, { until: number; count: number }>()

    const note = (status: string) => {
      const now = performance.now()
      last = { at: now, reason: `submit refused: ${status}` }
      const line = lines.get(status)
      if (line && line.until > now) {
        line.count++
        return
      }
      log.warn({ connection, status, since_last_line: line?.count ?? 0 }, 'smpp: submit refused')
      lines.set(status, { until: now + refusalLogIntervalMs, count: 0 })
    }

    return {
      freeWindow: () => carrier.freeWindow(),
      isBound: () => carrier.isBound(),
      close: () => carrier.close(),
      state: () => {
        const state = carrier.state()
        const isRecent = last !== null && performance.now() - last.at < lastErrorTtlMs
        return isRecent && state.lastError === null ? { ...state, lastError: last?.reason ?? null } : state
      },
      submit: async (part) => {
        const begun = performance.now()
        const result = await carrier.submit(part)
        // Nothing was sent: no submit to count.
        if (result.outcome === 'retry' && result.status === 0) return result
        const status = labelOf(result)
        submits({ connection, status })
        answered({ connection }, (performance.now() - begun) / 1_000)
        if (result.outcome !== 'accepted') note(status)
        return result
      },
    }
  }
}
