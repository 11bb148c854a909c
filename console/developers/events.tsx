import { useLocation } from 'preact-iso/router'
import type { ReplyOf, RequestOf } from '../api/client.ts'
import { useList, useQuery } from '../api/query.ts'
import { may } from '../api/session.ts'
import { type Filter, Filters } from '../parts/filters.tsx'
import { Empty } from '../parts/page-states.tsx'
import { Badge } from '../parts/status.tsx'
import { Moment, PhoneNumber } from '../parts/values.tsx'
import { type PageOf, paths } from '../paths.ts'
import { ListTable } from '../shell/list-table.tsx'
import { Page } from '../shell/section-page.tsx'
import { words } from '../words/en/events.ts'
import { phoneNumber } from '../words/format.ts'
import { dayStart, everyEvent } from './endpoint.ts'

type Event = ReplyOf<'GET /open/events'>['events'][number]
type EventName = NonNullable<NonNullable<RequestOf<'GET /open/events'>['query']>['name']>

/** The events of the account, as webhooks receive them. */
export const EventsPage = ({ search }: PageOf<typeof paths.events>) => {
  const { route: go } = useLocation()
  const types = useQuery('GET /open/webhooks/event-types', { enabled: may('develop') })
  const channels = useQuery('GET /open/sms/channels', {})
  const numbers = channels.data?.channels ?? []
  const filters: readonly Filter[] = [
    {
      kind: 'choice',
      name: 'name',
      label: words.log.name,
      options: (types.data?.event_types ?? []).map(({ event_name: value }) => ({ value, text: value })),
    },
    {
      kind: 'choice',
      name: 'channel_uuid',
      label: words.log.of,
      options: numbers.map(({ uuid, phone_number }) => ({ value: uuid, text: phoneNumber(phone_number) })),
    },
    { kind: 'date', name: 'since', label: words.since },
    { kind: 'date', name: 'until', label: words.until },
  ]
  const events = useList('GET /open/events', {
    query: {
      name: search.name as EventName | undefined, // any text of the address: the server checks it
      channel_uuid: search.channel_uuid,
      since: dayStart(search.since),
      until: dayStart(search.until, 1),
    },
    live: everyEvent,
  })
  const isFiltered = filters.some(({ name }) => search[name as keyof typeof search])
  const placeOf = ({ channel_uuid: uuid }: Event) => {
    if (!uuid) return <span class="soft">{words.log.account}</span>
    const found = numbers.find((each) => each.uuid === uuid || each.voip_number_setup_uuid === uuid)
    return found ? <PhoneNumber number={found.phone_number} /> : <code class="break">{uuid}</code>
  }
  return (
    <Page title={words.log.title} lead={words.log.lead}>
      <Filters
        filters={filters}
        values={search}
        onChange={(values) => go(paths.events({}, { ...search, ...values }))}
      />
      <ListTable
        of={events}
        label={words.log.caption}
        rowKey={({ uuid }) => uuid}
        rowHref={({ uuid }) => paths.event({ event: uuid })}
        columns={[
          {
            key: 'name',
            title: words.log.name,
            cell: ({ name, test }) => (
              <span class="row">
                <code class="break">{name}</code>
                {test && <Badge>{words.log.test}</Badge>}
              </span>
            ),
          },
          { key: 'of', title: words.log.of, cell: placeOf },
          { key: 'time', title: words.log.time, cell: ({ at }) => <Moment time={at} show="relative" /> },
        ]}
        empty={
          isFiltered ? (
            <Empty icon="filter" title={words.log.emptyFiltered} />
          ) : (
            <Empty icon="activity" title={words.log.empty}>
              {words.log.emptyHint}
            </Empty>
          )
        }
      />
    </Page>
  )
}
