import type { CountryCode } from 'libphonenumber-js/max'
import { formats } from '../http/validation.ts'
import { written } from '../lib/phone.ts'
import type { DetailRow } from './store.ts'

export const detailTypes = ['E', 'A', 'PH', 'WAPH'] as const
export type DetailType = (typeof detailTypes)[number]

/** A detail as it is kept: numbers are E.164. Two of one key are the same detail: `PH` and `WAPH` match. */
export type Detail = { readonly type: DetailType; readonly value: string; readonly key: string }

/** A contact has so many details at most. */
export const mostDetails = 50

const isPhone = (type: DetailType): boolean => type === 'PH' || type === 'WAPH'

const keyOf = (type: DetailType, value: string): string => {
  if (type === 'A') return `A ${value}`
  return type === 'E' ? value.toLowerCase() : value
}

/** Why a text is no detail of its type. */
export type BadDetail = 'phone' | 'email' | 'empty'

/** @param country whose national numbers are read too */
export const readDetail = (type: DetailType, text: string, country?: CountryCode): Detail | BadDetail => {
  const given = text.trim()
  if (given === '') return 'empty'
  if (type === 'E' && (given.length > 254 || !formats.email(given))) return 'email'
  const value = isPhone(type) ? written(given, country) : given
  return value === null ? 'phone' : { type, value, key: keyOf(type, value) }
}

/** A detail that is kept, as if it were given. */
export const asGiven = ({ type, value }: DetailRow): Detail => ({ type, value, key: keyOf(type, value) })

/** Each detail once; of a number that is given as both, it is `WAPH`. */
export const unique = (details: readonly Detail[]): Detail[] => {
  const known = new Map<string, Detail>()
  for (const detail of details) {
    const before = known.get(detail.key)
    if (!before || detail.type === 'WAPH') known.set(detail.key, before ? { ...detail, value: before.value } : detail)
  }
  return [...known.values()]
}

/** What has to be done so that a contact has these details and no others. */
export type Changes = {
  readonly added: readonly Detail[]
  readonly changed: readonly { readonly id: number; readonly detail: Detail }[]
  /** Their ids. */
  readonly removed: readonly number[]
}

/** What matches keeps its id; a number that was found on the messaging app stays known to be there. */
export const changesOf = (had: readonly DetailRow[], wanted: readonly Detail[]): Changes => {
  const byKey = new Map(had.map((row) => [keyOf(row.type, row.value), row]))
  const kept = new Map(wanted.map((detail) => [detail.key, detail]))
  return {
    added: wanted.filter(({ key }) => !byKey.has(key)),
    changed: wanted.flatMap((detail) => {
      const row = byKey.get(detail.key)
      if (!row) return []
      const type = row.type === 'WAPH' ? row.type : detail.type
      const isSame = row.type === type && row.value === detail.value
      return isSame ? [] : [{ id: row.id, detail: { ...detail, type } }]
    }),
    removed: had.filter((row) => !kept.has(keyOf(row.type, row.value))).map(({ id }) => id),
  }
}

/** Texts of some details by what they are, as the search looks at them. */
export const partsOf = (details: readonly { readonly type: DetailType; readonly value: string }[]) => ({
  phones: details.filter(({ type }) => isPhone(type)).map(({ value }) => value),
  emails: details.filter(({ type }) => type === 'E').map(({ value }) => value),
  addresses: details.filter(({ type }) => type === 'A').map(({ value }) => value),
})
