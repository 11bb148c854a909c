import { useLocation } from 'preact-iso/router'
import type { RequestOf } from '../api/client.ts'
import { useList } from '../api/query.ts'
import { account, may } from '../api/session.ts'
import { Button } from '../parts/button.tsx'
import { type Filter, Filters } from '../parts/filters.tsx'
import { Icon } from '../parts/icon.tsx'
import { Empty } from '../parts/page-states.tsx'
import { Tabs } from '../parts/tabs.tsx'
import { Moment, Money, NoValue } from '../parts/values.tsx'
import { type PageOf, paths } from '../paths.ts'
import { endOfDay, startOfDay } from '../shell/days.ts'
import { Direction } from '../shell/direction.tsx'
import { ExportButton } from '../shell/export-button.tsx'
import { ListTable } from '../shell/list-table.tsx'
import { callNumber } from '../shell/phone.ts'
import { Page } from '../shell/section-page.tsx'
import { words } from '../words/en/calls.ts'
import { words as parts } from '../words/en/parts.ts'
import { duration, stopwatch } from '../words/format.ts'
import { type Call, CallStatus, partiesOf } from './call-state.tsx'
import { Now, useUserNames } from './now.tsx'
import { isNumber, Other, otherName, Party } from './party.tsx'
import { QualityBadge } from './quality.tsx'

type Search = PageOf<typeof paths.calls>['search']
type Query = NonNullable<RequestOf<'GET /open/voip/call-history'>['query']>

const directions = ['inbound', 'outbound'] as const
const recordings = ['true', 'false'] as const
/** Seconds of the filter by duration. */
const lengths = ['10', '60', '300', '1800']
// The statuses are the keys of their words.
const statuses = () => Object.keys(words.statuses) as (keyof typeof words.statuses)[]

/** A whole number without spaces and hyphens; undefined while somebody types. */
const wholeNumber = (text: string | undefined): string | undefined => {
  const number = text?.replace(/[\s().-]/g, '').replace(/^00/, '+')
  return /^\+[1-9]\d{6,14}$/.test(number ?? '') ? number : undefined
}

const queryOf = (search: Search): Query => ({
  q: search.q,
  status: statuses().find((value) => value === search.status),
  direction: directions.find((value) => value === search.direction),
  number: wholeNumber(search.number),
  user_uuid: search.user,
  recorded: recordings.find((value) => value === search.recorded),
  min_duration: lengths.includes(search.longer ?? '') ? Number(search.longer) : undefined,
  since: startOfDay(search.since),
  until: endOfDay(search.until),
})

const iconOf = ({ direction, status }: Call) =>
  direction === 'O' ? 'phone-outgoing' : status === 'MISSED' ? 'phone-missed' : 'phone-incoming'

const columns = (users: ReadonlyMap<string, string>) => [
  {
    key: 'other',
    title: words.other,
    cell: (call: Call) => (
      <span class="call-party">
        <Direction icon={iconOf(call)} name={call.direction === 'I' ? words.inbound : words.outbound} />
        <Other call={call} />
      </span>
    ),
  },
  { key: 'own', title: words.own, cell: (call: Call) => <Party number={partiesOf(call).own} /> },
  ...(may('inbox')
    ? [
        {
          key: 'user',
          title: words.user,
          cell: ({ agent_id: user }: Call) =>
            users.has(user ?? '') ? <span dir="auto">{users.get(user ?? '')}</span> : <NoValue />,
        },
      ]
    : []),
  { key: 'status', title: words.status, cell: ({ status }: Call) => <CallStatus status={status} /> },
  {
    key: 'sound',
    title: words.sound,
    narrow: true,
    cell: ({ quality, recording_url: recording }: Call) =>
      quality || recording ? (
        <span class="call-sound">
          {quality && <QualityBadge quality={quality} />}
          {recording && <Icon name="mic" label={words.recorded} />}
        </span>
      ) : (
        <NoValue />
      ),
  },
  {
    key: 'duration',
    title: words.duration,
    align: 'end' as const,
    narrow: true,
    cell: ({ duration }: Call) => (duration === 0 ? <NoValue /> : stopwatch(duration)),
  },
  {
    key: 'price',
    title: words.price,
    align: 'end' as const,
    narrow: true,
    cell: ({ call_cost: { call_price: price } }: Call) =>
      price === 0 ? <NoValue /> : <Money amount={String(price)} exact />,
  },
  {
    key: 'time',
    title: words.time,
    align: 'end' as const,
    narrow: true,
    cell: ({ created_at: at }: Call) => <Moment time={at} />,
  },
]

const filtersOf = (users: ReadonlyMap<string, string>): Filter[] => [
  { kind: 'search', name: 'q', label: words.search },
  { kind: 'text', name: 'number', label: words.number },
  {
    kind: 'choice',
    name: 'status',
    label: words.status,
    options: statuses().map((value) => ({ value, text: words.statuses[value] })),
  },
  {
    kind: 'choice',
    name: 'direction',
    label: words.direction,
    options: directions.map((value) => ({ value, text: words[value] })),
  },
  {
    kind: 'choice',
    name: 'recorded',
    label: words.recorded,
    options: [
      { value: 'true', text: words.isRecorded },
      { value: 'false', text: words.notRecorded },
    ],
  },
  {
    kind: 'choice',
    name: 'longer',
    label: words.longer,
    options: lengths.map((value) => ({ value, text: duration(Number(value) * 1_000) })),
  },
  { kind: 'date', name: 'since', label: parts.filters.since },
  { kind: 'date', name: 'until', label: parts.filters.until },
  // Last: its width follows the longest name, which is known later.
  ...(may('inbox')
    ? [
        {
          kind: 'choice' as const,
          name: 'user',
          label: words.user,
          options: [...users].map(([value, text]) => ({ value, text })),
        },
      ]
    : []),
]

const menuOf = (call: Call) => {
  const { other, own } = partiesOf(call)
  const details = { text: words.details, icon: 'info' as const, href: paths.call({ call: call.uuid }) }
  if (!isNumber(other)) return [details]
  const back = {
    text: words.callBack(otherName(call)),
    icon: 'phone' as const,
    onSelect: () => callNumber(other, { from: own }),
  }
  return [back, details]
}

const EmptyCalls = ({ search, isFiltered }: { search: Search; isFiltered: boolean }) => {
  const onlyMissed = search.status === 'MISSED' && Object.values(search).filter(Boolean).length === 1
  if (onlyMissed)
    return (
      <Empty icon="phone-missed" title={words.noMissed}>
        {words.noMissedHint}
      </Empty>
    )
  if (isFiltered)
    return (
      <Empty icon="search" title={words.emptyFiltered}>
        {words.emptyFilteredHint}
      </Empty>
    )
  return (
    <Empty
      icon="phone"
      title={words.empty}
      act={
        <Button kind="primary" icon="phone" onClick={() => callNumber()}>
          {words.call}
        </Button>
      }
    >
      {words.emptyHint}
    </Empty>
  )
}

/** Calls in progress, and every call of the account with filters in the address. */
export const CallsPage = ({ search }: PageOf<typeof paths.calls>) => {
  const { route: go } = useLocation()
  const query = queryOf(search)
  const calls = useList('GET /open/voip/call-history', { query, live: ['call'] })
  const users = useUserNames()
  const filters = filtersOf(users)
  const isFiltered = filters.some(({ name }) => search[name as keyof Search] !== undefined)
  const own = account.value?.user_uuid
  const isOnly = (name: keyof Search, value: string | undefined) =>
    search[name] === value && filters.every((filter) => filter.name === name || !search[filter.name as keyof Search])
  const tabs = [
    { text: words.missed, href: paths.calls({}, { status: 'MISSED' }), current: isOnly('status', 'MISSED') },
    { text: words.all, href: paths.calls(), current: !isFiltered },
    ...(own ? [{ text: words.mine, href: paths.calls({}, { user: own }), current: isOnly('user', own) }] : []),
    {
      text: words.recordedTab,
      href: paths.calls({}, { recorded: 'true' }),
      current: isOnly('recorded', 'true'),
    },
  ]
  return (
    <Page
      title={words.title}
      lead={words.about}
      actions={
        <>
          <ExportButton route="GET /open/voip/call-history" request={{ query }} file="calls.csv" />
          {may('inbox') && (
            <Button kind="primary" icon="phone" onClick={() => callNumber()}>
              {words.call}
            </Button>
          )}
        </>
      }
    >
      <Now />
      <Tabs label={words.shown} tabs={tabs} />
      <Filters filters={filters} values={search} onChange={(values) => go(paths.calls({}, values))} />
      <ListTable
        of={calls}
        label={words.caption}
        columns={columns(users)}
        rowKey={({ uuid }) => uuid}
        rowHref={({ uuid }) => paths.call({ call: uuid })}
        rowName={otherName}
        {...(may('inbox') ? { menu: menuOf } : {})}
        empty={<EmptyCalls search={search} isFiltered={isFiltered} />}
      />
    </Page>
  )
}
