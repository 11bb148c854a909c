import { iso31661 } from 'iso-3166'
import { type CountryCode, getCountries } from 'libphonenumber-js/max'
import {
  type Catalogue,
  type CityRow,
  type GroupRow,
  groupId,
} from '../../src/domains/numbers/catalogue/catalogue-rows.ts'
import { readZones, type Zones } from '../../src/platform/lib/phone-geocoding.ts'
import { type GroupDraft, groupsOfCountry, localGroups } from './local-groups.ts'
import { planOf } from './numbering-plan.ts'
import { otherGroups } from './other-groups.ts'
import { priceOf, priceRows } from './prices.ts'
import { type Regions, readRegions } from './regions.ts'
import { type Gazetteer, readGazetteer } from './sources.ts'
import { territories } from './supplement.ts'
import { assignTimeZones } from './time-zones.ts'

const names = new Intl.DisplayNames('en', { type: 'region' })
const isoCountries = new Set(iso31661.map(({ alpha2 }) => alpha2))

/**
 * Returns the countries with an ISO code and a numbering plan, without the territories, which are regions of the US
 * here.
 */
export const countries = (): CountryCode[] =>
  getCountries()
    .filter((iso) => isoCountries.has(iso) && !(iso in territories))
    .sort()

export type Sources = { gazetteer: Gazetteer; regions: Regions; zones: Zones }

export const readSources = (): Sources => ({
  gazetteer: readGazetteer(),
  regions: readRegions(),
  zones: readZones(),
})

/** Groups of the +1 areas that libphonenumber lists as countries and ISO 3166-2 as parts of the United States. */
const groupsOfTerritories = ({ regions }: Sources): GroupDraft[] =>
  Object.entries(territories).flatMap(([iso, name]) => {
    const found = getCountries().find((one) => one === iso)
    return found
      ? groupsOfCountry(planOf(found), name).map((draft) => ({ ...draft, region: regions.find('US', iso) }))
      : []
  })

const types = ['mobile', 'national', 'sharedcost', 'tollfree'] as const

/** Returns the catalogue of one country; empty if its numbering plan is unknown. */
export const makeCountry = (iso: CountryCode, sources: Sources): Pick<Catalogue, 'countries' | 'cities' | 'groups'> => {
  const plan = planOf(iso)
  const name = (names.of(iso) ?? iso).replace(/ SAR China$/, '')
  const local = localGroups(plan, sources.gazetteer, sources.regions, name)
  if (iso === 'US') local.push(...groupsOfTerritories(sources))
  const drafts = [
    ...local.map((draft) => ({ draft, type: 'local' as const })),
    ...types.flatMap((type) => otherGroups(plan, type, name, local).map((draft) => ({ draft, type }))),
  ]
  const time = assignTimeZones(
    plan,
    drafts.map(({ draft }) => draft),
    sources.zones,
    sources.gazetteer,
  )
  const cities = new Map<number, CityRow>()
  const groups = new Map<string, GroupRow>()
  for (const { type, draft } of drafts) {
    const { prefix, location, region, city, length, starts } = draft
    const place = [location, region, city?.id ?? null] as const
    const row: GroupRow = [iso, type, prefix, ...place, priceOf(type, iso), length, starts, time.of(draft)]
    if (groups.has(groupId(row))) continue
    groups.set(groupId(row), row)
    if (city) cities.set(city.id, [city.id, iso, region, city.name])
  }
  const byKey = <T>(a: [string, T], b: [string, T]) => (a[0] < b[0] ? -1 : 1)
  return {
    countries: groups.size > 0 ? [[iso, name, plan.callingCode, time.zone]] : [],
    cities: [...cities.values()].sort((a, b) => a[0] - b[0]),
    groups: [...groups].sort(byKey).map(([, row]) => row),
  }
}

export const makeCatalogue = (): Catalogue => {
  const sources = readSources()
  const parts = countries().map((iso) => makeCountry(iso, sources))
  return {
    countries: parts.flatMap((part) => part.countries),
    regions: sources.regions.rows,
    cities: parts.flatMap((part) => part.cities),
    groups: parts.flatMap((part) => part.groups),
    prices: priceRows,
  }
}
