import { useLocation } from 'preact-iso/router'
import { useQuery } from '../api/query.ts'
import { Button, ButtonLink } from '../parts/button.tsx'
import { Filters, type FilterValues } from '../parts/filters.tsx'
import { Empty } from '../parts/page-states.tsx'
import { Table } from '../parts/table.tsx'
import { Money } from '../parts/values.tsx'
import { type PageOf, paths } from '../paths.ts'
import { words } from '../words/en/numbers.ts'
import * as format from '../words/format.ts'
import type { Group } from './number-state.tsx'

type Search = PageOf<typeof paths.shop>['search']

/** Countries for which the API demands a region, a city or a prefix. */
const largeCountries = ['US']

/** Places that are shown at first, and at most: 200 is the limit of the list. */
const firstShown = 50
const mostShown = 200

type GroupType = Group['type']
const isType = (text: string | undefined): text is GroupType => text !== undefined && text in words.types

/** Uses of a number, and the features of a group that each needs. */
const abilities = {
  texts: {
    text: () => words.able.sms,
    has: ({ features }: Group) => features.includes('sms_in') && features.includes('sms_out'),
  },
  calls: { text: () => words.able.voice, has: ({ features }: Group) => features.includes('voice') },
  app: { text: () => words.able.msgapp, has: ({ features }: Group) => features.includes('msgapp') },
} as const
const isAbility = (text: string | undefined): text is keyof typeof abilities => text !== undefined && text in abilities

/** Features in words: texts in both directions are one. */
export const abilitiesOf = ({ features }: Group): readonly string[] => {
  const both = features.includes('sms_in') && features.includes('sms_out')
  return features.flatMap((one) => {
    if (one === 'msgapp_business') return []
    if (both && one.startsWith('sms')) return one === 'sms_in' ? [words.able.sms] : []
    return [words.able[one]]
  })
}

const columnsOf = () => [
  {
    key: 'group',
    title: words.shop.group,
    cell: ({ location, prefix }: Group) => (
      <span>
        {location} <span class="soft tabular">{prefix}</span>
      </span>
    ),
  },
  { key: 'type', title: words.type, cell: ({ type }: Group) => words.types[type] },
  {
    key: 'month',
    title: words.shop.month,
    align: 'end' as const,
    cell: ({ price }: Group) => <Money amount={price.monthly_price} />,
  },
  {
    key: 'setup',
    title: words.shop.setup,
    align: 'end' as const,
    cell: ({ price }: Group) => <Money amount={price.setup_price} />,
  },
  {
    key: 'minute',
    title: words.shop.minute,
    align: 'end' as const,
    cell: ({ price }: Group) => <Money amount={price.ppm} exact />,
  },
  { key: 'can', title: words.shop.can, cell: (group: Group) => abilitiesOf(group).join(', ') },
  {
    key: 'requires',
    title: words.shop.requires,
    cell: ({ requirements }: Group) =>
      requirements.length === 0 ? (
        <span class="soft">{words.shop.nothing}</span>
      ) : (
        words.shop.requirements(requirements.length)
      ),
  },
  {
    key: 'free',
    title: words.shop.free,
    align: 'end' as const,
    cell: ({ available_count: free }: Group) =>
      free === 0 ? <span class="soft">{words.shop.soldOut}</span> : format.number(free),
  },
]

const useFilters = (country: string, search: Search) => {
  const { data: countries } = useQuery('GET /open/numbers/countries', {})
  const { data: regions } = useQuery('GET /open/numbers/regions', { query: { country } })
  const types = countries?.data.countries.find(({ iso_country_code: code }) => code === country)?.did_types ?? []
  const values: FilterValues = {
    type: search.type,
    region: search.region,
    place: search.place,
    can: search.can,
    asks: search.asks,
  }
  const filters = [
    {
      kind: 'choice' as const,
      name: 'type',
      label: words.type,
      options: types.map((value) => ({ value, text: words.types[value] })),
    },
    ...(regions && regions.data.regions.length > 0
      ? [
          {
            kind: 'choice' as const,
            name: 'region',
            label: words.shop.region,
            options: regions.data.regions.map(({ id, region_name }) => ({ value: String(id), text: region_name })),
          },
        ]
      : []),
    { kind: 'text' as const, name: 'place', label: words.shop.place },
    {
      kind: 'choice' as const,
      name: 'can',
      label: words.shop.can,
      options: Object.entries(abilities).map(([value, { text }]) => ({ value, text: text() })),
    },
    {
      kind: 'choice' as const,
      name: 'asks',
      label: words.shop.asks,
      options: [
        { value: 'nothing', text: words.shop.asksNothing },
        { value: 'some', text: words.shop.asksSome },
      ],
    },
  ]
  return { filters, values }
}

type Nearby = { id: number; city_name: string; available_count: number }

const NearbyPlaces = ({ country, search, cities }: { country: string; search: Search; cities: readonly Nearby[] }) => (
  <section class="stack stack-close">
    <h2>{words.shop.nearby}</h2>
    <ul class="row" aria-label={words.shop.nearby}>
      {cities.map(({ id, city_name, available_count }) => (
        <li key={id}>
          <ButtonLink href={paths.shop({ country }, { type: search.type, place: city_name })}>
            {city_name} <span class="soft">{words.shop.nearbyFree(available_count)}</span>
          </ButtonLink>
        </li>
      ))}
    </ul>
  </section>
)

/** Places of a country with prices and what the regulator requires. */
export const ShopPlaces = ({ country, search }: { country: string; search: Search }) => {
  const { route: go } = useLocation()
  const { filters, values } = useFilters(country, search)
  const region = Number(search.region) || undefined
  const place = search.place?.trim() || undefined
  const isChosen = !largeCountries.includes(country) || region !== undefined || place !== undefined
  // Both filters are applied here, so more places are read for them.
  const isNarrowed = search.can !== undefined || search.asks !== undefined
  const shown = isNarrowed ? mostShown : Math.min(mostShown, Number(search.shown) || firstShown)
  const { data, error, isLoading, refresh } = useQuery('GET /open/numbers/groups', {
    query: {
      country,
      did_type: isType(search.type) ? search.type : undefined,
      region_id: region,
      city_name_or_prefix: place,
      results_per_page: shown,
    },
    enabled: isChosen,
    live: ['number'],
  })
  const can = isAbility(search.can) ? abilities[search.can] : undefined
  const rows = data?.data.groups
    .filter((group) => !can || can.has(group))
    .filter(({ requirements }) => !search.asks || (search.asks === 'nothing') === (requirements.length === 0))
    .toSorted((a, b) => Number(b.available_count > 0) - Number(a.available_count > 0))
  const { groups = [], nearby = [] } = data?.data ?? {}
  return (
    <>
      <Filters filters={filters} values={values} onChange={(next) => go(paths.shop({ country }, { ...next }))} />
      {isChosen ? (
        <>
          {nearby.length > 0 && <NearbyPlaces country={country} search={search} cities={nearby} />}
          <Table
            label={words.shop.groups(format.country(country))}
            rows={rows}
            columns={columnsOf()}
            rowKey={({ id }) => id}
            rowHref={({ id }) => paths.shop({ country, group: id })}
            loading={isLoading}
            refusal={data ? undefined : (error ?? undefined)}
            onRetry={refresh}
            empty={
              <Empty
                icon="search"
                title={words.shop.noGroup}
                act={<ButtonLink href={paths.shop({ country })}>{words.clearFilters}</ButtonLink>}
              >
                {words.shop.noGroupHint}
              </Empty>
            }
          />
          {data && data.total > groups.length && (
            <div class="list-more">
              <p class="soft">{words.shop.shown(groups.length, data.total)}</p>
              {shown < mostShown && (
                <Button onClick={() => go(paths.shop({ country }, { ...values, shown: String(mostShown) }), true)}>
                  {words.shop.more}
                </Button>
              )}
            </div>
          )}
        </>
      ) : (
        <Empty icon="map-pin" title={words.shop.chooseRegion}>
          {words.shop.chooseRegionHint}
        </Empty>
      )}
    </>
  )
}
