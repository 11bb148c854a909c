import { isUnavailable } from '../../../platform/db/sql.ts'
import { tick } from '../../../platform/jobs/tick.ts'
import type { Services } from '../../../services.ts'
import type { AttemptResult, Endpoint } from '../delivery/attempt.ts'
import { maxWaitingStats, statsFlushMs } from '../limits.ts'
import { addDuration, makeHistogram } from './latencies.ts'
import { stepLengths } from './stats-points.ts'
import * as store from './stats-store.ts'

export type StatsRecorder = {
  /** Counts an attempt. Costs no statement. */
  count(endpoint: Pick<Endpoint, 'account' | 'id'>, result: Pick<AttemptResult, 'what' | 'ms'>): void
  /** Writes what is counted. */
  stop(): Promise<void>
}

const merge = (into: store.HourOfWebhook, from: store.HourOfWebhook): void => {
  into.delivered += from.delivered
  into.failed += from.failed
  for (const [i, n] of from.latencies.entries()) into.latencies[i] = (into.latencies[i] ?? 0) + n
}

/**
 * Counts attempts in memory, and adds the counts to the hours of their webhooks every 10 s. A process that crashes
 * loses the counts of its last 10 s: statistics are no ledger.
 */
export const startStatsRecorder = (
  { db, clock, log }: Pick<Services, 'db' | 'clock' | 'log'>,
  flushMs = statsFlushMs,
): StatsRecorder => {
  let hours = new Map<string, store.HourOfWebhook>()

  const flush = async () => {
    if (hours.size === 0) return
    const full = hours
    hours = new Map()
    try {
      await store.add(db, [...full.values()])
    } catch (error) {
      // Counted again with the next ones, while there is room.
      if (isUnavailable(error) && hours.size + full.size <= maxWaitingStats) {
        for (const [key, hour] of full) {
          const newer = hours.get(key)
          if (newer) merge(newer, hour)
          else hours.set(key, hour)
        }
      }
      throw error
    }
  }

  const ticking = tick(flushMs, flush, (error) => {
    if (!isUnavailable(error)) log.error({ err: error }, 'webhooks: storing statistics failed')
  })

  return {
    count: ({ account, id }, { what, ms }) => {
      const hour = Math.floor(clock.now() / stepLengths.hour) * stepLengths.hour
      const key = `${id}${hour}`
      let counted = hours.get(key)
      if (!counted) {
        if (hours.size >= maxWaitingStats) return
        counted = { account, webhook: id, hour, delivered: 0, failed: 0, latencies: makeHistogram() }
        hours.set(key, counted)
      }
      if (what === 'delivered') counted.delivered++
      else counted.failed++
      addDuration(counted.latencies, ms)
    },
    stop: ticking.end,
  }
}
