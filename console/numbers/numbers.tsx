import { useLocation } from 'preact-iso/router'
import { useList } from '../api/query.ts'
import { may } from '../api/session.ts'
import { ButtonLink } from '../parts/button.tsx'
import { Filters } from '../parts/filters.tsx'
import { Empty } from '../parts/page-states.tsx'
import { Flag, Moment, Money, NoValue } from '../parts/values.tsx'
import { type PageOf, paths } from '../paths.ts'
import { ExportButton } from '../shell/export-button.tsx'
import { ListTable } from '../shell/list-table.tsx'
import { Page } from '../shell/section-page.tsx'
import { type Person, useUsers } from '../shell/users.ts'
import { words } from '../words/en/numbers.ts'
import * as format from '../words/format.ts'
import { NumberStatus, numberEvents, type Texts, useTexts, type VirtualNumber } from './number-state.tsx'
import { useApplications, voiceText } from './voice.tsx'

const statuses = ['ACTIVE', 'AWAITING_REGISTRATION', 'PENDING_ACTIVATION', 'SUSPENDED'] as const
const isStatus = (text: string | undefined): text is (typeof statuses)[number] => statuses.some((one) => one === text)

const featuresOf = (texts: Texts | undefined): string => {
  if (!texts || (!texts.in && !texts.out)) return words.able.voice
  const names = [
    words.able.voice,
    texts.in && texts.out ? words.able.sms : texts.in ? words.able.sms_in : words.able.sms_out,
  ]
  return names.join(', ')
}

const columnsOf = (
  users: readonly Person[] | undefined,
  applications: ReturnType<typeof useApplications>,
  texts: ReadonlyMap<string, Texts>,
) => [
  {
    key: 'number',
    title: words.number,
    cell: ({ friendly_name, formatted_phone_number, iso_country_code }: VirtualNumber) => (
      <span class="row">
        <Flag country={iso_country_code} />
        <bdi dir="ltr" class="tabular nowrap">
          {formatted_phone_number}
        </bdi>
        {friendly_name !== formatted_phone_number && (
          <span class="soft" dir="auto">
            {friendly_name}
          </span>
        )}
      </span>
    ),
  },
  { key: 'status', title: words.status, cell: (number: VirtualNumber) => <NumberStatus number={number} /> },
  { key: 'type', title: words.type, cell: ({ provider_type }: VirtualNumber) => words.types[provider_type] },
  { key: 'features', title: words.features, cell: ({ uuid }: VirtualNumber) => featuresOf(texts.get(uuid)) },
  {
    key: 'rings',
    title: words.voice.label,
    cell: ({ voice }: VirtualNumber) => (
      <span class={voice.kind === 'none' ? 'soft' : ''} dir="auto">
        {voiceText(voice, users, applications)}
      </span>
    ),
  },
  {
    key: 'cost',
    title: words.cost,
    align: 'end' as const,
    cell: ({ monthly_price }: VirtualNumber) => <Money amount={monthly_price} />,
  },
  {
    key: 'renews',
    title: words.renews,
    align: 'end' as const,
    cell: ({ expires_at, status_text }: VirtualNumber) =>
      status_text === 'PENDING_ACTIVATION' ? <NoValue /> : <Moment time={expires_at} show="day" />,
  },
]

/** The numbers of the account. */
export const NumbersPage = ({ search }: PageOf<typeof paths.numbers>) => {
  const { route: go } = useLocation()
  const status = isStatus(search.status) ? search.status : undefined
  const query = { q: search.q || undefined, status, country: search.country || undefined }
  const numbers = useList('GET /open/voip/virtual-numbers', { query, live: numberEvents })
  const columns = columnsOf(useUsers().users, useApplications(), useTexts())
  const isFiltered = Object.values(query).some((value) => value !== undefined)
  const rows = numbers.rows ?? []
  const countries = [
    ...new Set([...rows.map(({ iso_country_code: code }) => code), ...(query.country ? [query.country] : [])]),
  ]
  const buy = may('numbers') && (
    <ButtonLink kind="primary" icon="plus" href={paths.shop()}>
      {words.buy}
    </ButtonLink>
  )
  const hasAny = isFiltered || rows.length > 0
  return (
    <Page
      title={words.title}
      lead={words.about}
      actions={
        <>
          {hasAny && <ExportButton route="GET /open/voip/virtual-numbers" request={{ query }} file="numbers.csv" />}
          {hasAny && buy}
        </>
      }
    >
      {hasAny && (
        <Filters
          values={{ q: search.q, status: search.status, country: search.country }}
          onChange={(values) => go(paths.numbers({}, values))}
          filters={[
            { kind: 'search', name: 'q', label: words.search },
            {
              kind: 'choice',
              name: 'status',
              label: words.status,
              options: statuses.map((value) => ({ value, text: words.states[value] })),
            },
            {
              kind: 'choice',
              name: 'country',
              label: words.country,
              options: countries.map((value) => ({ value, text: format.country(value) })),
            },
          ]}
        />
      )}
      <ListTable
        of={numbers}
        label={words.caption}
        columns={columns}
        rowKey={({ uuid }) => uuid}
        rowName={({ formatted_phone_number }) => formatted_phone_number}
        rowHref={({ uuid }) => paths.number({ number: uuid })}
        empty={
          isFiltered ? (
            <Empty
              icon="search"
              title={words.noMatch}
              act={<ButtonLink href={paths.numbers()}>{words.clearFilters}</ButtonLink>}
            />
          ) : (
            <Empty icon="hash" title={words.empty} act={buy}>
              {words.emptyHint}
            </Empty>
          )
        }
      />
    </Page>
  )
}
