import { useState } from 'preact/hooks'
import { useLocation } from 'preact-iso/router'
import type { ReplyOf } from '../api/client.ts'
import { useQuery } from '../api/query.ts'
import { Empty, ErrorState, Skeleton } from '../parts/page-states.tsx'
import { TextField } from '../parts/text-fields.tsx'
import { Flag, Money } from '../parts/values.tsx'
import { type PageOf, paths } from '../paths.ts'
import { Page } from '../shell/section-page.tsx'
import { words } from '../words/en/numbers.ts'
import * as format from '../words/format.ts'
import { HeldNumbers, useHeld } from './held-numbers.tsx'
import { ShopGroup } from './shop-group.tsx'
import { ShopPlaces } from './shop-places.tsx'

type NumberCountry = ReplyOf<'GET /open/numbers/countries'>['data']['countries'][number]
type Shop = PageOf<typeof paths.shop>

/** Letters without case and accents: `Türkiye` is found by `turk`. */
const bare = (text: string): string => text.normalize('NFD').replace(/\p{M}/gu, '').toLowerCase()

const matches = ({ iso_country_code: code, prefix, name }: NumberCountry, search: string): boolean =>
  [name, format.country(code), code, `+${prefix}`].some((text) => bare(text).includes(bare(search.trim())))

const CountryLink = ({ of: { iso_country_code: code, prefix, did_types: types } }: { of: NumberCountry }) => (
  <li>
    <a class="shop-country" href={paths.shop({ country: code })}>
      <Flag country={code} />
      <span class="shop-country-name">{format.country(code)}</span>
      <span class="soft tabular">+{prefix}</span>
      <span class="soft shop-country-types">{format.list(types.map((type) => words.types[type]))}</span>
    </a>
  </li>
)

const Countries = ({ search }: { search: Shop['search'] }) => {
  const { route: go } = useLocation()
  const [filter, setFilter] = useState(search.q ?? '')
  const { data, error, refresh } = useQuery('GET /open/numbers/countries', {})
  if (!data) return error ? <ErrorState refusal={error} onRetry={refresh} /> : <Skeleton rows={8} shape="table" />
  const countries = data.data.countries
  if (countries.length === 0) return <Empty title={words.shop.none}>{words.shop.noneHint}</Empty>
  const found = countries.filter((country) => matches(country, filter))
  return (
    <>
      <div class="shop-find">
        <TextField
          name="q"
          type="search"
          icon="search"
          label={words.shop.findCountry}
          hideLabel
          placeholder={words.shop.findCountry}
          value={filter}
          // Without a delay: a list that changed when the field lost the focus would swallow the click on a country.
          onInput={(text) => {
            setFilter(text)
            go(paths.shop({}, { q: text }), true)
          }}
        />
      </div>
      {found.length === 0 ? (
        <Empty icon="search" title={words.shop.noCountry} />
      ) : (
        <ul class="shop-countries" aria-label={words.shop.countries}>
          {found.map((country) => (
            <CountryLink key={country.iso_country_code} of={country} />
          ))}
        </ul>
      )}
    </>
  )
}

const Balance = () => {
  const { data } = useQuery('GET /open/info', { live: ['balance', 'number'] })
  if (!data) return null
  return (
    <span class="row">
      <span class="soft">{words.shop.balance}</span>
      <strong>
        <Money amount={data.balance.amount} />
      </strong>
    </span>
  )
}

/** The shop: country, then place, then number. Each step is an address. */
export const ShopPage = ({ params: { country, group }, search }: Shop) => {
  const crumbs = [
    { text: words.title, href: paths.numbers() },
    ...(country ? [{ text: words.buy, href: paths.shop() }] : []),
    ...(country && group ? [{ text: format.country(country), href: paths.shop({ country }) }] : []),
  ]
  const { isKnown } = useHeld()
  const title = country && !group ? words.shop.inCountry(format.country(country)) : words.shop.title
  return (
    <Page
      key={`${country} ${group}`}
      title={title}
      crumbs={crumbs}
      lead={country ? undefined : words.shop.lead}
      actions={<Balance />}
    >
      <HeldNumbers />
      {/* What follows the held numbers would jump when they come. */}
      {!isKnown && <Skeleton rows={8} shape="table" />}
      <div class="shop-step" hidden={!isKnown}>
        {country && group ? (
          <ShopGroup country={country} group={group} search={search} />
        ) : country ? (
          <ShopPlaces country={country} search={search} />
        ) : (
          <Countries search={search} />
        )}
      </div>
    </Page>
  )
}
