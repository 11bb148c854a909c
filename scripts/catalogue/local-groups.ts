import { fold } from '../../src/platform/lib/fold.ts'
import type { NumberingPlan, NumberRange } from './numbering-plan.ts'
import { findRanges } from './numbering-plan.ts'
import type { Regions } from './regions.ts'
import { type City, type Gazetteer, longestMatch, readGeocodes } from './sources.ts'
import { alias, supplement } from './supplement.ts'

/** A group without its price. */
export type GroupDraft = { prefix: string; location: string; region: number | null; city: City | null } & {
  length: number
  starts: string[]
}

/** Number of cities that get groups, by country, the largest cities first. Default: `defaultCityCount`. */
const cityCounts: Record<string, number> = {
  US: 340,
  CA: 70,
  GB: 110,
  BR: 110,
  DE: 80,
  JP: 50,
  AU: 25,
  IN: 40,
  CN: 40,
  IT: 40,
  ES: 40,
  FR: 40,
  MX: 40,
  PL: 30,
  NL: 30,
  AR: 25,
  RU: 30,
  TR: 30,
}
const defaultCityCount = 10

/** Length of the area codes in countries where every area code gets a group. */
const areaCodeLengths: Record<string, number> = { US: 3, CA: 3, BR: 2 }

/** Maximum number of area codes with a group per city. */
const maxAreasPerCity = (iso: string): number => (areaCodeLengths[iso] ? 6 : 2)

/** Countries with their own geocoding although they share the calling code of another country. */
const ownGeocoding = new Set(['CA', 'KZ'])

/** Area codes that several provinces of Canada share. */
const sharedAreas = new Set(['782', '867', '902'])

/** Countries where a place name without a state suffix is a state, not a city. The pattern matches the suffix. */
const stateSuffixes: Record<string, RegExp> = { US: /, [A-Z]{2}$/, CA: /, [A-Z]{2}$/, BR: / - [A-Z]{2}$/ }

type GeocodedPlace = { text: string; city: City | null; region: number | null; prefixes: string[] }

/** Words that the geocoding appends to some city names. */
const suffix = / (?:City|city|Local|[Pp]rovince|Region|Sachsen|Donau|Rheinland|am Rhein)$/

/** `Los Angeles, CA` → the city, or null if GeoNames has no such city. */
const cityOf = (iso: string, text: string, gazetteer: Gazetteer, regions: Regions): City | null => {
  const bare = stateSuffixes[iso]
  if (bare && !bare.test(text)) return null
  const plain = (alias[`${iso} ${text}`] ?? text).replace(/ - .*$|,.*$|\(.*$/g, '').trim()
  const names = new Set([...plain.split('/'), plain.replace(suffix, '')])
  const state = stateOf(text)
  const found = [...names].flatMap((name) => {
    const cities = gazetteer.find(iso, name.trim()).filter((city) => !bare || regions.stateOf(city) === state)
    const exact = cities.filter((city) => city.name === name.trim())
    return exact.length > 0 ? exact : cities
  })
  return found.sort((a, b) => b.population - a.population)[0] ?? null
}

/** Returns the name of a place. `Tyneside/Durham/Sunderland` takes the name of its city; `Hanoi City` becomes Hanoi. */
const placeName = (text: string, city: City | null): string => {
  const name = (text.includes('/') && city ? city.name : text).replace(/ - .*$|,.*$| \(.*$/g, '').trim()
  const bare = name.replace(suffix, '')
  if (city && name.toLowerCase() === city.name.toLowerCase()) return city.name
  return city && fold(bare) === fold(city.name) ? bare : name
}

/** Returns the groups of one place, one per area code in which its numbers are written. */
const groupsOfPlace = (
  plan: NumberingPlan,
  place: GeocodedPlace,
  geocodes: Map<string, string>,
  states: Map<string, string>,
): GroupDraft[] => {
  const width = areaCodeLengths[plan.iso]
  const byArea = new Map<string, NumberRange[]>()
  const tried = new Map<string, number>()
  for (const prefix of [...place.prefixes].sort((a, b) => a.length - b.length || (a < b ? -1 : 1))) {
    const early = width !== undefined && prefix.length >= width ? prefix.slice(0, width) : ''
    // Skips a stray entry under the area code of another state.
    const state = stateOf(place.text)
    if (early && state && states.get(early) !== state && !sharedAreas.has(early)) continue
    const tries = (tried.get(early) ?? 0) + 1
    tried.set(early, tries)
    if (tries > 12) continue
    for (const one of findRanges(plan, 'local', prefix, 4, (n) => longestMatch(geocodes, n) === place.text)) {
      const area = width === undefined ? plan.area(one.start.padEnd(one.length, '5')) : one.start.slice(0, width)
      // Without an area code in writing, the prefix that names the place is used instead.
      const key = area ?? prefix
      const list = byArea.get(key) ?? []
      if (list.length < 4 && (list[0]?.length ?? one.length) === one.length) byArea.set(key, [...list, one])
    }
  }
  const areas = [...byArea].filter(([area, list]) => list.every(({ start }) => start.startsWith(area)))
  // Longer area codes belong to the province around the city.
  const shortest = Math.min(...areas.map(([area]) => area.length))
  return areas
    .filter(
      ([area, list]) => area.length === shortest && (list.length > 1 || areas.every(([, other]) => other.length < 4)),
    )
    .sort(([a, x], [b, y]) => y.length - x.length || (a < b ? -1 : 1))
    .slice(0, place.city ? maxAreasPerCity(plan.iso) : width === undefined ? 1 : undefined)
    .map(([prefix, list]) => ({
      prefix,
      location: placeName(place.text, place.city),
      region: place.region,
      city: place.city,
      length: list[0]?.length ?? 0,
      starts: list.map(({ start }) => start),
    }))
}

const stateOf = (text: string): string => /(?:, | - )([A-Z]{2})$/.exec(text)?.[1] ?? ''

/** Returns the two-letter state of most entries, by area code. */
const statesOf = (geocodes: Map<string, string>, width: number): Map<string, string> => {
  const counts = new Map<string, Map<string, number>>()
  for (const [prefix, text] of geocodes) {
    const state = stateOf(text)
    if (!state) continue
    const area = prefix.slice(0, width)
    const count = counts.get(area) ?? new Map<string, number>()
    counts.set(area, count.set(state, (count.get(state) ?? 0) + 1))
  }
  return new Map([...counts].map(([area, count]) => [area, [...count].sort((a, b) => b[1] - a[1])[0]?.[0] ?? '']))
}

/** Returns the places of a geocoding: cities first, the largest first, then other places. */
const placesOf = (
  plan: NumberingPlan,
  geocodes: Map<string, string>,
  gazetteer: Gazetteer,
  regions: Regions,
): GeocodedPlace[] => {
  const byText = new Map<string, string[]>()
  for (const [prefix, text] of geocodes) {
    const list = byText.get(text)
    if (list) list.push(prefix)
    else byText.set(text, [prefix])
  }
  const size = ({ city }: GeocodedPlace) => city?.population ?? -1
  const several = ({ text }: GeocodedPlace) => Number(text.includes('/'))
  return [...byText]
    .map(([text, prefixes]) => {
      const city = cityOf(plan.iso, text, gazetteer, regions)
      return { text, city, region: city ? regions.regionOf(city) : regions.find(plan.iso, text), prefixes }
    })
    .sort(
      (a, b) =>
        size(b) - size(a) ||
        several(a) - several(b) ||
        b.prefixes.length - a.prefixes.length ||
        (a.text < b.text ? -1 : 1),
    )
}

/** Below this number of cities, other places of the plan get groups too. */
const fewCities = 6

/**
 * Returns the local groups of a country: for its largest cities and, if those are few, for other places. Without a
 * known geography, the groups are for the whole country.
 * @param name name of the country
 */
export const localGroups = (
  plan: NumberingPlan,
  gazetteer: Gazetteer,
  regions: Regions,
  name: string,
): GroupDraft[] => {
  const { iso } = plan
  if (!plan.isMain && !ownGeocoding.has(iso)) return groupsOfCountry(plan, name)
  if (supplement[iso]) return groupsOfSupplement(plan, gazetteer, regions)
  const width = areaCodeLengths[iso]
  const geocodes = readGeocodes(plan.callingCode)
  const states = width === undefined ? new Map<string, string>() : statesOf(geocodes, width)
  const places = placesOf(plan, geocodes, gazetteer, regions)
  const drafts: GroupDraft[] = []
  const areas = new Set<string>()
  const cities = new Set<number>()
  const served = new Set<number>()
  const limit = cityCounts[iso] ?? defaultCityCount

  for (const place of places) {
    const { city, region } = place
    const isLarge = city !== null && (cities.size < limit || cities.has(city.id))
    const isFirst = city !== null && region !== null && !served.has(region)
    const isRest =
      width !== undefined &&
      place.prefixes.some((prefix) => prefix.length >= width && !areas.has(prefix.slice(0, width)))
    const isNamed = city === null && width === undefined && cities.size < fewCities && drafts.length < fewCities + 2
    if (!isLarge && !isFirst && !isRest && !isNamed) continue
    if (city === null && width !== undefined && region === null) continue
    for (const draft of groupsOfPlace(plan, place, geocodes, states)) {
      const isKnown = drafts.some(
        (one) => one.prefix === draft.prefix && (city ? one.city?.id === city.id : one.location === draft.location),
      )
      const isMore = city !== null && drafts.filter((one) => one.city?.id === city.id).length >= maxAreasPerCity(iso)
      if (isKnown || isMore || (!isLarge && !isFirst && !isNamed && areas.has(draft.prefix))) continue
      drafts.push(draft)
      areas.add(draft.prefix)
      if (city) cities.add(city.id)
      if (region !== null) served.add(region)
    }
  }
  return drafts.length > 0 ? drafts : groupsOfCountry(plan, name)
}

/** Returns the groups of a country in supplement.ts. */
const groupsOfSupplement = (plan: NumberingPlan, gazetteer: Gazetteer, regions: Regions): GroupDraft[] =>
  (supplement[plan.iso] ?? []).flatMap(([prefix, given, text]) => {
    const found = given.flatMap((start) => findRanges(plan, 'local', start, 2))
    const length = found[0]?.length
    const city = cityOf(plan.iso, text, gazetteer, regions)
    const starts = found.filter((one) => one.length === length).map(({ start }) => start)
    return length ? [{ prefix, location: text, region: null, city, length, starts }] : []
  })

/** Returns one group for a country without geocoding; under +1, one per area code. */
export const groupsOfCountry = (plan: NumberingPlan, name: string): GroupDraft[] => {
  const drafts = plan.leadingDigits.flatMap((head) => {
    // Some plans are so narrow that samples from the head alone miss them.
    const some = findRanges(plan, 'local', head, 3)
    const found =
      some.length > 0 ? some : [...'0123456789'].flatMap((digit) => findRanges(plan, 'local', head + digit, 2))
    const length = found[0]?.length
    const starts = found
      .filter((one) => one.length === length)
      .slice(0, 4)
      .map(({ start }) => start)
    return length ? [{ prefix: head, location: name, region: null, city: null, length, starts }] : []
  })
  return plan.callingCode === '1' ? drafts : drafts.slice(0, 1)
}
