import { canonicalNumber } from '@trunkline/phone/number-forms.ts'
import { parsePhoneNumber } from '@trunkline/phone/phone.ts'
import type { CountryCode } from 'libphonenumber-js/max'
import { formats } from '../../platform/http/validation.ts'

export const detailTypes = ['E', 'A', 'PH', 'WAPH'] as const
export type DetailType = (typeof detailTypes)[number]

/** A normalised detail: numbers are E.164. Details with the same key are equal: `PH` and `WAPH` match, and so do the forms of
 *  one number. */
export type Detail = { readonly type: DetailType; readonly value: string; readonly key: string }

const isPhone = (type: DetailType): boolean => type === 'PH' || type === 'WAPH'

const keyOf = (type: DetailType, value: string): string => {
  if (type === 'A') return `A ${value}`
  return type === 'E' ? value.toLowerCase() : canonicalNumber(value)
}

/** Why a text is not a valid detail of its type. */
export type DetailFault = 'phone' | 'email' | 'empty'

/** @param country its national numbers are accepted too */
export const readDetail = (type: DetailType, text: string, country?: CountryCode): Detail | DetailFault => {
  const trimmed = text.trim()
  if (trimmed === '') return 'empty'
  if (type === 'E' && (trimmed.length > 254 || !formats.email(trimmed))) return 'email'
  const value = isPhone(type) ? parsePhoneNumber(trimmed, country) : trimmed
  return value === null ? 'phone' : { type, value, key: keyOf(type, value) }
}

/** Converts a stored detail to its input form. */
export const toInput = ({ type, value }: DetailRow): Detail => ({ type, value, key: keyOf(type, value) })

/** Removes duplicates; a number given as both `PH` and `WAPH` becomes `WAPH`. */
export const unique = (details: readonly Detail[]): Detail[] => {
  const known = new Map<string, Detail>()
  for (const detail of details) {
    const before = known.get(detail.key)
    if (!before || detail.type === 'WAPH') known.set(detail.key, before ? { ...detail, value: before.value } : detail)
  }
  return [...known.values()]
}

/** Changes that turn the stored details into the wanted ones. */
export type DetailChanges = {
  readonly added: readonly Detail[]
  readonly changed: readonly { readonly id: number; readonly detail: Detail }[]
  /** Ids of removed details. */
  readonly removed: readonly number[]
}

/** Computes the changes. Matching details keep their ids, and a number found on the messaging app stays `WAPH`. One of several
 *  stored forms of one number stays. */
export const changesOf = (had: readonly DetailRow[], details: readonly Detail[]): DetailChanges => {
  const byKey = new Map(had.map((row) => [keyOf(row.type, row.value), row]))
  const wanted = unique(details)
  const kept = new Set(wanted.flatMap(({ key }) => byKey.get(key)?.id ?? []))
  return {
    added: wanted.filter(({ key }) => !byKey.has(key)),
    changed: wanted.flatMap((detail) => {
      const row = byKey.get(detail.key)
      if (!row) return []
      const type = row.type === 'WAPH' ? row.type : detail.type
      const isSame = row.type === type && row.value === detail.value
      return isSame ? [] : [{ id: row.id, detail: { ...detail, type } }]
    }),
    removed: had.filter(({ id }) => !kept.has(id)).map(({ id }) => id),
  }
}

/** Groups the values of details as the search index needs them. */
export const searchValuesOf = (details: readonly { readonly type: DetailType; readonly value: string }[]) => ({
  phones: details.filter(({ type }) => isPhone(type)).map(({ value }) => value),
  emails: details.filter(({ type }) => type === 'E').map(({ value }) => value),
  addresses: details.filter(({ type }) => type === 'A').map(({ value }) => value),
})

/** Times in Unix seconds. */
export type DetailRow = {
  contact_id: string
  id: number
  type: DetailType
  value: string
  created_at: number
  updated_at: number
}
