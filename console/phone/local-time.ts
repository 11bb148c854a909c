// The time at the other side of a call, by the country of the number.

type ZoneList = { getTimeZones?: () => string[] | undefined; readonly timeZones?: string[] }

/** Returns the time zones of a country; none where the browser does not know them. */
const zonesOf = (country: string): readonly string[] => {
  try {
    // Not in the types yet.
    const locale = new Intl.Locale('und', { region: country }) as unknown as ZoneList
    return locale.getTimeZones?.() ?? locale.timeZones ?? []
  } catch {
    return []
  }
}

const minutesIn = (zone: string, now: Date): number => {
  const parts = new Intl.DateTimeFormat('en', { hour: 'numeric', minute: 'numeric', hourCycle: 'h23', timeZone: zone })
    .formatToParts(now)
    .map(({ type, value }) => [type, Number(value)] as const)
  const of = (name: string) => parts.find(([type]) => type === name)?.[1] ?? 0
  return of('hour') * 60 + of('minute')
}

/** From 22:00 to 7:59. */
const isNight = (minutes: number): boolean => minutes >= 22 * 60 || minutes < 8 * 60

export type LocalTime = {
  /** Zones with the earliest and the latest time there; the same one for most countries. */
  readonly first: string
  readonly last: string
  /** True if it is night in the whole country. */
  readonly isNight: boolean
}

/** Returns the time in a country; null if it is not known. */
export const localTimeOf = (country: string, now = new Date()): LocalTime | null => {
  const times = zonesOf(country).map((zone) => {
    const minutes = minutesIn(zone, now)
    // Days of the zones differ: the offset orders them.
    const offset = (minutes - minutesIn('UTC', now) + 2_160) % 1_440
    return { zone, minutes, offset }
  })
  const [first, last] = [
    times.toSorted((a, b) => a.offset - b.offset)[0],
    times.toSorted((a, b) => b.offset - a.offset)[0],
  ]
  if (!first || !last) return null
  return { first: first.zone, last: last.zone, isNight: times.every(({ minutes }) => isNight(minutes)) }
}
