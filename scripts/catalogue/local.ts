import { fold } from '../../src/lib/fold.ts'
import type { Beginning, Plan } from './plan.ts'
import { beginnings } from './plan.ts'
import type { Regions } from './regions.ts'
import { type City, type Gazetteer, longest, readGeocodes } from './sources.ts'
import { alias, supplement } from './supplement.ts'

/** A group before it has its price. */
export type Draft = { prefix: string; location: string; region: number | null; city: City | null } & {
  length: number
  starts: string[]
}

/** How many cities of a country get groups, the largest first; the rest of the world gets `others`. */
const most: Record<string, number> = {
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
const others = 10

/** Countries where every area code gets a group, and the length of those. */
const everyArea: Record<string, number> = { US: 3, CA: 3, BR: 2 }

/** Area codes of one city that get a group each. */
const areasOfCity = (iso: string): number => (everyArea[iso] ? 6 : 2)

/** Countries that share the calling code of another, with a geography of numbers of their own. */
const ownGeography = new Set(['CA', 'KZ'])

/** Area codes that several provinces of Canada share. */
const sharedAreas = new Set(['782', '867', '902'])

/** In these a place without a part after the comma or dash is a state, not a city. */
const bareIsState: Record<string, RegExp> = { US: /, [A-Z]{2}$/, CA: /, [A-Z]{2}$/, BR: / - [A-Z]{2}$/ }

type Place = { text: string; city: City | null; region: number | null; prefixes: string[] }

/** What the geocoding adds to the names of some cities. */
const suffix = / (?:City|city|Local|[Pp]rovince|Region|Sachsen|Donau|Rheinland|am Rhein)$/

/** `Los Angeles, CA` → the city, or null when the text names none that GeoNames knows. */
const cityOf = (iso: string, text: string, gazetteer: Gazetteer, regions: Regions): City | null => {
  const bare = bareIsState[iso]
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

/** The name of a place: `Tyneside/Durham/Sunderland` is called by the city that stands for it, `Hanoi City` Hanoi. */
const label = (text: string, city: City | null): string => {
  const name = (text.includes('/') && city ? city.name : text).replace(/ - .*$|,.*$| \(.*$/g, '').trim()
  const bare = name.replace(suffix, '')
  if (city && name.toLowerCase() === city.name.toLowerCase()) return city.name
  return city && fold(bare) === fold(city.name) ? bare : name
}

/** The groups of one place: its beginnings by the area code that they are written with. */
const ofPlace = (plan: Plan, place: Place, geocodes: Map<string, string>, states: Map<string, string>): Draft[] => {
  const width = everyArea[plan.iso]
  const byArea = new Map<string, Beginning[]>()
  const tried = new Map<string, number>()
  for (const prefix of [...place.prefixes].sort((a, b) => a.length - b.length || (a < b ? -1 : 1))) {
    const early = width !== undefined && prefix.length >= width ? prefix.slice(0, width) : ''
    // A stray entry under the area code of another state.
    const state = stateOf(place.text)
    if (early && state && states.get(early) !== state && !sharedAreas.has(early)) continue
    const tries = (tried.get(early) ?? 0) + 1
    tried.set(early, tries)
    if (tries > 12) continue
    for (const one of beginnings(plan, 'local', prefix, 4, (n) => longest(geocodes, n) === place.text)) {
      const area = width === undefined ? plan.area(one.start.padEnd(one.length, '5')) : one.start.slice(0, width)
      // Where numbers are written without an area code, the beginning that names the place stands for it.
      const key = area ?? prefix
      const list = byArea.get(key) ?? []
      if (list.length < 4 && (list[0]?.length ?? one.length) === one.length) byArea.set(key, [...list, one])
    }
  }
  const areas = [...byArea].filter(([area, list]) => list.every(({ start }) => start.startsWith(area)))
  // The longer ones are of the province around the city.
  const shortest = Math.min(...areas.map(([area]) => area.length))
  return areas
    .filter(
      ([area, list]) => area.length === shortest && (list.length > 1 || areas.every(([, other]) => other.length < 4)),
    )
    .sort(([a, x], [b, y]) => y.length - x.length || (a < b ? -1 : 1))
    .slice(0, place.city ? areasOfCity(plan.iso) : width === undefined ? 1 : undefined)
    .map(([prefix, list]) => ({
      prefix,
      location: label(place.text, place.city),
      region: place.region,
      city: place.city,
      length: list[0]?.length ?? 0,
      starts: list.map(({ start }) => start),
    }))
}

const stateOf = (text: string): string => /(?:, | - )([A-Z]{2})$/.exec(text)?.[1] ?? ''

/** The state that most of the entries of each area code lie in, by two letters. */
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

/** The places of a geocoding: those that are cities, the largest first, and then the others that are named. */
const placesOf = (plan: Plan, geocodes: Map<string, string>, gazetteer: Gazetteer, regions: Regions): Place[] => {
  const byText = new Map<string, string[]>()
  for (const [prefix, text] of geocodes) {
    const list = byText.get(text)
    if (list) list.push(prefix)
    else byText.set(text, [prefix])
  }
  const size = ({ city }: Place) => city?.population ?? -1
  const several = ({ text }: Place) => Number(text.includes('/'))
  return [...byText]
    .map(([text, prefixes]) => {
      const city = cityOf(plan.iso, text, gazetteer, regions)
      return { text, city, region: city ? regions.ofCity(city) : regions.named(plan.iso, text), prefixes }
    })
    .sort(
      (a, b) =>
        size(b) - size(a) ||
        several(a) - several(b) ||
        b.prefixes.length - a.prefixes.length ||
        (a.text < b.text ? -1 : 1),
    )
}

/** Below this many cities, other places of the plan get groups too. */
const fewCities = 6

/** The local groups of a country: of its largest cities and, where those are few, of other places; of the country as a
 *  whole where no geography is known. `name` is the country's. */
export const localGroups = (plan: Plan, gazetteer: Gazetteer, regions: Regions, name: string): Draft[] => {
  const { iso } = plan
  if (!plan.isMain && !ownGeography.has(iso)) return ofWhole(plan, name)
  if (supplement[iso]) return supplemented(plan, gazetteer, regions)
  const width = everyArea[iso]
  const geocodes = readGeocodes(plan.callingCode)
  const states = width === undefined ? new Map<string, string>() : statesOf(geocodes, width)
  const places = placesOf(plan, geocodes, gazetteer, regions)
  const drafts: Draft[] = []
  const areas = new Set<string>()
  const cities = new Set<number>()
  const served = new Set<number>()
  const limit = most[iso] ?? others

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
    for (const draft of ofPlace(plan, place, geocodes, states)) {
      const isKnown = drafts.some(
        (one) => one.prefix === draft.prefix && (city ? one.city?.id === city.id : one.location === draft.location),
      )
      const isMore = city !== null && drafts.filter((one) => one.city?.id === city.id).length >= areasOfCity(iso)
      if (isKnown || isMore || (!isLarge && !isFirst && !isNamed && areas.has(draft.prefix))) continue
      drafts.push(draft)
      areas.add(draft.prefix)
      if (city) cities.add(city.id)
      if (region !== null) served.add(region)
    }
  }
  return drafts.length > 0 ? drafts : ofWhole(plan, name)
}

/** The places that are written out in supplement.ts. */
const supplemented = (plan: Plan, gazetteer: Gazetteer, regions: Regions): Draft[] =>
  (supplement[plan.iso] ?? []).flatMap(([prefix, given, text]) => {
    const found = given.flatMap((start) => beginnings(plan, 'local', start, 2))
    const length = found[0]?.length
    const city = cityOf(plan.iso, text, gazetteer, regions)
    const starts = found.filter((one) => one.length === length).map(({ start }) => start)
    return length ? [{ prefix, location: text, region: null, city, length, starts }] : []
  })

/** For a country without a geography of numbers one group, or one for each of its area codes under +1. */
export const ofWhole = (plan: Plan, name: string): Draft[] => {
  const drafts = plan.heads.flatMap((head) => {
    // Some plans are so narrow that a try from the head alone misses them.
    const some = beginnings(plan, 'local', head, 3)
    const found =
      some.length > 0 ? some : [...'0123456789'].flatMap((digit) => beginnings(plan, 'local', head + digit, 2))
    const length = found[0]?.length
    const starts = found
      .filter((one) => one.length === length)
      .slice(0, 4)
      .map(({ start }) => start)
    return length ? [{ prefix: head, location: name, region: null, city: null, length, starts }] : []
  })
  return plan.callingCode === '1' ? drafts : drafts.slice(0, 1)
}
