import { useLocation } from 'preact-iso/router'
import type { ReplyOf } from '../api/client.ts'
import { useList } from '../api/query.ts'
import { ButtonLink } from '../parts/button.tsx'
import { type Filter, Filters } from '../parts/filters.tsx'
import { Empty } from '../parts/page-states.tsx'
import { Status } from '../parts/status.tsx'
import { Copy, Moment } from '../parts/values.tsx'
import { type PageOf, paths } from '../paths.ts'
import { ListTable } from '../shell/list-table.tsx'
import { Page } from '../shell/section-page.tsx'
import { words } from '../words/en/events.ts'
import { duration } from '../words/format.ts'
import { dayStart, numberOf, oneOf } from './endpoint.ts'

type ApiRequest = ReplyOf<'GET /open/requests'>['requests'][number]

const methods = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] as const
const outcomes = ['succeeded', 'refused'] as const

/** Milliseconds between looks while the page is shown: requests are no events. */
const pace = 10_000

const columns = () => [
  {
    key: 'route',
    title: words.requests.route,
    cell: ({ method, route }: ApiRequest) => (
      <code class="break">
        {method} {route}
      </code>
    ),
  },
  {
    key: 'status',
    title: words.requests.status,
    cell: ({ status, error_code: code }: ApiRequest) => (
      <span class="row">
        <Status tone={status < 400 ? 'good' : status < 500 ? 'notice' : 'bad'}>{status}</Status>
        {code && <code class="break">{code}</code>}
      </span>
    ),
  },
  {
    key: 'key',
    title: words.requests.key,
    cell: ({ key_last_four: lastFour }: ApiRequest) =>
      lastFour === '' ? <span class="soft">{words.requests.console}</span> : <code>…{lastFour}</code>,
  },
  { key: 'took', title: words.requests.took, align: 'end' as const, cell: ({ ms }: ApiRequest) => duration(ms) },
  { key: 'time', title: words.requests.time, cell: ({ at }: ApiRequest) => <Moment time={at} /> },
  {
    key: 'id',
    title: words.requests.id,
    cell: ({ request_id: id }: ApiRequest) => (
      <span class="break">
        <Copy value={id} what={words.requests.id} />
      </span>
    ),
  },
]

/** Requests of programs with keys of the account, and of the console. */
export const RequestsPage = ({ search }: PageOf<typeof paths.requests>) => {
  const { route: go } = useLocation()
  const filters: readonly Filter[] = [
    {
      kind: 'choice',
      name: 'outcome',
      label: words.requests.outcome,
      options: outcomes.map((value) => ({ value, text: words.requests.outcomes[value] })),
    },
    {
      kind: 'choice',
      name: 'method',
      label: words.requests.method,
      options: methods.map((value) => ({ value, text: value })),
    },
    { kind: 'text', name: 'route', label: words.requests.route },
    { kind: 'text', name: 'error_code', label: words.requests.error },
    { kind: 'text', name: 'request_id', label: words.requests.id },
    { kind: 'date', name: 'since', label: words.since },
    { kind: 'date', name: 'until', label: words.until },
  ]
  const requests = useList('GET /open/requests', {
    query: {
      method: oneOf(methods, search.method),
      outcome: oneOf(outcomes, search.outcome),
      status: numberOf(search.status),
      route: search.route,
      error_code: search.error_code,
      request_id: search.request_id,
      since: dayStart(search.since),
      until: dayStart(search.until, 1),
    },
    every: pace,
  })
  const isFiltered = filters.some(({ name }) => search[name as keyof typeof search])
  return (
    <Page title={words.requests.title} lead={words.requests.lead}>
      <Filters
        filters={filters}
        values={search}
        onChange={(values) => go(paths.requests({}, { ...search, ...values }))}
      />
      <ListTable
        of={requests}
        label={words.requests.caption}
        columns={columns()}
        rowKey={({ request_id }) => request_id}
        empty={
          isFiltered ? (
            <Empty icon="filter" title={words.requests.emptyFiltered} />
          ) : (
            <Empty
              icon="terminal"
              title={words.requests.empty}
              act={<ButtonLink href={paths.keys({}, { create: '1' })}>{words.overview.makeKey}</ButtonLink>}
            >
              {words.requests.emptyHint}
            </Empty>
          )
        }
      />
    </Page>
  )
}
