import { fold } from '../../../platform/lib/fold.ts'

/** A parsed `city_name_or_prefix`: the folded beginning of a word of the name, or prefixes. */
export type CityQuery = { name: string } | { prefixes: string[] }

const letters = /\p{L}/u

const withoutZeros = (digits: string): string => digits.replace(/^0+/, '')

/**
 * Parses a city's name, or a prefix with or without the country's calling code and the national prefix 0. Under 44,
 * `20`, `020`, `4420`, `+44 20` and `0044 20` are the same. Returns null for anything else: it matches no city.
 */
export const parseCityQuery = (text: string, callingCode: string): CityQuery | null => {
  if (letters.test(text)) return { name: fold(text) }
  const digits = text.replace(/\D/g, '')
  if (digits === '') return null
  const isInternational = /^\s*(?:\+|00)/.test(text)
  const bare = withoutZeros(digits)
  const inside = bare.startsWith(callingCode) ? withoutZeros(bare.slice(callingCode.length)) : null
  if (isInternational) return inside === null ? null : { prefixes: [inside] }
  return { prefixes: [bare, ...(inside ? [inside] : [])] }
}

const keypad = 'abc2def3ghi4jkl5mno6pqrs7tuv8wxyz9'

/**
 * Returns the digits of a vanity search: letters map as on a keypad (ITU-T E.161), other characters are dropped. `TAXI`
 * is 8294.
 */
export const vanityDigits = (text: string): string =>
  [...text.toLowerCase()]
    .map((one) =>
      /\d/.test(one) ? one : /^[a-z]$/.test(one) ? keypad.slice(keypad.indexOf(one)).match(/\d/)?.[0] : '',
    )
    .join('')
