import { fold } from '../../../platform/lib/fold.ts'

/**
 * Rows of the catalogue's data files (see catalogue/SOURCES.md): arrays, one per line, so that diffs are readable and
 * the files stay small.
 */

export const groupTypes = ['global', 'local', 'mobile', 'national', 'sharedcost', 'tollfree'] as const
export type GroupType = (typeof groupTypes)[number]

/** ISO 3166-1 alpha-2, name, calling code, the most populous time zone. */
export type CountryRow = [iso: string, name: string, callingCode: string, zone: string]

/** Id, country, ISO 3166-2 code (ONS code for the regions of England), name, id of the parent region. */
export type RegionRow = [id: number, iso: string, code: string, name: string, parent: number | null]

/** GeoNames id, country, region or null, name. */
export type CityRow = [id: number, iso: string, region: number | null, name: string]

/**
 * National numbers of the group have `length` digits and begin with one of `starts`: each such number is in plan.
 * `zone` is a name of the tz database.
 */
export type GroupRow = [
  iso: string,
  type: GroupType,
  prefix: string,
  location: string,
  region: number | null,
  city: number | null,
  price: number,
  length: number,
  starts: string[],
  zone: string,
]

/** List prices in US dollars; groups refer to them by index. */
export type PriceRow = [setup: string, monthly: string, perMinute: string]

/**
 * A regulator's requirement; `documents` is empty where a value in words is enough. `source` is the title of a
 * regulation or page.
 */
export type RequirementRow = [
  id: number,
  iso: string,
  type: GroupType,
  kind: 'identity' | 'address' | 'proof',
  description: string,
  documents: string[],
  source: string,
  address: string,
  date: string,
]

export type Catalogue = {
  countries: CountryRow[]
  regions: RegionRow[]
  cities: CityRow[]
  groups: GroupRow[]
  prices: PriceRow[]
}

/** Returns the group's id, stable while its type, prefix and location are: `US-local-213-los-angeles`. */
export const groupId = ([iso, type, prefix, location]: GroupRow): string =>
  `${iso}-${type}-${prefix}-${fold(location).replaceAll(' ', '-')}`
