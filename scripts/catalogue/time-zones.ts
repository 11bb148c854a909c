import { currentZone, longestPrefixMatch, type Zones } from '../../src/platform/lib/phone-geocoding.ts'
import type { GroupDraft } from './local-groups.ts'
import type { NumberingPlan } from './numbering-plan.ts'
import type { City, Gazetteer } from './sources.ts'

/** Returns the time zones of a country (Unicode CLDR); empty for an unknown country. */
const zonesOf = (iso: string): string[] => (new Intl.Locale(`und-${iso}`).getTimeZones?.() ?? []).map(currentZone)

/** Returns the zone with the greatest weight. */
const mostPopulous = (zones: readonly string[], weights: ReadonlyMap<string, number>): string | undefined =>
  [...zones].sort((a, b) => (weights.get(b) ?? 0) - (weights.get(a) ?? 0))[0]

/**
 * Returns the zone whose namesake city is nearest, measured on a flat map; undefined if the gazetteer has none of them.
 */
const nearestZone = (zones: readonly string[], city: City, gazetteer: Gazetteer): string | undefined => {
  const [x, y] = city.at
  const distance = (zone: string) => {
    const namesake = gazetteer.find(city.country, zone.replace(/^.*\//, '').replaceAll('_', ' '))[0]
    if (!namesake) return Number.POSITIVE_INFINITY
    return Math.hypot((namesake.at[0] - x) * Math.cos((y * Math.PI) / 180), namesake.at[1] - y)
  }
  const known = zones.map((zone) => ({ zone, far: distance(zone) })).filter(({ far }) => Number.isFinite(far))
  return known.sort((a, b) => a.far - b.far)[0]?.zone
}

type TimeZones = {
  /** The zone of the country with the largest population, counted by its cities. */
  readonly zone: string
  of(draft: GroupDraft): string
}

/**
 * Returns the time zone of a country and of each of its groups. If a prefix spans several zones, the zone whose
 * namesake is nearest to the group's city is used. Without a city, the most populous zone of the region or country is
 * used.
 */
export const assignTimeZones = (
  plan: NumberingPlan,
  drafts: readonly GroupDraft[],
  zones: Zones,
  gazetteer: Gazetteer,
): TimeZones => {
  const own = zonesOf(plan.iso)
  const candidates = (draft: GroupDraft): string[] => {
    const numbers = draft.starts.map((start) => plan.callingCode + start.padEnd(draft.length, '5'))
    const found = [...new Set(numbers.flatMap((number) => longestPrefixMatch(zones, number) ?? []))]
    const inside = found.filter((zone) => own.includes(zone))
    return inside.length > 0 ? inside : draft.region === null && own.length > 0 ? own : found
  }
  const zoneOfCity = (draft: GroupDraft): string | undefined => {
    const list = candidates(draft)
    return list.length > 1 && draft.city
      ? nearestZone(list, draft.city, gazetteer)
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
  const main = mostPopulous([...people.keys()], people) ?? drafts.flatMap(candidates)[0] ?? own[0] ?? 'UTC'
  return {
    zone: main,
    of: (draft) => {
      const sure = zoneOfCity(draft)
      if (sure) return sure
      const list = candidates(draft)
      const inRegion = draft.region === null ? undefined : peopleOf.get(draft.region)
      return mostPopulous(list, inRegion ?? people) ?? main
    },
  }
}
