import { Chart, type ChartSeries } from '../parts/chart.tsx'
import { paths } from '../paths.ts'
import { dayOf } from '../shell/days.ts'
import { approximate } from '../words/decimal.ts'
import { words } from '../words/en/money.ts'
import { compact, money, number, shortDay } from '../words/format.ts'
import { localDate, periodsBetween } from './periods.ts'
import type { UsageReport } from './usage-table.tsx'

export const shows = ['amount', 'n', 'units'] as const
export type Show = (typeof shows)[number]

/** Colours of a chart: more series cannot be told apart, so the others are added up. */
const most = 5

type Point = UsageReport['series'][number]['points'][number]

const heightOf = (point: Point, show: Show): number =>
  show === 'amount' ? approximate(point[3] ?? '0') : show === 'n' ? point[1] : point[2]

const seriesOf = (report: UsageReport, show: Show, starts: readonly string[], nameOf: (by: string) => string) => {
  const all = report.series.map(({ by, points }) => {
    const values = new Map(points.map((point) => [point[0], heightOf(point, show)]))
    return { name: nameOf(by), values: starts.map((start) => values.get(start) ?? 0) }
  })
  const rest = all.slice(most)
  if (rest.length === 0) return all
  const others: ChartSeries = {
    name: words.usage.other,
    values: starts.map((_, index) => rest.reduce((sum, { values }) => sum + (values[index] ?? 0), 0)),
    tone: 'neutral',
  }
  return [...all.slice(0, most), others]
}

type Props = { readonly report: UsageReport; readonly show: Show; readonly nameOf: (by: string) => string }

/** Usage as stacked bars. A bar leads to the entries of its days in the ledger. */
export const UsageChart = ({ report, show, nameOf }: Props) => {
  const { since, until, step, by, total } = report
  const starts = periodsBetween(since, until, step)
  const times = starts.map(localDate)
  const last = new Date(Date.parse(until) - 1).toISOString()
  const endOf = (time: number): string => {
    const next = times[times.indexOf(time) + 1]
    return next === undefined ? last.slice(0, 10) : dayOf(new Date(next - 43_200_000))
  }
  return (
    <Chart
      title={words.usage.chart(words.usage.shows[show], words.usage.dimensions[by])}
      sentence={words.usage.sentence(
        shortDay(localDate(since)),
        shortDay(localDate(last)),
        words.usage.itemsCount(total.n),
        total.amount === undefined ? '' : money(total.amount, { exact: true }),
      )}
      kind="bars"
      times={times}
      series={seriesOf(report, show, starts, nameOf)}
      formatValue={(value) =>
        show === 'amount' ? money(value.toFixed(6)) : value < 10_000 ? number(value) : compact(value)
      }
      {...(total.amount === undefined
        ? {}
        : { hrefOf: (time: number) => paths.money({}, { since: dayOf(new Date(time)), until: endOf(time) }) })}
    />
  )
}
