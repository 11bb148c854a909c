import { iso } from '../../../platform/lib/clock.ts'
import { makeHistogram, quantile } from './latencies.ts'
import type { StatsRow } from './stats-store.ts'

/** Milliseconds of each step. */
export const stepLengths = { hour: 3_600_000, day: 86_400_000 }

type Sum = { delivered: number; failed: number; latencies: number[] }

/** Adds up hours into the points of a chart, oldest first. */
export const pointsOf = (rows: readonly StatsRow[], step: keyof typeof stepLengths) => {
  const sums = new Map<number, Sum>()
  for (const { hour, delivered, failed, latencies } of rows) {
    const at = Math.floor(hour.getTime() / stepLengths[step]) * stepLengths[step]
    const sum = sums.get(at) ?? { delivered: 0, failed: 0, latencies: makeHistogram() }
    sum.delivered += delivered
    sum.failed += failed
    for (const [i, n] of latencies.entries()) sum.latencies[i] = (sum.latencies[i] ?? 0) + n
    sums.set(at, sum)
  }
  return {
    points: [...sums].map(([at, { delivered, failed, latencies }]): (string | number)[] => [
      iso(at),
      delivered,
      failed,
      quantile(latencies, 0.5),
      quantile(latencies, 0.95),
    ]),
    delivered: rows.reduce((sum, one) => sum + one.delivered, 0),
    failed: rows.reduce((sum, one) => sum + one.failed, 0),
  }
}
