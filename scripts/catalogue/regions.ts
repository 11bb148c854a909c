import { iso31662 } from 'iso-3166'
import type { RegionRow } from '../../src/domains/numbers/catalogue/catalogue-rows.ts'
import { fold } from '../../src/platform/lib/fold.ts'
import { englishTowns } from './england.ts'
import type { City } from './sources.ts'

const countries = ['US', 'CA', 'GB']

/**
 * Excluded subdivisions: US-UM, which has no telephone numbers, and the groupings that ISO lists in addition to
 * nations.
 */
const excluded = new Set(['US-UM', 'GB-EAW', 'GB-GBN', 'GB-UKM'])

/** Provinces of Canada: GeoNames code → ISO 3166-2 code. */
const provinces: Record<string, string> = {
  '01': 'AB',
  '02': 'BC',
  '03': 'MB',
  '04': 'NB',
  '05': 'NL',
  '07': 'NS',
  '08': 'ON',
  '09': 'PE',
  '10': 'QC',
  '11': 'SK',
  '12': 'YT',
  '13': 'NT',
  '14': 'NU',
}

/** States of Brazil: GeoNames code → ISO 3166-2 code. */
const statesOfBrazil: Record<string, string> = {
  '01': 'AC',
  '02': 'AL',
  '03': 'AP',
  '04': 'AM',
  '05': 'BA',
  '06': 'CE',
  '07': 'DF',
  '08': 'ES',
  '11': 'MS',
  '13': 'MA',
  '14': 'MT',
  '15': 'MG',
  '16': 'PA',
  '17': 'PB',
  '18': 'PR',
  '20': 'PI',
  '21': 'RJ',
  '22': 'RN',
  '23': 'RS',
  '24': 'RO',
  '25': 'RR',
  '26': 'SC',
  '27': 'SP',
  '28': 'SE',
  '29': 'GO',
  '30': 'PE',
  '31': 'TO',
}

/** The regions of England with the codes of the Office for National Statistics (ISO 3166-2 has the nations only). */
const englishRegions: [code: string, name: string][] = [
  ['E12000001', 'North East England'],
  ['E12000002', 'North West England'],
  ['E12000003', 'Yorkshire and The Humber'],
  ['E12000004', 'East Midlands'],
  ['E12000005', 'West Midlands'],
  ['E12000006', 'East of England'],
  ['E12000007', 'Greater London'],
  ['E12000008', 'South East England'],
  ['E12000009', 'South West England'],
]

/** Derives the id from the code alone, so that it stays the same when other regions change. */
const idOf = (country: string, code: string): number =>
  (countries.indexOf(country) + 1) * 100_000 + Number.parseInt(code, 36)

const nation = /^GB-(ENG|SCT|WLS|NIR)$/

export type Regions = {
  rows: RegionRow[]
  /** Returns the smallest known region of a city. */
  regionOf(city: City): number | null
  /** Returns the two-letter state or province of a city in the US, CA or BR. */
  stateOf(city: City): string
  /** Returns the region with that code (`CA`) or name (`California`) in the country. */
  find(country: string, codeOrName: string): number | null
}

export const readRegions = (): Regions => {
  const rows: RegionRow[] = iso31662
    .filter(({ code }) => countries.includes(code.slice(0, 2)) && !excluded.has(code))
    .filter(({ code }) => !code.startsWith('GB-') || nation.test(code))
    .map(({ code, name }) => [idOf(code.slice(0, 2), code.slice(3)), code.slice(0, 2), code, name, null])
  const england = idOf('GB', 'ENG')
  for (const [code, name] of englishRegions) rows.push([300_000 + Number(code.slice(-2)), 'GB', code, name, england])
  rows.sort((a, b) => a[0] - b[0])

  const byKey = new Map<string, number>()
  for (const [id, iso, code, name] of rows) {
    byKey.set(`${iso} ${fold(name)}`, id)
    byKey.set(`${iso} ${code.replace(/^..-/, '').toLowerCase()}`, id)
  }
  const named = (country: string, text: string) => byKey.get(`${country} ${fold(text)}`) ?? null
  const stateOf = ({ country, admin }: City) =>
    (country === 'CA' ? provinces[admin] : country === 'BR' ? statesOfBrazil[admin] : admin) ?? ''
  return {
    rows,
    find: named,
    stateOf,
    regionOf: (city) => {
      if (city.country === 'CA') return named('CA', stateOf(city))
      if (city.country === 'GB' && city.admin === 'ENG') return named('GB', englishTowns.get(city.name) ?? 'ENG')
      return named(city.country, city.admin)
    },
  }
}
