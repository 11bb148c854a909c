import { useLocation } from 'preact-iso/router'
import type { RequestOf } from '../api/client.ts'
import { useList, useQuery } from '../api/query.ts'
import { may } from '../api/session.ts'
import { type Filter, Filters } from '../parts/filters.tsx'
import { Empty } from '../parts/page-states.tsx'
import { Moment, Money, NoValue, PhoneNumber } from '../parts/values.tsx'
import { type PageOf, paths } from '../paths.ts'
import { endOfDay, startOfDay } from '../shell/days.ts'
import { Direction } from '../shell/direction.tsx'
import { ExportButton } from '../shell/export-button.tsx'
import { ListTable } from '../shell/list-table.tsx'
import { Page } from '../shell/section-page.tsx'
import { words } from '../words/en/logs.ts'
import { words as parts } from '../words/en/parts.ts'
import { phoneNumber } from '../words/format.ts'
import { type Message, MessageStatus, sidesOf } from './message-state.tsx'

type Search = PageOf<typeof paths.logs>['search']
type Query = NonNullable<RequestOf<'GET /open/sms/messages'>['query']>

/** A number as people paste it: without spaces, brackets and hyphens. Names of senders stay as they are. */
const contactOf = (text: string | undefined): string | undefined => {
  if (text === undefined) return undefined
  const digits = text.replace(/[\s().-]/g, '')
  return /^\+|^00/.test(digits) ? digits.replace(/^00/, '+') : text.trim()
}

const isPartial = (contact: string | undefined): boolean =>
  contact?.startsWith('+') === true && !/^\+[1-9]\d{6,14}$/.test(contact)

const directions = ['inbound', 'outbound'] as const
const oneOf = <T extends string>(text: string | undefined, values: readonly T[]): T | undefined =>
  values.find((value) => value === text)

// The statuses are the keys of their words.
const statuses = () => Object.keys(words.statuses) as (keyof typeof words.statuses)[]

const queryOf = (search: Search): Query => ({
  channel_uuid: search.channel,
  contact_number: contactOf(search.contact),
  direction: oneOf(search.direction, directions),
  status: oneOf(search.status, statuses()),
  error_code: search.error,
  since: startOfDay(search.since),
  until: endOfDay(search.until),
})

const columns = () => [
  {
    key: 'contact',
    title: words.messages.contact,
    cell: (message: Message) => (
      <span class="log-party">
        {message.direction === 'inbound' ? (
          <Direction icon="arrow-down" name={words.messages.inbound} />
        ) : (
          <Direction icon="arrow-up" name={words.messages.outbound} />
        )}
        <PhoneNumber number={sidesOf(message).contact} />
      </span>
    ),
  },
  {
    key: 'text',
    title: words.messages.text,
    cell: ({ text }: Message) => (
      <span class="log-text" dir="auto">
        {text}
      </span>
    ),
  },
  {
    key: 'own',
    title: words.messages.own,
    cell: (message: Message) => <PhoneNumber number={sidesOf(message).own} />,
  },
  {
    key: 'status',
    title: words.messages.status,
    cell: ({ status, error_code: code }: Message) => (
      <span class="row">
        <MessageStatus status={status} />
        {code && <code class="soft">{code}</code>}
      </span>
    ),
  },
  {
    key: 'price',
    title: words.messages.price,
    align: 'end' as const,
    narrow: true,
    cell: ({ price }: Message) => (price === 0 ? <NoValue /> : <Money amount={String(price)} exact />),
  },
  {
    key: 'time',
    title: words.messages.time,
    align: 'end' as const,
    narrow: true,
    cell: ({ created_at: at }: Message) => <Moment time={at} />,
  },
]

/** Texts of all channels, with filters in the address. */
export const MessagesPage = ({ search }: PageOf<typeof paths.logs>) => {
  const { route: go } = useLocation()
  const query = queryOf(search)
  const isWaiting = isPartial(query.contact_number)
  const messages = useList('GET /open/sms/messages', { query, live: ['sms.message'], enabled: !isWaiting })
  const channels = useQuery('GET /open/sms/channels', { query: {}, enabled: may('read_only') })
  const filters: Filter[] = [
    { kind: 'search', name: 'contact', label: words.messages.contactFilter },
    {
      kind: 'choice',
      name: 'status',
      label: words.messages.status,
      options: statuses().map((value) => ({ value, text: words.statuses[value] })),
    },
    {
      kind: 'choice',
      name: 'direction',
      label: words.messages.direction,
      options: directions.map((value) => ({ value, text: words.messages[value] })),
    },
    ...(may('read_only')
      ? [
          {
            kind: 'choice' as const,
            name: 'channel',
            label: words.messages.channel,
            options: (channels.data?.channels ?? []).map(({ uuid, phone_number: number }) => ({
              value: uuid,
              text: phoneNumber(number),
            })),
          },
        ]
      : []),
    { kind: 'text', name: 'error', label: words.messages.error },
    { kind: 'date', name: 'since', label: parts.filters.since },
    { kind: 'date', name: 'until', label: parts.filters.until },
  ]
  const isFiltered = filters.some(({ name }) => search[name as keyof Search] !== undefined)
  return (
    <Page
      title={words.messages.title}
      lead={words.messages.about}
      actions={<ExportButton route="GET /open/sms/messages" request={{ query }} file="messages.csv" />}
    >
      <Filters filters={filters} values={search} onChange={(values) => go(paths.logs({}, values))} />
      {isWaiting ? (
        <Empty icon="search" title={words.messages.wholeNumber}>
          {words.messages.wholeNumberHint}
        </Empty>
      ) : (
        <ListTable
          of={messages}
          label={words.messages.caption}
          columns={columns()}
          rowKey={({ uuid }) => uuid}
          rowHref={({ uuid }) => paths.message({ message: uuid })}
          empty={
            isFiltered ? (
              <Empty icon="search" title={words.messages.emptyFiltered}>
                {words.messages.emptyFilteredHint}
              </Empty>
            ) : (
              <Empty icon="message-square" title={words.messages.empty}>
                {words.messages.emptyHint}
              </Empty>
            )
          }
        />
      )}
    </Page>
  )
}
