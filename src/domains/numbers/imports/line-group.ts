import { hash } from 'node:crypto'
import { fold } from '../../../platform/lib/fold.ts'
import { type GroupType, groupTypes } from '../catalogue/catalogue-rows.ts'
import { type Feature, settable } from '../catalogue/features.ts'
import { maxGroupNameLength } from '../limits.ts'
import type { Column } from './import-header.ts'
import type { PlaceIndex } from './place-index.ts'

/** Prices as written in the file. */
export type ImportPrices = { readonly setup: string; readonly monthly: string; readonly ppm: string }

/** The group of a line: all of the line's fields except the number. */
export type LineGroup = {
  /** Equal for every import with the same fields. */
  readonly id: string
  readonly iso: string
  readonly type: GroupType
  readonly region: number | null
  readonly city: number | null
  readonly location: string
  readonly folded: string
  /** Null: the default of the country. */
  readonly features: readonly Feature[] | null
  /** Null: the price that is set for numbers of its kind. */
  readonly price: ImportPrices | null
}

const price = /^\d{1,6}(?:\.\d{1,6})?$/

/** Validates the name of an operator's own group. @returns the fault, or null */
const nameFault = (name: string): string | null => {
  if (name.length > maxGroupNameLength) return `group must have at most ${maxGroupNameLength} characters`
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

const pricesOf = (text: (column: Column) => string, faults: string[]): ImportPrices | null => {
  const priceColumns = ['setup_price', 'monthly_price', 'price_per_minute'] as const
  for (const column of priceColumns)
    if (text(column) !== '' && !price.test(text(column)))
      faults.push(`${column} must be a decimal number such as 1.50, not "${text(column)}"`)
  if (priceColumns.every((column) => text(column) === '')) return null
  if (text('monthly_price') === '') faults.push('monthly_price is missing: give it, or no price at all')
  return { setup: text('setup_price') || '0', monthly: text('monthly_price'), ppm: text('price_per_minute') || '0' }
}

const slug = (text: string) => fold(text).replaceAll(' ', '-').slice(0, 40)

/** Parses the group fields of a line. @returns the group, or all faults */
export const parseLineGroup = (text: (column: Column) => string, places: PlaceIndex): LineGroup | string[] => {
  const faults: string[] = []
  const iso = text('country').toUpperCase()
  const country = places.country(iso)
  if (country === null)
    return [`country must be the code of a country in the catalogue, such as GB, not "${text('country')}"`]
  const type = groupTypes.find((one) => one === text('type').toLowerCase())
  if (!type) faults.push(`type must be one of ${groupTypes.join(', ')}, not "${text('type')}"`)
  const region = text('region') === '' ? null : places.region(iso, text('region'))
  if (text('region') !== '' && !region) faults.push(`region "${text('region')}" is not one of ${iso}`)
  const cities = text('city') === '' ? [] : places.cities(iso, text('city'), region)
  if (text('city') !== '' && cities.length === 0)
    faults.push(
      `city "${text('city')}" is not one of ${region ? region.name : iso}: use its name in the catalogue, or leave it empty`,
    )
  if (cities.length > 1) faults.push(`there is more than one ${text('city')} in ${iso}: give its region`)
  const wrong = text('group') === '' ? null : nameFault(text('group'))
  if (wrong) faults.push(wrong)
  const features = featuresOf(text('features'), faults)
  const prices = pricesOf(text, faults)
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
    price: prices,
  }
}
