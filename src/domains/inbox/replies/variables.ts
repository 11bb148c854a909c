import { storable } from '../../../platform/lib/storable.ts'

/** Variables of canned replies. */
export const variables = ['first_name', 'last_name', 'name', 'number', 'agent'] as const

/** Values of the variables for one conversation and agent. Empty: unknown. */
export type Values = { readonly [name in (typeof variables)[number]]: string }

/** `{{first_name}}`, or `{{first_name|there}}` with a fallback. */
const pattern = /\{\{\s*([^{}|]*?)\s*(?:\|([^{}]*))?\}\}/g

/** Returns the first name in a text that is no variable; null if all are. */
export const unknownVariable = (text: string): string | null => {
  for (const [, name = ''] of text.matchAll(pattern))
    if (!variables.some((known) => known === name)) return storable(name, 60)
  return null
}

/** Returns a text with values instead of its variables: each occurrence, with its own fallback. */
export const fill = (text: string, values: Values): string =>
  text.replace(pattern, (whole, name: string, fallback: string | undefined) => {
    const known = variables.find((one) => one === name)
    if (known === undefined) return whole
    return values[known] || (fallback ?? '').trim()
  })
