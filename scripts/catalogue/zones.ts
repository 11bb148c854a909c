import { currentZone, longestOf, type Zones } from '../../src/lib/places.ts'
import type { Draft } from './local.ts'
import type { Plan } from './plan.ts'
import type { City, Gazetteer } from './sources.ts'

/** The zones of a country by Unicode CLDR; none where it does not know the country. */
const zonesOf = (iso: string): string[] => (new Intl.Locale(`und-${iso}`).getTimeZones?.() ?? []).map(currentZone)

/** The zone with the greatest weight of those given. */
const heaviest = (zones: readonly string[], weights: ReadonlyMap<string, number>): string | undefined =>
  [...zones].sort((a, b) => (weights.get(b) ?? 0) - (weights.get(a) ?? 0))[0]

/** The zone whose namesake is nearest to a city, as on a flat map; undefined when the gazetteer knows none of them. */
const nearest = (zones: readonly string[], city: City, gazetteer: Gazetteer): string | undefined => {
  const [x, y] = city.at
  const distance = (zone: string) => {
    const namesake = gazetteer.find(city.country, zone.replace(/^.*\//, '').replaceAll('_', ' '))[0]
    if (!namesake) return Number.POSITIVE_INFINITY
    return Math.hypot((namesake.at[0] - x) * Math.cos((y * Math.PI) / 180), namesake.at[1] - y)
  }
  const known = zones.map((zone) => ({ zone, far: distance(zone) })).filter(({ far }) => Number.isFinite(far))
  return known.sort((a, b) => a.far - b.far)[0]?.zone
}

type Times = {
  /** The zone of the country: that in which the most people live, as far as its cities tell. */
  readonly zone: string
  of(draft: Draft): string
}

/**
 * The time zone of a country, and of each of its groups. Where a beginning spans several zones, that one counts whose
 * namesake is nearest to the group's city; without a city, that in which the most people of the region or country live.
 */
export const placeInTime = (plan: Plan, drafts: readonly Draft[], zones: Zones, gazetteer: Gazetteer): Times => {
  const own = zonesOf(plan.iso)
  const candidates = (draft: Draft): string[] => {
    const numbers = draft.starts.map((start) => plan.callingCode + start.padEnd(draft.length, '5'))
    const found = [...new Set(numbers.flatMap((number) => longestOf(zones, number) ?? []))]
    const inside = found.filter((zone) => own.includes(zone))
    return inside.length > 0 ? inside : draft.region === null && own.length > 0 ? own : found
  }
  const zoneOfCity = (draft: Draft): string | undefined => {
    const list = candidates(draft)
    return list.length > 1 && draft.city
      ? nearest(list, draft.city, gazetteer)
      : list.length === 1
        ? list[0]
        : undefined
  }
  const people = new Map<string, number>()
  const peopleOf = new Map<number, Map<string, number>>()
  for (const draft of drafts) {
    const zone = zoneOfCity(draft)
    if (zone === undefined || !draft.city) continue
    people.set(zone, (people.get(zone) ?? 0) + draft.city.population)
    if (draft.region === null) continue
    const inRegion = peopleOf.get(draft.region) ?? new Map<string, number>()
    peopleOf.set(draft.region, inRegion.set(zone, (inRegion.get(zone) ?? 0) + draft.city.population))
  }
  const main = heaviest([...people.keys()], people) ?? drafts.flatMap(candidates)[0] ?? own[0] ?? 'UTC'
  return {
    zone: main,
    of: (draft) => {
      const sure = zoneOfCity(draft)
      if (sure) return sure
      const list = candidates(draft)
      const inRegion = draft.region === null ? undefined : peopleOf.get(draft.region)
      return heaviest(list, inRegion ?? people) ?? main
    },
  }
}
