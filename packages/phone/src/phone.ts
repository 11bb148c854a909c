import {
  type CountryCode,
  isSupportedCountry,
  type PhoneNumber,
  parsePhoneNumberFromString,
} from 'libphonenumber-js/max'
import metadata from 'libphonenumber-js/max/metadata'
import { currentNumber } from './number-forms.ts'

/** Rules common to all countries of a calling code: the lengths of national numbers (a bit mask), and the
 *  numbers for which the library must be asked, as it may read their beginning as a national prefix. */
type NumberingPlan = { lengths: number; prefix: RegExp | null }

const records = new Map<string, unknown>(Object.entries(metadata.countries))

/** Reads the library's record of a country: possible lengths at index 3, the national prefix at 5, its pattern at 7. */
const planOf = (code: string, countries: readonly string[]): NumberingPlan => {
  const prefixes = new Set<string>()
  let lengths = -1
  for (const country of countries) {
    const record = records.get(country)
    const fields: unknown[] = Array.isArray(record) ? record : []
    const possible: unknown[] = Array.isArray(fields[3]) ? fields[3] : []
    lengths &= possible.reduce<number>((mask, length) => mask | (1 << Number(length)), 0)
    const prefix = fields[7] || fields[5]
    if (typeof prefix === 'string') prefixes.add(prefix)
  }
  return { lengths, prefix: prefixes.size > 0 ? new RegExp(`^${code}(?:${[...prefixes].join('|')})`) : null }
}

/** By calling code. A text as the key would be cut from each number, and hashed. */
const plans = new Map(
  Object.entries<string[]>(metadata.country_calling_codes).map(([code, countries]) => [
    Number(code),
    planOf(code, countries),
  ]),
)

const shape = /^\+?[1-9]\d{6,14}$/

/** True if the rules of the calling code alone show that the number is possible. */
const isPlain = (digits: string): boolean => {
  for (let length = 1, code = 0; length <= 3; length++) {
    code = code * 10 + digits.charCodeAt(length - 1) - 48
    const plan = plans.get(code)
    if (plan) return ((plan.lengths >> (digits.length - length)) & 1) === 1 && !plan.prefix?.test(digits)
  }
  return false
}

/**
 * Returns the E.164 form (`+` and 7 to 15 digits) of a number that is possible by libphonenumber, or null. The `+` may
 * be missing. A form that its numbering plan replaced is rewritten (number-forms.ts). The lengths of its calling code
 * decide most numbers (0.2 µs); the library checks the rest (6 µs).
 */
export const e164 = (text: string): string | null => {
  if (!shape.test(text)) return null
  const number = currentNumber(text.charCodeAt(0) === 43 ? text : `+${text}`)
  if (isPlain(number.slice(1))) return number
  const parsed = parsePhoneNumberFromString(number)
  return parsed?.isPossible() ? currentNumber(parsed.number) : null
}

const separators = /[\s().\-/\u2010-\u2015]/g

/**
 * Returns the E.164 form of a number as people write it, with spaces, brackets and the like, or null.
 * @param country ISO 3166-1 alpha-2, whose national numbers are accepted too. Default: international numbers only,
 *   whose `+` may be missing.
 */
export const parsePhoneNumber = (text: string, country?: CountryCode): string | null => {
  const bare = text.replace(separators, '').replace(/^00/, '+')
  if (country === undefined || bare.startsWith('+')) return e164(bare)
  const parsed = bare.length <= 40 ? parsePhoneNumberFromString(bare, country) : undefined
  return parsed?.isPossible() ? currentNumber(parsed.number) : null
}

/** Returns the E.164 form of digits dialled within a calling code, and whether the number is valid; or null. */
export const nationalNumber = (digits: string, callingCode: string): { number: string; isValid: boolean } | null => {
  const parsed = parsePhoneNumberFromString(digits, { defaultCallingCode: callingCode })
  if (!parsed?.isPossible()) return null
  const number = currentNumber(parsed.number)
  return { number, isValid: number !== parsed.number || parsed.isValid() }
}

/** Returns the country of an ISO 3166-1 alpha-2 code in any letter case, or null if it has no numbers. */
export const countryBy = (code: string): CountryCode | null => {
  const upper = code.toUpperCase()
  return isSupportedCountry(upper) ? upper : null
}

/** Returns the library's details of an E.164 number. */
export const numberDetails = (number: string): PhoneNumber | undefined => parsePhoneNumberFromString(number)

/** Returns the country (ISO 3166-1 alpha-2) of an E.164 number, if its digits determine one. */
export const countryOf = (number: string): CountryCode | undefined => numberDetails(number)?.country

/** Patterns of the national numbers of a country, as libphonenumber reads them: leading digits alone, or types. */
type CountryPattern = {
  readonly country: string
  readonly leading: RegExp | null
  readonly general: RegExp
  readonly types: readonly { readonly pattern: RegExp; readonly lengths: readonly unknown[] | null }[]
}

const wholePattern = (pattern: unknown) => new RegExp(`^(?:${pattern})$`)

/** Reads the library's record of a country: the general pattern at index 2, leading digits at 10, the types at 11. */
const patternOf = (country: string): CountryPattern => {
  const record = records.get(country)
  const fields: unknown[] = Array.isArray(record) ? record : []
  const types: unknown[] = Array.isArray(fields[11]) ? fields[11] : []
  return {
    country,
    leading: fields[10] ? new RegExp(`^(?:${fields[10]})`) : null,
    general: wholePattern(fields[2]),
    types: types.flatMap((type) => {
      const [pattern, lengths]: unknown[] = Array.isArray(type) ? type : []
      return pattern ? [{ pattern: wholePattern(pattern), lengths: Array.isArray(lengths) ? lengths : null }] : []
    }),
  }
}

const patternsByCode = new Map<string, readonly CountryPattern[]>()

const belongsTo = (national: string, { leading, general, types }: CountryPattern): boolean => {
  if (leading) return leading.test(national)
  if (!general.test(national)) return false
  return types.some(({ pattern, lengths }) => (lengths?.includes(national.length) ?? true) && pattern.test(national))
}

/** Returns the main country of a number whose digits need no further interpretation, or null. */
const plainCountryOf = (digits: string): string | null => {
  const codes: Record<string, string[]> = metadata.country_calling_codes
  const code = [1, 2, 3].map((length) => digits.slice(0, length)).find((start) => codes[start] !== undefined)
  const countries = codes[code ?? ''] ?? []
  const [main] = countries
  // 001 stands for codes without a country.
  if (code === undefined || main === undefined || main === '001' || !isPlain(digits)) return null
  if (countries.length === 1) return main
  const patterns = patternsByCode.get(code) ?? countries.map(patternOf)
  patternsByCode.set(code, patterns)
  const national = digits.slice(code.length)
  return patterns.find((pattern) => belongsTo(national, pattern))?.country ?? main
}

/** Returns the country of a number, or the main country of its calling code if several share the numbers. Most numbers
 *  take a tenth of the time of the library, which compiles its patterns anew for each. */
export const mainCountryOf = (number: string): string | undefined => {
  const plain = /^\+[1-9]\d{6,14}$/.test(number) ? plainCountryOf(number.slice(1)) : null
  if (plain !== null) return plain
  const found = numberDetails(number)
  const codes: Record<string, string[]> = metadata.country_calling_codes
  return found?.country ?? codes[found?.countryCallingCode ?? '']?.[0]
}

/** True for +1 numbers whose area code does not belong to another known country. */
export const isUs = (number: string): boolean => {
  if (number.charCodeAt(1) !== 49) return false
  const country = countryOf(number)
  return country === undefined || country === 'US'
}

const callingCodes = new Map(
  Object.entries<string[]>(metadata.country_calling_codes).flatMap(([code, countries]) =>
    countries.map((iso): [string, { code: string; shared: boolean }] => [iso, { code, shared: countries.length > 1 }]),
  ),
)

/** Territories of the United States: countries for the library, subdivisions in ISO 3166-2. */
const usTerritories = new Set<string>(['AS', 'GU', 'MP', 'PR', 'VI'])

/** True if an E.164 number may belong to a country: by the calling code and, if countries share it, by the library's
 *  details of the number. */
export const fitsCountry = (number: string, iso: string): boolean => {
  const plan = callingCodes.get(iso)
  if (!plan || !number.startsWith(plan.code, 1)) return false
  if (!plan.shared) return true
  const country = countryOf(number)
  return country === undefined || country === iso || (iso === 'US' && usTerritories.has(country))
}

/** Returns the digits after the calling code, and the area code if the international format has one. */
export const nationalParts = (number: string): { national: string; area: string | null } => {
  const parsed = numberDetails(number)
  if (!parsed) return { national: number.slice(1), area: null }
  const [, first = '', second] = parsed.formatInternational().split(' ')
  const area = first.replace(/\D/g, '')
  const national = number.slice(1 + parsed.countryCallingCode.length)
  return { national, area: second !== undefined && national.startsWith(area) ? area : null }
}

/** Formats a number for people: `+44 7911 123456`. */
export const formatNumber = (number: string): string => numberDetails(number)?.formatInternational() ?? number

/** Masks a number for logs: the first digits and the last two remain. */
export const maskNumber = (number: string): string => `${number.slice(0, 4)}…${number.slice(-2)}`
