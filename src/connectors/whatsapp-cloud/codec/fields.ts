/** A JSON object of which nothing is known yet. */
export type Fields = Readonly<Record<string, unknown>>

/** The object, or an empty one where there is none. */
export const fieldsOf = (value: unknown): Fields =>
  // An object that is no array has names and values.
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Fields) : {}

/** The objects of a list, or none. */
export const listOf = (value: unknown): readonly Fields[] => (Array.isArray(value) ? value.map(fieldsOf) : [])

/** A string that says something, or null. */
export const textOf = (value: unknown): string | null => (typeof value === 'string' && value !== '' ? value : null)

export const numberOf = (value: unknown): number | null => {
  const number = typeof value === 'string' && value !== '' ? Number(value) : value
  return typeof number === 'number' && Number.isFinite(number) ? number : null
}
