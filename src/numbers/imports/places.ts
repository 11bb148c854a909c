import { fold } from '../../lib/fold.ts'
import type { PlaceRows } from './store.ts'

export type City = { id: number; name: string; region: number | null }
export type Region = { id: number; name: string }

/** The catalogue's places, by what people write for them. */
export type Places = {
  /** The country's name, or null when it is not one that has numbers. */
  country(iso: string): string | null
  /** By its ISO 3166-2 code, with or without the country, or by its name. */
  region(iso: string, text: string): Region | null
  /** By name; of a region and its parts, when one is given. */
  cities(iso: string, text: string, region: Region | null): City[]
}

/** Some thousand rows, held while a file is read. */
export const makePlaces = ({ countries, regions, cities }: PlaceRows): Places => {
  const names = new Map(countries.map((row) => [row.iso_country_code, row.name]))
  const byText = new Map<string, Region>()
  for (const { id, name, code, iso_country_code: iso } of regions)
    for (const text of [code, code.replace(`${iso}-`, ''), name]) byText.set(`${iso} ${fold(text)}`, { id, name })
  const byName = Map.groupBy(cities, (row) => `${row.iso_country_code} ${row.folded}`)
  const parent = new Map(regions.map((row) => [row.id, row.parent_id]))
  return {
    country: (iso) => names.get(iso) ?? null,
    region: (iso, text) => byText.get(`${iso} ${fold(text)}`) ?? null,
    cities: (iso, text, region) =>
      (byName.get(`${iso} ${fold(text)}`) ?? [])
        .filter(({ region_id: own }) => region === null || own === region.id || parent.get(own ?? 0) === region.id)
        .map(({ id, name, region_id }) => ({ id, name, region: region_id })),
  }
}
