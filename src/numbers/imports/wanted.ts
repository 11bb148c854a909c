import { hash } from 'node:crypto'
import { fold } from '../../lib/fold.ts'
import { type Feature, settable } from '../features.ts'
import { type GroupType, groupTypes } from '../rows.ts'
import type { Column } from './head.ts'
import type { Places } from './places.ts'

/** Prices as they stand in the file. */
export type Given = { readonly setup: string; readonly monthly: string; readonly ppm: string }

/** The group that a line puts its number into: what a line says, but for the number. */
export type Wanted = {
  /** The same for every import that says the same. */
  readonly id: string
  readonly iso: string
  readonly type: GroupType
  readonly region: number | null
  readonly city: number | null
  readonly location: string
  readonly folded: string
  /** Null: by the rule. */
  readonly features: readonly Feature[] | null
  /** Null: what is set for numbers of its kind. */
  readonly price: Given | null
}

const price = /^\d{1,6}(?:\.\d{1,6})?$/
const longestName = 60

/** A name of a group of the operator's own. @returns what is wrong with it, or null */
const nameFault = (name: string): string | null => {
  if (name.length > longestName) return `group must have at most ${longestName} characters`
  return /\p{Cc}/u.test(name) ? 'group must not hold control characters' : null
}

const featuresOf = (text: string, faults: string[]): Feature[] | null => {
  if (text === '') return null
  const words = text
    .toLowerCase()
    .split(/[|;\s]+/)
    .filter(Boolean)
  const odd = words.filter((word) => !settable.some((one) => one === word))
  if (odd.length > 0) faults.push(`features must be of ${settable.join('|')}, not "${odd.join('|')}"`)
  return settable.filter((one) => one === 'voice' || words.includes(one))
}

const pricesOf = (text: (column: Column) => string, faults: string[]): Given | null => {
  const given = ['setup_price', 'monthly_price', 'price_per_minute'] as const
  for (const column of given)
    if (text(column) !== '' && !price.test(text(column)))
      faults.push(`${column} must be a decimal number such as 1.50, not "${text(column)}"`)
  if (given.every((column) => text(column) === '')) return null
  if (text('monthly_price') === '') faults.push('monthly_price is missing: give it, or no price at all')
  return { setup: text('setup_price') || '0', monthly: text('monthly_price'), ppm: text('price_per_minute') || '0' }
}

const slug = (text: string) => fold(text).replaceAll(' ', '-').slice(0, 40)

/** Reads what a line says about its group. @returns the group, or all that is wrong */
export const readWanted = (text: (column: Column) => string, places: Places): Wanted | string[] => {
  const faults: string[] = []
  const iso = text('country').toUpperCase()
  const country = places.country(iso)
  if (country === null)
    return [`country must be the code of a country of the catalogue, such as GB, not "${text('country')}"`]
  const type = groupTypes.find((one) => one === text('type').toLowerCase())
  if (!type) faults.push(`type must be one of ${groupTypes.join(', ')}, not "${text('type')}"`)
  const region = text('region') === '' ? null : places.region(iso, text('region'))
  if (text('region') !== '' && !region) faults.push(`region "${text('region')}" is not one of ${iso}`)
  const cities = text('city') === '' ? [] : places.cities(iso, text('city'), region)
  if (text('city') !== '' && cities.length === 0)
    faults.push(
      `city "${text('city')}" is not one of ${region ? region.name : iso}: take its name of the catalogue, or none`,
    )
  if (cities.length > 1) faults.push(`there is more than one ${text('city')} in ${iso}: give its region`)
  const wrong = text('group') === '' ? null : nameFault(text('group'))
  if (wrong) faults.push(wrong)
  const features = featuresOf(text('features'), faults)
  const given = pricesOf(text, faults)
  if (faults.length > 0 || !type) return faults
  const city = cities[0] ?? null
  const location = text('group') || city?.name || region?.name || country
  const same = [iso, type, region?.id ?? city?.region ?? null, city?.id ?? null, location, features]
  return {
    id: `own-${iso}-${type}-${slug(location)}-${hash('sha256', JSON.stringify(same)).slice(0, 8)}`,
    iso,
    type,
    region: region?.id ?? city?.region ?? null,
    city: city?.id ?? null,
    location,
    folded: [...new Set([fold(location), fold(city?.name ?? '')])].filter(Boolean).join(' '),
    features,
    price: given,
  }
}
