import { canonicalNumber } from '@trunkline/phone/number-forms.ts'
import { parsePhoneNumber } from '@trunkline/phone/phone.ts'
import type { CountryCode } from 'libphonenumber-js/max'
import { formats } from '../../platform/http/validation.ts'

export const detailTypes = ['E', 'A', 'PH', 'WAPH'] as const
export type DetailType = (typeof detailTypes)[number]

/**
 * A normalised detail: numbers are E.164. Calls and messages are matched by the key: `PH` and `WAPH` have the same, and so
 * do the forms of one number. An extension is no part of it.
 */
export type Detail = {
  readonly type: DetailType
  readonly value: string
  readonly key: string
  /** `work`, `mobile`, or any text of a person. */
  readonly label: string | null
  /** Dialled after the number, as it was written: pauses and digits. */
  readonly extension: string | null
}

const isPhone = (type: DetailType): boolean => type === 'PH' || type === 'WAPH'

const keyOf = (type: DetailType, value: string): string => {
  if (type === 'A') return `A ${value}`
  return type === 'E' ? value.toLowerCase() : canonicalNumber(value)
}

/** Details with the same identity are equal. People of one company share a number, with extensions of their own. */
export const identityOf = ({ key, extension }: Pick<Detail, 'key' | 'extension'>): string =>
  extension === null ? key : `${key} ${extension}`

/** Why a text is not a valid detail of its type. */
export type DetailFault = 'phone' | 'email' | 'empty'

type More = {
  readonly country?: CountryCode | undefined
  readonly label?: string | null
  readonly extension?: string | null
}

/** @param more its country: national numbers are accepted too; its label and extension */
export const readDetail = (type: DetailType, text: string, more: More = {}): Detail | DetailFault => {
  const trimmed = text.trim()
  if (trimmed === '') return 'empty'
  if (type === 'E' && (trimmed.length > 254 || !formats.email(trimmed))) return 'email'
  const value = isPhone(type) ? parsePhoneNumber(trimmed, more.country) : trimmed
  if (value === null) return 'phone'
  const extension = isPhone(type) ? more.extension || null : null
  return { type, value, key: keyOf(type, value), label: more.label || null, extension }
}

/** Converts a stored detail to its input form. */
export const toInput = ({ type, value, label, extension }: DetailRow): Detail => ({
  type,
  value,
  key: keyOf(type, value),
  label,
  extension,
})

/** Removes duplicates; a number given as both `PH` and `WAPH` becomes `WAPH`. */
export const unique = (details: readonly Detail[]): Detail[] => {
  const known = new Map<string, Detail>()
  for (const detail of details) {
    const id = identityOf(detail)
    const before = known.get(id)
    const type = detail.type === 'WAPH' ? detail.type : (before ?? detail).type
    known.set(id, before ? { ...before, type, label: before.label ?? detail.label } : detail)
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

/**
 * Computes the changes. Matching details keep their ids, and a number found on the messaging app stays `WAPH`. One of several
 * stored forms of one number stays.
 */
export const changesOf = (had: readonly DetailRow[], details: readonly Detail[]): DetailChanges => {
  const rowsById = new Map(had.map((row) => [identityOf(toInput(row)), row]))
  const wanted = unique(details)
  const kept = new Set(wanted.flatMap((detail) => rowsById.get(identityOf(detail))?.id ?? []))
  return {
    added: wanted.filter((detail) => !rowsById.has(identityOf(detail))),
    changed: wanted.flatMap((detail) => {
      const row = rowsById.get(identityOf(detail))
      if (!row) return []
      const type = row.type === 'WAPH' ? row.type : detail.type
      const isSame = row.type === type && row.value === detail.value && row.label === detail.label
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
  label: string | null
  extension: string | null
  created_at: number
  updated_at: number
}
