import { fold } from '../lib/fold.ts'

/** What a search by `city_name_or_prefix` looks for: the folded beginning of a word of the name, or prefixes. */
export type Wanted = { name: string } | { prefixes: string[] }

const letters = /\p{L}/u

const withoutZeros = (digits: string): string => digits.replace(/^0+/, '')

/**
 * Reads a city's name, or a prefix with or without the country's calling code and the national prefix 0: under 44,
 * `20`, `020`, `4420`, `+44 20` and `0044 20` are the same. Null for what is neither: it finds nothing.
 */
export const readWanted = (text: string, callingCode: string): Wanted | null => {
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

/** The digits of a vanity search: letters as on a keypad (ITU-T E.161), all else left out. `TAXI` is 8294. */
export const vanityDigits = (text: string): string =>
  [...text.toLowerCase()]
    .map((one) =>
      /\d/.test(one) ? one : /^[a-z]$/.test(one) ? keypad.slice(keypad.indexOf(one)).match(/\d/)?.[0] : '',
    )
    .join('')
