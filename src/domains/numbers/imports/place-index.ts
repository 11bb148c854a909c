import { fold } from '../../../platform/lib/fold.ts'

export type City = { id: number; name: string; region: number | null }
export type Region = { id: number; name: string }

/** The catalogue's places, by the names that people write. */
export type PlaceIndex = {
  /** Returns the country's name, or null if the country has no numbers. */
  country(iso: string): string | null
  /** Finds a region by its ISO 3166-2 code, with or without the country, or by its name. */
  region(iso: string, text: string): Region | null
  /** Finds cities by name; if a region is given, within it and its parts. */
  cities(iso: string, text: string, region: Region | null): City[]
}

/** Builds the index: some thousand rows, held in memory while a file is read. */
export const makePlaceIndex = ({ countries, regions, cities }: PlaceRows): PlaceIndex => {
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

export type PlaceRows = {
  countries: { iso_country_code: string; name: string }[]
  regions: { id: number; iso_country_code: string; code: string; name: string; parent_id: number | null }[]
  cities: { id: number; iso_country_code: string; region_id: number | null; name: string; folded: string }[]
}
