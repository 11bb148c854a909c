import type { TSchema } from 'typebox'
import { properties, required } from '../../../platform/http/openapi.ts'

/** Kind of a value. `rows` is a list of objects, `list` one of plain values. */
export type FieldKind = 'object' | 'rows' | 'list' | 'integer' | 'number' | 'boolean' | 'text'

/** A field of a query or a body, as an option of a command. */
export type OptionField = {
  /** The option as typed, without leading dashes: `settings.system-id`. */
  readonly option: string
  /** Path of the field in the query or the body. */
  readonly path: readonly string[]
  readonly where: 'query' | 'body'
  readonly schema: TSchema
  readonly kind: FieldKind
  readonly required: boolean
}

/** Returns a schema's keywords for inspection. */
export const keywords = (schema: TSchema): Record<string, unknown> => ({ ...schema })

const isSchema = (value: unknown): value is TSchema => typeof value === 'object' && value !== null

const choices = (schema: TSchema): TSchema[] => {
  const { anyOf } = keywords(schema)
  return Array.isArray(anyOf) ? anyOf.filter(isSchema) : []
}

const isNull = (schema: TSchema): boolean => keywords(schema).type === 'null'

/** Returns true if null is allowed. */
export const isNullable = (schema: TSchema): boolean => choices(schema).some(isNull)

/** Returns the schema without the null alternative. */
export const withoutNull = (schema: TSchema): TSchema => choices(schema).find((one) => !isNull(one)) ?? schema

/** Returns the schema of a list's items. */
export const itemsOf = (schema: TSchema): TSchema => {
  const { items } = keywords(withoutNull(schema))
  return isSchema(items) ? items : {}
}

export const kindOf = (schema: TSchema): FieldKind => {
  const { type } = keywords(withoutNull(schema))
  if (type === 'array') return kindOf(itemsOf(schema)) === 'object' ? 'rows' : 'list'
  if (type === 'object' || type === 'integer' || type === 'number' || type === 'boolean') return type
  return 'text'
}

/** Returns true for a long value, such as a certificate: read from a file. */
export const isLongText = (schema: TSchema): boolean => Number(keywords(schema).maxLength ?? 0) > 1000

const conditions = (schema: TSchema | undefined): { property: string; word: unknown; then: TSchema }[] => {
  const all = schema && keywords(schema).allOf
  return (Array.isArray(all) ? all : []).filter(isSchema).flatMap((one) => {
    const { if: condition, then } = keywords(one)
    if (!isSchema(condition) || !isSchema(then)) return []
    return properties(condition).map(([property, schema]) => ({ property, word: keywords(schema).const, then }))
  })
}

/** Returns the fields that another property's value requires: those of the kind of a connection. */
export const conditionalFields = (
  schema: TSchema | undefined,
  values: Readonly<Record<string, unknown>>,
): OptionField[] =>
  conditions(schema)
    .filter(({ property, word }) => values[property] === word)
    .flatMap(({ then }) => properties(then).flatMap(([name, part]) => fieldsOf(part, 'body', [name])))
    .filter(({ required }) => required)

/** Returns the option of a field. */
export const optionOf = (path: readonly string[]): string => path.join('.').replaceAll('_', '-')

/** Returns the fields of a schema, including those of nested objects. */
export const fieldsOf = (
  schema: TSchema | undefined,
  where: OptionField['where'],
  above: readonly string[] = [],
  needed = true,
): OptionField[] =>
  properties(schema).flatMap(([name, property]) => {
    const path = [...above, name]
    const isRequired = needed && required(schema).includes(name)
    const kind = kindOf(property)
    const field = { option: optionOf(path), path, where, schema: property, kind, required: isRequired }
    return kind === 'object' ? [field, ...fieldsOf(withoutNull(property), where, path, isRequired)] : [field]
  })
