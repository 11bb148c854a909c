import { useLocation } from 'preact-iso/router'
import type { RequestOf } from '../api/client.ts'
import { useQuery } from '../api/query.ts'
import { may } from '../api/session.ts'
import { type Filter, Filters } from '../parts/filters.tsx'
import { Icon } from '../parts/icon.tsx'
import { Figure, Section } from '../parts/page.tsx'
import { Empty, ErrorState, Skeleton } from '../parts/page-states.tsx'
import { Money } from '../parts/values.tsx'
import { type PageOf, paths } from '../paths.ts'
import { ExportButton } from '../shell/export-button.tsx'
import { Page } from '../shell/section-page.tsx'
import { words } from '../words/en/money.ts'
import { words as parts } from '../words/en/parts.ts'
import { country, number, phoneNumber } from '../words/format.ts'
import { type Show, shows, UsageChart } from './usage-chart.tsx'
import { AdjustmentTable, type UsageReport, UsageTable } from './usage-table.tsx'

type Search = PageOf<typeof paths.usage>['search']
type Query = NonNullable<RequestOf<'GET /open/usage'>['query']>

const steps = ['day', 'week', 'month'] as const
const dimensions = ['kind', 'country', 'channel', 'status', 'direction'] as const
const kinds = ['sms', 'sms_in', 'sms_refund', 'call', 'number_purchase', 'number_month'] as const

const oneOf = <T extends string>(text: string | undefined, values: readonly T[]): T | undefined =>
  values.find((value) => value === text)

const isDay = (day: string | undefined): day is string =>
  day !== undefined && /^\d{4}-\d{2}-\d{2}$/.test(day) && !Number.isNaN(Date.parse(day))

const queryOf = (search: Search): Query => ({
  step: oneOf(search.step, steps),
  by: oneOf(search.by, dimensions),
  kind: oneOf(search.kind, kinds),
  // Days of UTC, as the report counts them. The last day is included.
  since: isDay(search.since) ? `${search.since}T00:00:00Z` : undefined,
  until: isDay(search.until) ? `${search.until}T23:59:59Z` : undefined,
})

const filters = (): Filter[] => [
  {
    kind: 'choice',
    name: 'kind',
    label: words.usage.kind,
    options: kinds.map((value) => ({ value, text: words.kinds[value] })),
  },
  { kind: 'date', name: 'since', label: parts.filters.since },
  { kind: 'date', name: 'until', label: parts.filters.until },
]

/** Choices that always have a value: how the report is split, and what the chart shows. */
const Views = ({ search }: { search: Search }) => {
  const { route: go } = useLocation()
  const views = [
    { name: 'step', label: words.usage.step, values: steps, texts: words.usage.steps },
    { name: 'by', label: words.usage.by, values: dimensions, texts: words.usage.dimensions },
    { name: 'show', label: words.usage.show, values: may('money') ? shows : shows.slice(1), texts: words.usage.shows },
  ] as const
  return (
    <div class="row">
      {views.map(({ name, label, values, texts }) => (
        <label key={name} class="filter">
          <span class="filter-name">{label}</span>
          <select
            value={oneOf(search[name], values) ?? values[0] ?? ''}
            onChange={({ currentTarget }) => go(paths.usage({}, { ...search, [name]: currentTarget.value }))}
          >
            {values.map((value) => (
              <option key={value} value={value}>
                {Object.entries(texts).find(([key]) => key === value)?.[1]}
              </option>
            ))}
          </select>
          <Icon name="chevron-down" />
        </label>
      ))}
    </div>
  )
}

/** Numbers of the channels, by the ids that a report uses: the SMS channel, and its number. */
const useChannelNames = (isNeeded: boolean): ReadonlyMap<string, string> => {
  const channels = useQuery('GET /open/sms/channels', { query: {}, enabled: isNeeded })
  return new Map(
    (channels.data?.channels ?? []).flatMap(({ uuid, voip_number_setup_uuid: did, phone_number: shown }) => [
      [uuid, phoneNumber(shown)],
      [did, phoneNumber(shown)],
    ]),
  )
}

/** The name of a series: a kind, a country, the number of a channel, a status or a direction. */
const nameIn =
  (by: UsageReport['by'], channels: ReadonlyMap<string, string>) =>
  (key: string): string => {
    if (key === 'none') return words.usage.noKey
    if (key === 'other') return words.usage.other
    if (by === 'country') return /^[A-Z]{2}$/.test(key) ? country(key) : key
    if (by === 'channel') return channels.get(key) ?? key
    const texts: Readonly<Record<string, string>> =
      by === 'kind' ? words.kinds : by === 'status' ? words.usage.statuses : words.usage.directions
    return texts[key] ?? key
  }

const Report = ({ report, search }: { report: UsageReport; search: Search }) => {
  const channels = useChannelNames(report.by === 'channel')
  const nameOf = nameIn(report.by, channels)
  const hasMoney = report.total.amount !== undefined
  const chosen: Show = oneOf(search.show, shows) ?? (hasMoney ? 'amount' : 'n')
  const adjustments = report.adjustments ?? []
  if (report.series.length === 0 && adjustments.length === 0)
    return (
      <Empty icon="chart-line" title={words.usage.none}>
        {words.usage.noneHint}
      </Empty>
    )
  return (
    <div class="stack stack-wide">
      <div class="money-figures">
        {report.total.amount !== undefined && (
          <Figure
            name={words.usage.cost}
            value={<Money amount={report.total.amount} exact />}
            note={words.usage.totalNote}
          />
        )}
        <Figure name={words.usage.items} value={number(report.total.n)} />
        <Figure name={words.usage.units} value={number(report.total.units)} note={words.usage.unitsNote} />
      </div>
      <Section title={words.usage.overTime}>
        <UsageChart report={report} show={hasMoney || chosen !== 'amount' ? chosen : 'n'} nameOf={nameOf} />
      </Section>
      <Section title={words.usage.tableTitle}>
        <UsageTable report={report} title={words.usage.dimensions[report.by]} nameOf={nameOf} />
      </Section>
      {adjustments.length > 0 && (
        <Section title={words.usage.adjustments} lead={words.usage.adjustmentsHint}>
          <AdjustmentTable rows={adjustments} />
        </Section>
      )}
      {may('money') && (
        <p>
          <a
            href={paths.money(
              {},
              {
                since: report.since.slice(0, 10),
                until: new Date(Date.parse(report.until) - 1).toISOString().slice(0, 10),
              },
            )}
          >
            {words.usage.ledger}
          </a>
        </p>
      )}
    </div>
  )
}

/** Usage by time and one dimension, as a chart and a table. */
export const UsagePage = ({ search }: PageOf<typeof paths.usage>) => {
  const { route: go } = useLocation()
  const query = queryOf(search)
  const usage = useQuery('GET /open/usage', { query, live: ['balance', 'sms.message', 'call'] })
  return (
    <Page
      title={words.usage.title}
      lead={words.usage.about}
      actions={<ExportButton route="GET /open/usage" request={{ query }} file="usage.csv" />}
    >
      <Views search={search} />
      <Filters
        filters={filters()}
        values={search}
        onChange={(values) => go(paths.usage({}, { ...search, ...values }))}
      />
      {usage.data ? (
        <Report report={usage.data} search={search} />
      ) : usage.error ? (
        <ErrorState refusal={usage.error} onRetry={usage.refresh} />
      ) : (
        <Skeleton rows={8} shape="card" />
      )}
    </Page>
  )
}
