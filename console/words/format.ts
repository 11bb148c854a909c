import { locale } from './section.ts'

// Numbers, money, dates and durations in the language of the page. Formatters are kept: making one takes 30 µs.

const formatters = new Map<string, unknown>()

const cached = <T>(kind: string, options: object, make: (tag: string) => T): T => {
  const key = `${locale()} ${kind} ${JSON.stringify(options)}`
  if (!formatters.has(key)) formatters.set(key, make(locale()))
  // The key names the kind, so the value has its type.
  return formatters.get(key) as T
}

const numbers = (options: Intl.NumberFormatOptions) =>
  cached('number', options, (tag) => new Intl.NumberFormat(tag, options))

const dates = (options: Intl.DateTimeFormatOptions) =>
  cached('date', options, (tag) => new Intl.DateTimeFormat(tag, options))

/** Formats decimals of any length: TypeScript calls such a text a StringNumericLiteral. */
const exactly = (format: Intl.NumberFormat, decimal: string): string => format.format(decimal as `${number}`)

export type MoneyOptions = { readonly currency?: string; readonly exact?: boolean; readonly signed?: boolean }

/**
 * Formats an amount of the ledger: cents for show, more digits when the amount is below one cent. `exact` shows every
 * digit of the amount.
 */
export const money = (
  amount: string,
  { currency = 'USD', exact = false, signed = false }: MoneyOptions = {},
): string => {
  const fraction = amount.split('.')[1]?.replace(/0+$/, '').length ?? 0
  const isTiny = /^-?0(?:\.|$)/.test(amount) && fraction > 2
  const most = exact ? Math.max(2, fraction) : isTiny ? Math.min(4, fraction) : 2
  const format = numbers({
    style: 'currency',
    currency,
    currencyDisplay: 'narrowSymbol',
    minimumFractionDigits: 2,
    maximumFractionDigits: most,
    ...(signed ? { signDisplay: 'exceptZero' as const } : {}),
  })
  return exactly(format, amount)
}

export const number = (value: number, options: Intl.NumberFormatOptions = {}): string => numbers(options).format(value)

/** Formats a share of one: 0.978 is `97.8 %`. */
export const percent = (share: number): string => numbers({ style: 'percent', maximumFractionDigits: 1 }).format(share)

/** Formats a count in little room: `1.2K`. */
export const compact = (value: number): string =>
  numbers({ notation: 'compact', maximumFractionDigits: 1 }).format(value)

const sizes = ['byte', 'kilobyte', 'megabyte', 'gigabyte', 'terabyte'] as const

export const bytes = (count: number): string => {
  const step = Math.min(sizes.length - 1, count < 1 ? 0 : Math.floor(Math.log10(count) / 3))
  const unit = sizes[step] ?? 'byte'
  return numbers({ style: 'unit', unit, unitDisplay: step ? 'short' : 'long', maximumFractionDigits: 1 }).format(
    count / 1_000 ** step,
  )
}

type Time = string | number | Date

/** `23 Nov 2026, 14:05:12 GMT+1`. */
export const exactTime = (time: Time, timeZone?: string): string =>
  dates({
    ...{ year: 'numeric', month: 'short', day: 'numeric' },
    ...{ hour: 'numeric', minute: '2-digit', second: '2-digit', timeZoneName: 'short' },
    ...(timeZone === undefined ? {} : { timeZone }),
  }).format(new Date(time))

/** `23 November 2026`. */
export const day = (time: Time): string => dates({ dateStyle: 'long' }).format(new Date(time))

/** `23 Nov`, with the year when it is another one than now. */
export const shortDay = (time: Time, now: number = Date.now()): string => {
  const date = new Date(time)
  const isThisYear = date.getFullYear() === new Date(now).getFullYear()
  return dates({ day: 'numeric', month: 'short', ...(isThisYear ? {} : { year: 'numeric' as const }) }).format(date)
}

/** `14:05`. */
export const clock = (time: Time, timeZone?: string): string =>
  dates({ timeStyle: 'short', ...(timeZone === undefined ? {} : { timeZone }) }).format(new Date(time))

/** `Mon 14:05` within a week, else the day and the time. */
export const shortTime = (time: Time, now: number = Date.now()): string => {
  const date = new Date(time)
  if (date.toDateString() === new Date(now).toDateString()) return clock(date)
  const isRecent = Math.abs(now - date.getTime()) < 6 * 86_400_000
  const where = isRecent ? dates({ weekday: 'short' }).format(date) : shortDay(date, now)
  return `${where}, ${clock(date)}`
}

const steps = [
  ['second', 1, 60],
  ['minute', 60, 3_600],
  ['hour', 3_600, 86_400],
  ['day', 86_400, 7 * 86_400],
] as const

/** `5 minutes ago`, `in 2 hours`; null after a week. */
export const relative = (time: Time, now: number = Date.now()): string | null => {
  const seconds = (new Date(time).getTime() - now) / 1_000
  for (const [unit, size, end] of steps) {
    if (Math.abs(seconds) >= end) continue
    const format = cached('relative', {}, (tag) => new Intl.RelativeTimeFormat(tag, { numeric: 'auto' }))
    return format.format(Math.trunc(seconds / size), unit)
  }
  return null
}

const two = (value: number): string => numbers({ minimumIntegerDigits: 2 }).format(value)

/** `1:04:09` or `4:09`: the length of a call, a clock that runs down. */
export const stopwatch = (seconds: number): string => {
  const whole = Math.max(0, Math.floor(seconds))
  const [hours, minutes, rest] = [Math.floor(whole / 3_600), Math.floor(whole / 60) % 60, whole % 60]
  return hours ? `${number(hours)}:${two(minutes)}:${two(rest)}` : `${number(minutes)}:${two(rest)}`
}

const spans = [
  ['day', 86_400_000],
  ['hour', 3_600_000],
  ['minute', 60_000],
  ['second', 1_000],
] as const

/** `340ms`, `1.2s`, `4m`, `2h`: the largest unit that fits. */
export const duration = (milliseconds: number): string => {
  const [unit, size] = spans.find(([, each]) => Math.abs(milliseconds) >= each) ?? ['millisecond', 1]
  return numbers({ style: 'unit', unit, unitDisplay: 'narrow', maximumFractionDigits: 1 }).format(milliseconds / size)
}

/** `Ada, Grace and Linus`. */
export const list = (texts: readonly string[], type: 'conjunction' | 'disjunction' = 'conjunction'): string =>
  cached('list', { type }, (tag) => new Intl.ListFormat(tag, { type })).format(texts)

/** The name of a country by its code: `GB` is `United Kingdom`. */
export const country = (code: string): string =>
  cached('region', {}, (tag) => new Intl.DisplayNames(tag, { type: 'region', fallback: 'code' })).of(code) ?? code

/** Country calling codes of one and two digits (ITU-T E.164 annex). All others have three. */
const short = /^(?:[17]|2[07]|3[0-469]|4[013-9]|5[1-8]|6[0-6]|8[1246]|9[0-58])/

/** Lengths of the groups by country code and first digits, as the largest plans write them. Others have groups of three. */
const groupings: readonly (readonly [string, readonly number[]])[] = [
  ['1', [3, 3, 4]],
  ['7', [3, 3, 2, 2]],
  ['33', [1, 2, 2, 2, 2]],
  ['44', [4, 6]],
  ['4411', [3, 3, 4]],
  ['44121', [3, 3, 4]],
  ['44131', [3, 3, 4]],
  ['44141', [3, 3, 4]],
  ['44151', [3, 3, 4]],
  ['44161', [3, 3, 4]],
  ['4420', [2, 4, 4]],
  ['44800', [3, 3, 4]],
]

/** Cuts digits into groups of these lengths; the last one has the rest. */
const grouped = (digits: string, lengths: readonly number[]): string => {
  const groups: string[] = []
  let from = 0
  for (const [index, length] of lengths.entries()) {
    const end = index === lengths.length - 1 ? digits.length : from + length
    groups.push(digits.slice(from, end))
    from = end
  }
  return groups.filter((group) => group !== '').join(' ')
}

/** Groups an E.164 number for reading: `+44 20 7946 0018`. */
export const phoneNumber = (number: string): string => {
  const digits = /^\+?(\d{7,15})$/.exec(number)?.[1]
  if (digits === undefined) return number
  const code = short.exec(digits)?.[0] ?? digits.slice(0, 3)
  const rest = digits.slice(code.length)
  const lengths = groupings.findLast(([prefix]) => digits.startsWith(prefix))?.[1]
  if (lengths) return `+${code} ${grouped(rest, lengths)}`
  return `+${code} ${(rest.match(/\d{3}(?=\d{2})|\d+/g) ?? []).join(' ')}`
}

/** Returns the name of a person. */
export const fullName = ({
  first_name,
  last_name,
}: {
  readonly first_name: string
  readonly last_name: string
}): string => `${first_name} ${last_name}`.trim()
