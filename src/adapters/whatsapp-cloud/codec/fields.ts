/** A JSON object with unknown properties. */
export type Fields = Readonly<Record<string, unknown>>

/** The object, or an empty one. */
export const fieldsOf = (value: unknown): Fields =>
  // A non-array object has string keys.
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Fields) : {}

/** The objects of a list, or none. */
export const listOf = (value: unknown): readonly Fields[] => (Array.isArray(value) ? value.map(fieldsOf) : [])

/** A non-empty string, or null. */
export const textOf = (value: unknown): string | null => (typeof value === 'string' && value !== '' ? value : null)

export const numberOf = (value: unknown): number | null => {
  const number = typeof value === 'string' && value !== '' ? Number(value) : value
  return typeof number === 'number' && Number.isFinite(number) ? number : null
}
