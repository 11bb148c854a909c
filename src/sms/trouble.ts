import type { Logger } from 'pino'
import type { SmsCarrier, SubmitResult } from '../connectors/port.ts'
import type { Metrics } from '../http/metrics.ts'

/** One line in the log for all refusals of one status in this time, milliseconds. */
const lineEvery = 10_000
/** How long a refusal stays the last error of a connection that is bound, milliseconds. */
const shownFor = 60_000

type Wrap = (name: string, carrier: SmsCarrier) => SmsCarrier

/**
 * Makes what carriers refuse visible: in metrics, in the log and in the state of the connection.
 * @param isKnown true for a status that the standard names: all others are one label
 */
export const makeTroubleWatch = (metrics: Metrics, log: Logger, isKnown: (status: number) => boolean): Wrap => {
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
    /** By status; as many as the standard has at most. */
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
      lines.set(status, { until: now + lineEvery, count: 0 })
    }

    return {
      room: () => carrier.room(),
      close: () => carrier.close(),
      state: () => {
        const state = carrier.state()
        const isRecent = last !== null && performance.now() - last.at < shownFor
        return isRecent && state.lastError === null ? { ...state, lastError: last?.reason ?? null } : state
      },
      submit: async (part) => {
        const begun = performance.now()
        const result = await carrier.submit(part)
        // Nothing was sent.
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
