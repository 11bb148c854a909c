import { type CountryCode, parsePhoneNumberFromString } from 'libphonenumber-js/max'
import metadata from 'libphonenumber-js/max/metadata'
import examples from 'libphonenumber-js/mobile/examples'
import type { GroupType } from '../../src/domains/numbers/catalogue/catalogue-rows.ts'
import { padWithDigits, seededRandom } from '../../src/domains/numbers/catalogue/seeded-random.ts'

/** Types in the order in which libphonenumber checks them, each with the index of its pattern in the metadata. */
const typeOrder: [place: number, type: string][] = [
  [3, 'PREMIUM_RATE'],
  [2, 'TOLL_FREE'],
  [9, 'SHARED_COST'],
  [8, 'VOIP'],
  [4, 'PERSONAL_NUMBER'],
  [7, 'PAGER'],
  [6, 'UAN'],
  [5, 'VOICEMAIL'],
]

/** Types of libphonenumber by group type. `national`: one number for a whole country or company. */
const typesByGroup: Record<GroupType, string[]> = {
  global: [],
  local: ['FIXED_LINE', 'FIXED_LINE_OR_MOBILE'],
  mobile: ['MOBILE'],
  national: ['UAN', 'VOIP'],
  sharedcost: ['SHARED_COST'],
  tollfree: ['TOLL_FREE'],
}

const countryRecords = new Map<string, unknown>(Object.entries(metadata.countries))
const list = (value: unknown): unknown[] => (Array.isArray(value) ? value : [])
const fullMatch = (pattern: unknown) => (typeof pattern === 'string' ? new RegExp(`^(?:${pattern})$`) : null)

export type NumberingPlan = {
  iso: CountryCode
  callingCode: string
  /** Returns the type of a national number, or null if it is not in the plan. */
  typeOf(national: string): string | null
  /** Returns the lengths that numbers of the type may have, the usual one first. */
  lengths(type: GroupType): number[]
  /** Returns the area code with which the number is written; null if the country has none. */
  area(national: string): string | null
  /** Leading digits of local numbers, if the metadata states them; else every digit. */
  leadingDigits: string[]
  /** Whether libphonenumber lists this country first for its calling code. */
  isMain: boolean
  /** Whether libphonenumber itself assigns the number to this country and type. */
  isConfirmed(national: string, type: GroupType): boolean
}

/** Usual length of local numbers where it differs from that of mobile numbers. */
const usualLengths: Record<string, number> = {
  DE: 10,
  AT: 10,
  FI: 9,
  IT: 10,
  JP: 9,
  CN: 10,
  KR: 9,
  BR: 10,
  ID: 10,
  LU: 8,
  HR: 8,
}

/** Countries with area codes although they have no national prefix. libphonenumber makes the same exception. */
const hasAreas = new Set(['MX', 'IT'])

const mainCountries = new Map(
  Object.entries<string[]>(metadata.country_calling_codes).map(([code, [first]]) => [code, first]),
)

const leadingDigitsOf = (leading: unknown, fixed: unknown): string[] => {
  if (typeof leading === 'string' && /^[\d|]+$/.test(leading)) return leading.split('|')
  const head = typeof fixed === 'string' ? /^\d+(?![\d{?*|])/.exec(fixed)?.[0] : undefined
  return head &&
    !String(fixed)
      .replace(/\([^()]*(?:\([^()]*\)[^()]*)*\)/g, '')
      .includes('|')
    ? [head]
    : [...'0123456789']
}

export const planOf = (iso: CountryCode): NumberingPlan => {
  const record = list(countryRecords.get(iso))
  const callingCode = String(record[0])
  const general = fullMatch(record[2])
  const types = list(record[11])
  const pattern = (place: number) => fullMatch(list(types[place])[0])
  const special = typeOrder.map(([place, type]) => ({ type, pattern: pattern(place) }))
  const fixed = pattern(0)
  const mobile = pattern(1)
  const same = list(types[0])[0] === list(types[1])[0]
  const areas = Boolean(record[5]) || hasAreas.has(iso)

  const typeOf = (national: string) => {
    if (!general?.test(national)) return null
    for (const { type, pattern } of special) if (pattern?.test(national)) return type
    const isFixed = fixed?.test(national)
    if (isFixed && same) return 'FIXED_LINE_OR_MOBILE'
    const isMobile = mobile?.test(national)
    if (isFixed) return isMobile ? 'FIXED_LINE_OR_MOBILE' : 'FIXED_LINE'
    return isMobile ? 'MOBILE' : null
  }

  return {
    iso,
    callingCode,
    typeOf,
    leadingDigits: leadingDigitsOf(record[10], list(types[0])[0]),
    isMain: mainCountries.get(callingCode) === iso,
    lengths: (type) => {
      const example = examples[iso]?.length ?? 9
      const likely = type === 'local' ? (usualLengths[iso] ?? example) : example
      return list(record[3])
        .map(Number)
        .sort((a, b) => Math.abs(a - likely) - Math.abs(b - likely) || b - a)
    },
    area: (national) => {
      if (!areas) return null
      const written = parsePhoneNumberFromString(`+${callingCode}${national}`)?.formatInternational()
      return written?.split(' ')[1]?.replace(/\D/g, '') ?? null
    },
    isConfirmed: (national, type) => {
      const parsed = parsePhoneNumberFromString(`+${callingCode}${national}`)
      const found = parsed?.getType()
      return parsed?.country === iso &&
        parsed.nationalNumber === national.replace(/^0+/, (zeros) => (iso === 'IT' ? zeros : ''))
        ? found !== undefined && typesByGroup[type].includes(found)
        : false
    },
  }
}

export type NumberRange = { start: string; length: number }

const samples = 120

/** Maximum number of digits that are tried after the prefix. */
const maxDepth = 4

/**
 * Returns number ranges under `prefix` in which every number of that length has the type and satisfies `also`. Each
 * range is tested with `samples` random numbers and is split by its next digit if only some of them match.
 */
export const findRanges = (
  plan: NumberingPlan,
  type: GroupType,
  prefix: string,
  most: number,
  also: (national: string) => boolean = () => true,
): NumberRange[] => {
  const types = typesByGroup[type]
  for (const length of plan.lengths(type)) {
    const next = seededRandom(`${plan.iso} ${type} ${prefix} ${length}`)
    const found: string[] = []
    const search = (start: string, depth: number): void => {
      if (found.length >= most || length - start.length < 3) return
      let right = 0
      let wrong = 0
      const enough = depth === maxDepth ? samples : samples / 4
      for (let i = 0; i < (right > 0 ? samples : enough) && !(right > 0 && wrong > 0); i++) {
        const national = padWithDigits(next, start, length)
        if (types.includes(plan.typeOf(national) ?? '') && also(national)) right++
        else wrong++
      }
      if (right === 0) return
      if (wrong === 0) {
        const sure = [0, 1, 2].every(() => plan.isConfirmed(padWithDigits(next, start, length), type))
        if (sure) found.push(start)
      } else if (depth > 0) {
        const first = next(10)
        for (let i = 0; i < 10; i++) search(`${start}${(first + i) % 10}`, depth - 1)
      }
    }
    search(prefix, maxDepth)
    if (found.length > 0) return found.sort().map((start) => ({ start, length }))
  }
  return []
}
