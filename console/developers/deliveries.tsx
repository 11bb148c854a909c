import { useLocation } from 'preact-iso/router'
import { useAct, useList } from '../api/query.ts'
import { Button } from '../parts/button.tsx'
import { type Filter, Filters } from '../parts/filters.tsx'
import { Empty } from '../parts/page-states.tsx'
import { Status } from '../parts/status.tsx'
import { showToast } from '../parts/toast.tsx'
import { Moment, NoValue } from '../parts/values.tsx'
import { type PageOf, paths } from '../paths.ts'
import { ListTable } from '../shell/list-table.tsx'
import { words as parts } from '../words/en/parts.ts'
import { words } from '../words/en/webhook-portal.ts'
import { duration } from '../words/format.ts'
import { type Delivery, dayStart, deliveryTones, type Endpoint, numberOf, oneOf } from './endpoint.ts'

const states = ['pending', 'delivered', 'failed'] as const
const slow = ['500', '1000', '5000', '10000']
const answers = ['200', '400', '401', '403', '404', '410', '429', '500', '502', '503', '504']

const lastAttempt = ({ attempts }: Delivery) => attempts.at(-1)

const columns = () => [
  {
    key: 'event',
    title: words.deliveries.event,
    cell: ({ event_name }: Delivery) => <code class="break">{event_name}</code>,
  },
  {
    key: 'state',
    title: words.deliveries.state,
    narrow: true,
    cell: ({ state }: Delivery) => <Status tone={deliveryTones[state]}>{words.deliveries.states[state]}</Status>,
  },
  {
    key: 'answer',
    title: words.deliveries.answer,
    cell: (delivery: Delivery) => {
      const last = lastAttempt(delivery)
      return last ? <code>{last.response_status ?? words.endpoint.noAnswer}</code> : <NoValue />
    },
  },
  {
    key: 'tries',
    title: words.deliveries.tries,
    align: 'end' as const,
    cell: ({ attempts }: Delivery) => attempts.length,
  },
  {
    key: 'took',
    title: words.deliveries.took,
    align: 'end' as const,
    cell: (delivery: Delivery) => {
      const last = lastAttempt(delivery)
      return last ? duration(last.latency_ms) : <NoValue />
    },
  },
  {
    key: 'time',
    title: words.deliveries.time,
    cell: ({ created_at }: Delivery) => <Moment time={created_at} show="relative" />,
  },
]

type DeliveriesProps = { readonly endpoint: Endpoint; readonly search: PageOf<typeof paths.webhook>['search'] }

/** Deliveries of all webhooks of the endpoint, with filters. */
export const Deliveries = ({ endpoint, search }: DeliveriesProps) => {
  const { route: go } = useLocation()
  const { endpoint_uuid: webhook, webhooks } = endpoint
  const names = [...new Set(webhooks.map(({ event_name }) => event_name))]
  const filters: readonly Filter[] = [
    {
      kind: 'choice',
      name: 'state',
      label: words.deliveries.state,
      options: states.map((value) => ({ value, text: words.deliveries.states[value] })),
    },
    {
      kind: 'choice',
      name: 'event_name',
      label: words.deliveries.event,
      options: names.map((value) => ({ value, text: value })),
    },
    {
      kind: 'choice',
      name: 'status_code',
      label: words.deliveries.status,
      options: answers.map((value) => ({ value, text: value })),
    },
    {
      kind: 'choice',
      name: 'min_latency_ms',
      label: words.deliveries.slow,
      options: slow.map((value) => ({ value, text: duration(Number(value)) })),
    },
    { kind: 'date', name: 'since', label: parts.filters.since },
    { kind: 'date', name: 'until', label: parts.filters.until },
  ]
  const list = useList('GET /open/webhooks/:webhook_uuid/deliveries', {
    params: { webhook_uuid: webhooks[0]?.uuid ?? '' },
    query: {
      endpoint: 'true',
      state: oneOf(states, search.state),
      event_name: oneOf(names, search.event_name),
      status_code: numberOf(search.status_code),
      min_latency_ms: numberOf(search.min_latency_ms),
      since: dayStart(search.since),
      until: dayStart(search.until, 1),
    },
    live: ['webhook.delivery'],
  })
  const redeliver = useAct('POST /open/webhooks/deliveries/:delivery_id/redeliver', {
    stale: ['GET /open/webhooks/:webhook_uuid/deliveries'],
    after: () => showToast(words.deliveries.redelivered),
    onError: ({ message }) => showToast(message, 'bad'),
  })
  const isFiltered = filters.some(({ name }) => search[name as keyof typeof search])
  const isOff = endpoint.state === 'paused' || endpoint.state === 'disabled'
  return (
    <div class="stack">
      <Filters
        filters={filters}
        values={search}
        onChange={(values) => go(paths.webhook({ webhook }, { ...search, ...values }))}
      />
      <ListTable
        of={list}
        label={words.deliveries.caption}
        columns={columns()}
        rowKey={({ id }) => id}
        rowName={({ event_name }) => event_name}
        rowHref={({ id }) => paths.delivery({ webhook, delivery: id })}
        menu={({ id }) => [
          {
            text: words.deliveries.redeliver,
            icon: 'refresh-cw',
            reason: isOff ? words.deliveries.off : undefined,
            onSelect: () => void redeliver({ params: { delivery_id: id } }),
          },
        ]}
        empty={
          isFiltered ? (
            <Empty icon="filter" title={words.deliveries.emptyFiltered} />
          ) : (
            <Empty
              icon="send"
              title={words.deliveries.empty}
              act={
                <Button
                  icon="send"
                  reason={isOff ? words.deliveries.off : undefined}
                  onClick={() => go(paths.webhook({ webhook }, { act: 'test' }))}
                >
                  {words.endpoint.test}
                </Button>
              }
            >
              {words.deliveries.emptyHint}
            </Empty>
          )
        }
      />
    </div>
  )
}
