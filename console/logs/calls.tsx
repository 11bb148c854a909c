import { useLocation } from 'preact-iso/router'
import type { RequestOf } from '../api/client.ts'
import { useList } from '../api/query.ts'
import { ButtonLink } from '../parts/button.tsx'
import { type Filter, Filters } from '../parts/filters.tsx'
import { Empty } from '../parts/states.tsx'
import { Moment, Money, NoValue, PhoneNumber } from '../parts/values.tsx'
import { type PageOf, paths } from '../paths.ts'
import { endOfDay, startOfDay } from '../shell/days.ts'
import { ExportButton } from '../shell/export-button.tsx'
import { ListTable } from '../shell/list-table.tsx'
import { Page } from '../shell/page.tsx'
import { words } from '../words/en/logs.ts'
import { words as parts } from '../words/en/parts.ts'
import { stopwatch } from '../words/format.ts'
import { type Call, CallStatus, Direction, partiesOf } from './states.tsx'

type Search = PageOf<typeof paths.logCalls>['search']
type Query = NonNullable<RequestOf<'GET /open/voip/call-history'>['query']>

const directions = ['inbound', 'outbound'] as const
// The statuses are the keys of their words.
const statuses = () => Object.keys(words.callStatuses) as (keyof typeof words.callStatuses)[]

/** A whole number without spaces and hyphens; undefined while somebody types. */
const wholeNumber = (text: string | undefined): string | undefined => {
  const number = text?.replace(/[\s().-]/g, '').replace(/^00/, '+')
  return /^\+[1-9]\d{6,14}$/.test(number ?? '') ? number : undefined
}

const queryOf = (search: Search): Query => {
  const direction = directions.find((value) => value === search.direction)
  return {
    direction,
    from_number: wholeNumber(search.from),
    to_number: wholeNumber(search.to),
    status: statuses().find((value) => value === search.status),
    since: startOfDay(search.since),
    until: endOfDay(search.until),
  }
}

const Party = ({ number }: { number: string }) =>
  number === '' ? <span class="soft">{words.calls.unknown}</span> : <PhoneNumber number={number} />

const columns = () => [
  {
    key: 'other',
    title: words.calls.other,
    cell: (call: Call) => (
      <span class="log-party">
        {call.direction === 'I' ? (
          <Direction icon={call.status === 'MISSED' ? 'phone-missed' : 'phone-incoming'} name={words.calls.inbound} />
        ) : (
          <Direction icon="phone-outgoing" name={words.calls.outbound} />
        )}
        <Party number={partiesOf(call).other} />
      </span>
    ),
  },
  { key: 'own', title: words.calls.own, cell: (call: Call) => <Party number={partiesOf(call).own} /> },
  { key: 'status', title: words.calls.status, cell: ({ status }: Call) => <CallStatus status={status} /> },
  {
    key: 'duration',
    title: words.calls.duration,
    align: 'end' as const,
    narrow: true,
    cell: ({ duration }: Call) => (duration === 0 ? <NoValue /> : stopwatch(duration)),
  },
  {
    key: 'price',
    title: words.calls.price,
    align: 'end' as const,
    narrow: true,
    cell: ({ call_cost: { call_price: price } }: Call) =>
      price === 0 ? <NoValue /> : <Money amount={String(price)} exact />,
  },
  {
    key: 'time',
    title: words.calls.time,
    align: 'end' as const,
    narrow: true,
    cell: ({ created_at: at }: Call) => <Moment time={at} />,
  },
]

/** Calls of the account, with filters in the address. */
export const CallsPage = ({ search }: PageOf<typeof paths.logCalls>) => {
  const { route: go } = useLocation()
  const query = queryOf(search)
  const calls = useList('GET /open/voip/call-history', { query, live: ['call'] })
  const filters: Filter[] = [
    { kind: 'search', name: 'from', label: words.calls.callerFilter },
    { kind: 'text', name: 'to', label: words.calls.calledFilter },
    {
      kind: 'choice',
      name: 'status',
      label: words.calls.status,
      options: statuses().map((value) => ({ value, text: words.callStatuses[value] })),
    },
    {
      kind: 'choice',
      name: 'direction',
      label: words.calls.direction,
      options: directions.map((value) => ({ value, text: words.calls[value] })),
    },
    { kind: 'date', name: 'since', label: parts.filters.since },
    { kind: 'date', name: 'until', label: parts.filters.until },
  ]
  const isFiltered = filters.some(({ name }) => search[name as keyof Search] !== undefined)
  return (
    <Page
      title={words.calls.title}
      lead={words.calls.about}
      actions={<ExportButton route="GET /open/voip/call-history" request={{ query }} file="calls.csv" />}
    >
      <Filters filters={filters} values={search} onChange={(values) => go(paths.logCalls({}, values))} />
      <ListTable
        of={calls}
        label={words.calls.caption}
        columns={columns()}
        rowKey={({ uuid }) => uuid}
        rowHref={({ uuid }) => paths.call({ call: uuid })}
        empty={
          isFiltered ? (
            <Empty icon="search" title={words.calls.emptyFiltered}>
              {words.messages.emptyFilteredHint}
            </Empty>
          ) : (
            <Empty
              icon="phone"
              title={words.calls.empty}
              act={
                <ButtonLink kind="primary" icon="phone" href="/console/phone">
                  {words.calls.phone}
                </ButtonLink>
              }
            >
              {words.calls.emptyHint}
            </Empty>
          )
        }
      />
    </Page>
  )
}
