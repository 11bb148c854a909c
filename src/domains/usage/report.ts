import type { Tx } from '../../platform/db/sql.ts'
import { decimal, type Micros, micros } from '../../platform/lib/money.ts'
import type { UsagePoint } from './contract.ts'
import { makeDaySums } from './day-sums.ts'
import type { UsageDimension, UsageKind, UsageStep } from './dimensions.ts'
import { foldBatchSize, maxPendingTransfers, maxSeries } from './limits.ts'
import { refusals } from './refusals.ts'
import * as store from './store.ts'
import { dayOf, oneDay } from './utc-day.ts'

export type ReportRequest = {
  readonly by: UsageDimension
  readonly step: UsageStep
  readonly kind: UsageKind | null
  readonly days: store.Days
}

type Sum = { n: number; units: number; amount: Micros }
type Points = Map<string, Sum>

/** Returns the first day of the period of a day: its Monday, or the first of its month. */
const periodOf = (step: UsageStep, day: string): string => {
  if (step === 'month') return `${day.slice(0, 7)}-01`
  if (step === 'day') return day
  const time = Date.parse(day)
  return dayOf(time - ((new Date(time).getUTCDay() + 6) % 7) * oneDay)
}

const addTo = (points: Points, period: string, { n, units, amount }: Sum): void => {
  const known = points.get(period)
  if (!known) {
    points.set(period, { n, units, amount })
    return
  }
  known.n += n
  known.units += units
  known.amount += amount
}

/** Counts the transfers that the worker has not counted yet. @throws the 503 Problem if there are too many */
const sumPending = async (tx: Tx, account: string): Promise<store.DaySum[]> => {
  if ((await store.countPending(tx, account, maxPendingTransfers + 1)) > maxPendingTransfers)
    throw refusals.usageBehind()
  const days = makeDaySums()
  let after: string | null = null
  for (;;) {
    const keys: store.TransferKey[] = await store.pendingOf(tx, account, after, foldBatchSize)
    await days.add(await store.sourcesOf(tx, keys))
    after = keys.at(-1)?.id ?? null
    if (keys.length < foldBatchSize) return days.sums()
  }
}

/** Adds up sums that are not counted as items: their n and units are dropped. */
const sumOf = ({ kind, n, units, amount }: Pick<store.DaySum, 'kind' | 'n' | 'units' | 'amount'>, by: string): Sum => ({
  ...(kind === 'sms_refund' && !store.hasRefunds(by) ? { n: 0, units: 0 } : { n, units }),
  amount: micros(amount) ?? 0,
})

/**
 * Reads a report in one state of the database. It contains every transfer that is committed.
 * @param tx its first statement is made here
 */
export const readReport = async (tx: Tx, account: string, { by, step, kind, days }: ReportRequest) => {
  const pending = (await sumPending(tx, account)).filter(({ day }) => day >= days.from && day < days.to)
  const series = new Map<string, Points>()
  for (const row of await store.periods(tx, account, { by, step, kind, days }, maxSeries)) {
    const points = series.get(row.value) ?? new Map()
    series.set(row.value, points)
    addTo(points, row.period, { n: row.n, units: row.units, amount: micros(row.amount) ?? 0 })
  }
  for (const row of pending.filter((one) => one.by === by && (kind === null || one.kind === kind))) {
    const value = series.has(row.value) || series.size < maxSeries ? row.value : 'other'
    const points = series.get(value) ?? new Map()
    series.set(value, points)
    addTo(points, periodOf(step, row.day), sumOf(row, by))
  }
  const adjustments: Points = new Map()
  for (const row of [
    ...(await store.adjustments(tx, account, days)),
    ...pending.filter((one) => one.by === 'adjustment'),
  ])
    addTo(adjustments, row.kind, sumOf(row, 'adjustment'))
  return { series, adjustments }
}

const costOf = (points: Points): Micros => points.values().reduce((sum, { amount }) => sum + amount, 0)

/** Maps a report to the reply. @param hasMoney includes amounts */
export const presentReport = (
  { series, adjustments }: Awaited<ReturnType<typeof readReport>>,
  by: UsageDimension,
  hasMoney: boolean,
) => {
  const ordered = [...series].sort(([a, x], [b, y]) =>
    a === 'other' ? 1 : b === 'other' ? -1 : costOf(y) - costOf(x) || (a < b ? -1 : 1),
  )
  const total: Sum = { n: 0, units: 0, amount: 0 }
  for (const [value, points] of ordered)
    for (const { n, units, amount } of points.values()) {
      const isRefund = (by === 'kind' && value === 'sms_refund') || (by === 'status' && value === 'refunded')
      total.n += isRefund ? 0 : n
      total.units += isRefund ? 0 : units
      total.amount += amount
    }
  return {
    series: ordered.map(([value, points]) => ({
      by: value,
      points: [...points]
        .sort(([a], [b]) => (a < b ? -1 : 1))
        .map(([period, { n, units, amount }]): UsagePoint => {
          const time = `${period}T00:00:00Z`
          return hasMoney ? [time, n, units, decimal(amount)] : [time, n, units]
        }),
    })),
    total: { n: total.n, units: total.units, ...(hasMoney ? { amount: decimal(total.amount) } : {}) },
    ...(hasMoney
      ? {
          adjustments: [...adjustments].map(([kind, { n, amount }]) => ({
            // Kinds of adjustments are the ones of the contract.
            kind: kind as 'credit' | 'debit' | 'correction' | 'write_off',
            n,
            amount: decimal(amount),
          })),
        }
      : {}),
  }
}
