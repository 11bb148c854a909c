import type { TSchema } from 'typebox'

/** `whole`: masked entirely. `path`: only the origin of a URL is shown. */
export type Masking = 'whole' | 'path'

/** Stands for a value that the reader may not see. */
export const mask = '•••'

/** Marks a field that is masked for observers and in the audit trail: a secret, a message text, personal data. */
export const Confidential = <T extends TSchema>(schema: T, how: Masking = 'whole'): T => ({
  ...schema,
  'x-confidential': how,
})

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const markOf = (schema: unknown): Masking | null => {
  const mark = isObject(schema) ? schema['x-confidential'] : null
  return mark === 'whole' || mark === 'path' ? mark : null
}

const childrenOf = (schema: unknown): { properties: [string, unknown][]; others: unknown[] } => {
  if (!isObject(schema)) return { properties: [], others: [] }
  const { properties, items, anyOf, allOf } = schema
  const lists = [anyOf, allOf].filter(Array.isArray).flat()
  return {
    properties: isObject(properties) ? Object.entries(properties) : [],
    others: items ? [items, ...lists] : lists,
  }
}

/** Returns the names of the fields of a schema itself. */
export const topFields = (schema: unknown): ReadonlySet<string> => {
  const { properties, others } = childrenOf(schema)
  return new Set([...properties.map(([name]) => name), ...others.flatMap((other) => [...topFields(other)])])
}

/** Returns the names of the marked fields of schemas, at any depth. */
export const confidentialNames = (...schemas: unknown[]): Map<string, Masking> => {
  const names = new Map<string, Masking>()
  for (const schema of schemas) {
    const { properties, others } = childrenOf(schema)
    for (const [name, property] of properties) {
      const mark = markOf(property)
      if (mark) names.set(name, mark)
    }
    for (const found of confidentialNames(...properties.map(([, property]) => property), ...others))
      names.set(found[0], found[1])
  }
  return names
}

const masked = (value: unknown, how: Masking): unknown => {
  if (value === null || value === undefined) return value
  return how === 'path' && typeof value === 'string' && URL.canParse(value) ? `${new URL(value).origin}/${mask}` : mask
}

/** Fields that are masked without a mark. */
const alwaysMasked = /^(?:.*_)?(?:key|password|secret|token)$|^text$/

/** Returns a copy of a value with these fields masked, at any depth. @param name of the field that holds the value */
export const maskNamed = (names: ReadonlyMap<string, Masking>, value: unknown, name = ''): unknown => {
  const how = names.get(name) ?? (alwaysMasked.test(name) ? 'whole' : null)
  if (how) return masked(value, how)
  if (Array.isArray(value)) return value.map((one) => maskNamed(names, one))
  if (!isObject(value)) return value
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, maskNamed(names, one, key)]))
}

/** Returns a copy of a response with its marked fields masked. */
export const maskMarked = (schema: unknown, value: unknown): unknown => {
  const how = markOf(schema)
  if (how) return masked(value, how)
  const { properties, others } = childrenOf(schema)
  if (Array.isArray(value)) return value.map((one) => maskMarked(others[0], one))
  if (!isObject(value) || properties.length === 0) return value
  const known = new Map(properties)
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, maskMarked(known.get(key), one)]))
}
