import type { ReplyOf } from '../api/client.ts'
import { Table } from '../parts/table.tsx'
import { Money, NoValue } from '../parts/values.tsx'
import { add, approximate } from '../words/decimal.ts'
import { words } from '../words/en/money.ts'
import { number, percent } from '../words/format.ts'

export type UsageReport = ReplyOf<'GET /open/usage'>

/** One line of the report: what a series adds up to. */
type Line = {
  readonly key: string
  readonly name: string
  readonly n: number
  readonly units: number
  readonly amount: string | undefined
  readonly share: number | undefined
}

/** Sums of the series. Amounts are added as decimals: the total is that of the ledger. */
export const linesOf = (report: UsageReport, nameOf: (by: string) => string): readonly Line[] => {
  const total = approximate(report.total.amount ?? '0')
  const lines = report.series.map(({ by, points }) => {
    const amount = report.total.amount === undefined ? undefined : add('0', ...points.map((point) => point[3] ?? '0'))
    return {
      key: by,
      name: nameOf(by),
      n: points.reduce((sum, point) => sum + point[1], 0),
      units: points.reduce((sum, point) => sum + point[2], 0),
      amount,
      share: amount === undefined || total <= 0 ? undefined : approximate(amount) / total,
    }
  })
  const { n, units, amount } = report.total
  return [...lines, { key: '', name: words.usage.total, n, units, amount, share: undefined }]
}

const columns = (title: string, hasMoney: boolean) => [
  {
    key: 'name',
    title,
    cell: ({ key, name }: Line) => (key === '' ? <strong>{name}</strong> : <span dir="auto">{name}</span>),
  },
  { key: 'n', title: words.usage.items, align: 'end' as const, cell: ({ n }: Line) => number(n) },
  { key: 'units', title: words.usage.units, align: 'end' as const, cell: ({ units }: Line) => number(units) },
  ...(hasMoney
    ? [
        {
          key: 'share',
          title: words.usage.share,
          align: 'end' as const,
          cell: ({ share }: Line) => (share === undefined ? <NoValue /> : percent(share)),
        },
        {
          key: 'amount',
          title: words.usage.cost,
          align: 'end' as const,
          cell: ({ key, amount }: Line) => {
            const shown = amount === undefined ? <NoValue /> : <Money amount={amount} exact />
            return key === '' ? <strong>{shown}</strong> : shown
          },
        },
      ]
    : []),
]

type Props = { readonly report: UsageReport; readonly title: string; readonly nameOf: (by: string) => string }

export const UsageTable = ({ report, title, nameOf }: Props) => (
  <Table
    label={words.usage.table}
    rows={linesOf(report, nameOf)}
    columns={columns(title, report.total.amount !== undefined)}
    rowKey={({ key }) => key}
    empty={null}
  />
)

type Adjustment = NonNullable<UsageReport['adjustments']>[number]

/** Entries of the ledger in the same days that are not usage. */
export const AdjustmentTable = ({ rows }: { rows: readonly Adjustment[] }) => (
  <Table
    label={words.usage.adjustments}
    rows={rows}
    columns={[
      { key: 'kind', title: words.usage.adjustment, cell: ({ kind }: Adjustment) => words.kinds[kind] },
      { key: 'n', title: words.usage.count, align: 'end', cell: ({ n }: Adjustment) => number(n) },
      {
        key: 'amount',
        title: words.usage.amount,
        align: 'end',
        cell: ({ amount }: Adjustment) => <Money amount={amount} exact signed />,
      },
    ]}
    rowKey={({ kind }) => kind}
    empty={null}
  />
)
