import {
  type CountryCode,
  isSupportedCountry,
  type PhoneNumber,
  parsePhoneNumberFromString,
} from 'libphonenumber-js/max'
import metadata from 'libphonenumber-js/max/metadata'

/** What holds in every country of a calling code: the lengths (a bit mask) that its national numbers may have, and the
 *  beginnings that need a closer look, because the library may take them for a national prefix. */
type Plan = { lengths: number; prefixes: RegExp[] }

const records = new Map<string, unknown>(Object.entries(metadata.countries))

/** The library's own record of a country: possible lengths stand at 3, the national prefix at 5, its pattern at 7. */
const planOf = (countries: readonly string[]): Plan => {
  const plan: Plan = { lengths: -1, prefixes: [] }
  for (const country of countries) {
    const record = records.get(country)
    const fields: unknown[] = Array.isArray(record) ? record : []
    const lengths: unknown[] = Array.isArray(fields[3]) ? fields[3] : []
    plan.lengths &= lengths.reduce<number>((mask, length) => mask | (1 << Number(length)), 0)
    const prefix = fields[7] || fields[5]
    if (typeof prefix === 'string') plan.prefixes.push(new RegExp(`^(?:${prefix})`))
  }
  return plan
}

const plans = new Map(
  Object.entries<string[]>(metadata.country_calling_codes).map(([code, countries]) => [code, planOf(countries)]),
)

const shape = /^\+?[1-9]\d{6,14}$/

/** True when the calling code's plan alone tells that the number is possible as it stands. */
const isPlain = (digits: string): boolean => {
  for (let code = 1; code <= 3; code++) {
    const plan = plans.get(digits.slice(0, code))
    if (!plan) continue
    const national = digits.slice(code)
    return ((plan.lengths >> national.length) & 1) === 1 && !plan.prefixes.some((prefix) => prefix.test(national))
  }
  return false
}

/**
 * The E.164 form (`+` and 7 to 15 digits) of a number that is possible by libphonenumber, or null. Digits alone are read
 * as if the `+` stood before them. Most numbers are told by their calling code's lengths alone (0.1 µs); the rest are
 * asked of the library (6 µs).
 */
export const e164 = (text: string): string | null => {
  if (!shape.test(text)) return null
  const number = text.charCodeAt(0) === 43 ? text : `+${text}`
  if (isPlain(number.slice(1))) return number
  const parsed = parsePhoneNumberFromString(number)
  return parsed?.isPossible() ? parsed.number : null
}

const between = /[\s().\-/\u2010-\u2015]/g

/**
 * The E.164 form of a number as people write it, with spaces, brackets and the like, or null.
 * @param country ISO 3166-1 alpha-2, whose national numbers are read too; without one, digits alone are read as if the `+`
 *   stood before them
 */
export const written = (text: string, country?: CountryCode): string | null => {
  const bare = text.replace(between, '').replace(/^00/, '+')
  if (country === undefined || bare.startsWith('+')) return e164(bare)
  const parsed = bare.length <= 40 ? parsePhoneNumberFromString(bare, country) : undefined
  return parsed?.isPossible() ? parsed.number : null
}

/** The E.164 form of digits as dialled within the countries of a calling code, and whether the number is in use; or null. */
export const nationalNumber = (digits: string, callingCode: string): { number: string; isValid: boolean } | null => {
  const parsed = parsePhoneNumberFromString(digits, { defaultCallingCode: callingCode })
  return parsed?.isPossible() ? { number: parsed.number, isValid: parsed.isValid() } : null
}

/** The country of an ISO 3166-1 alpha-2 code in any letter case, or null when it has no numbers. */
export const countryBy = (code: string): CountryCode | null => {
  const upper = code.toUpperCase()
  return isSupportedCountry(upper) ? upper : null
}

/** What the library knows of an E.164 number. */
export const describe = (number: string): PhoneNumber | undefined => parsePhoneNumberFromString(number)

/** ISO 3166-1 alpha-2 of the country that an E.164 number belongs to, as far as its digits tell. */
export const countryOf = (number: string): CountryCode | undefined => describe(number)?.country

/** The same, or where several countries share the numbers, the main one of their calling code. */
export const mainCountryOf = (number: string): string | undefined => {
  const found = describe(number)
  const codes: Record<string, string[]> = metadata.country_calling_codes
  return found?.country ?? codes[found?.countryCallingCode ?? '']?.[0]
}

/** True for +1 numbers whose area code is not known to be another country's (completions.md part 1). */
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

/** Territories of the United States, which the library counts as countries and ISO 3166-2 as parts of that one. */
const ofUs = new Set<string>(['AS', 'GU', 'MP', 'PR', 'VI'])

/** True when an E.164 number may belong to a country: by the calling code and, where several share it, by what the library
 *  knows of the digits after it. */
export const fitsCountry = (number: string, iso: string): boolean => {
  const plan = callingCodes.get(iso)
  if (!plan || !number.startsWith(plan.code, 1)) return false
  if (!plan.shared) return true
  const country = countryOf(number)
  return country === undefined || country === iso || (iso === 'US' && ofUs.has(country))
}

/** The digits after the calling code, and those of them that name its area where it is written with some. */
export const nationalParts = (number: string): { national: string; area: string | null } => {
  const parsed = describe(number)
  if (!parsed) return { national: number.slice(1), area: null }
  const [, first = '', second] = parsed.formatInternational().split(' ')
  const area = first.replace(/\D/g, '')
  const national = number.slice(1 + parsed.countryCallingCode.length)
  return { national, area: second !== undefined && national.startsWith(area) ? area : null }
}

/** How people write it: `+44 7911 123456`. */
export const formatted = (number: string): string => describe(number)?.formatInternational() ?? number

/** For logs: the country's part and the last two digits. */
export const masked = (number: string): string => `${number.slice(0, 4)}…${number.slice(-2)}`
