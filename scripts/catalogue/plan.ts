import { type CountryCode, parsePhoneNumberFromString } from 'libphonenumber-js/max'
import metadata from 'libphonenumber-js/max/metadata'
import examples from 'libphonenumber-js/mobile/examples'
import { chance, fill } from '../../src/numbers/chance.ts'
import type { GroupType } from '../../src/numbers/rows.ts'

/** The order in which libphonenumber decides a number's type; the index is the place of its pattern in the metadata. */
const order: [place: number, type: string][] = [
  [3, 'PREMIUM_RATE'],
  [2, 'TOLL_FREE'],
  [9, 'SHARED_COST'],
  [8, 'VOIP'],
  [4, 'PERSONAL_NUMBER'],
  [7, 'PAGER'],
  [6, 'UAN'],
  [5, 'VOICEMAIL'],
]

/** What libphonenumber calls the numbers of our types. `national`: one number for a whole country or company. */
const wanted: Record<GroupType, string[]> = {
  global: [],
  local: ['FIXED_LINE', 'FIXED_LINE_OR_MOBILE'],
  mobile: ['MOBILE'],
  national: ['UAN', 'VOIP'],
  sharedcost: ['SHARED_COST'],
  tollfree: ['TOLL_FREE'],
}

const records = new Map<string, unknown>(Object.entries(metadata.countries))
const list = (value: unknown): unknown[] => (Array.isArray(value) ? value : [])
const whole = (pattern: unknown) => (typeof pattern === 'string' ? new RegExp(`^(?:${pattern})$`) : null)

export type Plan = {
  iso: CountryCode
  callingCode: string
  /** The type of a national number, or null when it is not in plan. */
  typeOf(national: string): string | null
  /** Lengths that numbers of the type may have, the usual one first. */
  lengths(type: GroupType): number[]
  /** The area code that the number is written with; null where the country has none. */
  area(national: string): string | null
  /** What local numbers begin with, where the metadata says it outright; else every digit. */
  heads: string[]
  /** True when this is the country that its calling code was given to first. */
  isMain: boolean
  /** True when the library itself takes the number for this country's and of this type. */
  agrees(national: string, type: GroupType): boolean
}

/** Usual length of local numbers where it is not that of mobile ones. */
const usual: Record<string, number> = {
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

/** Two countries without a national prefix that have area codes all the same (libphonenumber does likewise). */
const hasAreas = new Set(['MX', 'IT'])

const mainOf = new Map(Object.entries<string[]>(metadata.country_calling_codes).map(([code, [first]]) => [code, first]))

const headsOf = (leading: unknown, fixed: unknown): string[] => {
  if (typeof leading === 'string' && /^[\d|]+$/.test(leading)) return leading.split('|')
  const head = typeof fixed === 'string' ? /^\d+(?![\d{?*|])/.exec(fixed)?.[0] : undefined
  return head &&
    !String(fixed)
      .replace(/\([^()]*(?:\([^()]*\)[^()]*)*\)/g, '')
      .includes('|')
    ? [head]
    : [...'0123456789']
}

export const planOf = (iso: CountryCode): Plan => {
  const record = list(records.get(iso))
  const callingCode = String(record[0])
  const general = whole(record[2])
  const types = list(record[11])
  const pattern = (place: number) => whole(list(types[place])[0])
  const special = order.map(([place, type]) => ({ type, pattern: pattern(place) }))
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
    heads: headsOf(record[10], list(types[0])[0]),
    isMain: mainOf.get(callingCode) === iso,
    lengths: (type) => {
      const example = examples[iso]?.length ?? 9
      const likely = type === 'local' ? (usual[iso] ?? example) : example
      return list(record[3])
        .map(Number)
        .sort((a, b) => Math.abs(a - likely) - Math.abs(b - likely) || b - a)
    },
    area: (national) => {
      if (!areas) return null
      const written = parsePhoneNumberFromString(`+${callingCode}${national}`)?.formatInternational()
      return written?.split(' ')[1]?.replace(/\D/g, '') ?? null
    },
    agrees: (national, type) => {
      const parsed = parsePhoneNumberFromString(`+${callingCode}${national}`)
      const found = parsed?.getType()
      return parsed?.country === iso &&
        parsed.nationalNumber === national.replace(/^0+/, (zeros) => (iso === 'IT' ? zeros : ''))
        ? found !== undefined && wanted[type].includes(found)
        : false
    },
  }
}

export type Beginning = { start: string; length: number }

const samples = 120

/** Digits that are tried after the prefix. */
const deepest = 4

/**
 * Beginnings of numbers under `prefix` such that whatever follows them, up to `length`, is a number of that type (and
 * `also` holds): found by trying `samples` numbers, and digit by digit where only some of them do.
 */
export const beginnings = (
  plan: Plan,
  type: GroupType,
  prefix: string,
  most: number,
  also: (national: string) => boolean = () => true,
): Beginning[] => {
  const types = wanted[type]
  for (const length of plan.lengths(type)) {
    const next = chance(`${plan.iso} ${type} ${prefix} ${length}`)
    const found: string[] = []
    const grow = (start: string, depth: number): void => {
      if (found.length >= most || length - start.length < 3) return
      let right = 0
      let wrong = 0
      const enough = depth === deepest ? samples : samples / 4
      for (let i = 0; i < (right > 0 ? samples : enough) && !(right > 0 && wrong > 0); i++) {
        const national = fill(next, start, length)
        if (types.includes(plan.typeOf(national) ?? '') && also(national)) right++
        else wrong++
      }
      if (right === 0) return
      if (wrong === 0) {
        const sure = [0, 1, 2].every(() => plan.agrees(fill(next, start, length), type))
        if (sure) found.push(start)
      } else if (depth > 0) {
        const first = next(10)
        for (let i = 0; i < 10; i++) grow(`${start}${(first + i) % 10}`, depth - 1)
      }
    }
    grow(prefix, deepest)
    if (found.length > 0) return found.sort().map((start) => ({ start, length }))
  }
  return []
}
