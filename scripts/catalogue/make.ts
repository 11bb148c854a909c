import { iso31661 } from 'iso-3166'
import { type CountryCode, getCountries } from 'libphonenumber-js/max'
import { readZones, type Zones } from '../../src/lib/places.ts'
import { type Catalogue, type CityRow, type GroupRow, groupId } from '../../src/numbers/rows.ts'
import { otherGroups } from './elsewhere.ts'
import { type Draft, localGroups, ofWhole } from './local.ts'
import { planOf } from './plan.ts'
import { priceOf, priceRows } from './prices.ts'
import { type Regions, readRegions } from './regions.ts'
import { type Gazetteer, readGazetteer } from './sources.ts'
import { territories } from './supplement.ts'
import { placeInTime } from './zones.ts'

const names = new Intl.DisplayNames('en', { type: 'region' })
const assigned = new Set(iso31661.map(({ alpha2 }) => alpha2))

/** Every country that has a code of its own and a plan, but for the territories that are regions of the US here. */
export const countries = (): CountryCode[] =>
  getCountries()
    .filter((iso) => assigned.has(iso) && !(iso in territories))
    .sort()

export type Sources = { gazetteer: Gazetteer; regions: Regions; zones: Zones }

export const readSources = (): Sources => ({
  gazetteer: readGazetteer(),
  regions: readRegions(),
  zones: readZones(),
})

/** The +1 areas that libphonenumber lists as countries of their own and ISO 3166-2 as parts of the United States. */
const ofTerritories = ({ regions }: Sources): Draft[] =>
  Object.entries(territories).flatMap(([iso, name]) => {
    const found = getCountries().find((one) => one === iso)
    return found ? ofWhole(planOf(found), name).map((draft) => ({ ...draft, region: regions.named('US', iso) })) : []
  })

const types = ['mobile', 'national', 'sharedcost', 'tollfree'] as const

/** The part of the catalogue that belongs to one country; without groups where nothing is known of its plan. */
export const makeCountry = (iso: CountryCode, sources: Sources): Pick<Catalogue, 'countries' | 'cities' | 'groups'> => {
  const plan = planOf(iso)
  const name = (names.of(iso) ?? iso).replace(/ SAR China$/, '')
  const local = localGroups(plan, sources.gazetteer, sources.regions, name)
  if (iso === 'US') local.push(...ofTerritories(sources))
  const drafts = [
    ...local.map((draft) => ({ draft, type: 'local' as const })),
    ...types.flatMap((type) => otherGroups(plan, type, name, local).map((draft) => ({ draft, type }))),
  ]
  const time = placeInTime(
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
