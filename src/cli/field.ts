import type { TSchema } from 'typebox'
import { properties, required } from '../http/openapi.ts'

/** What a value is made of. `rows` is a list of objects, `list` one of plain values. */
export type Kind = 'object' | 'rows' | 'list' | 'integer' | 'number' | 'boolean' | 'text'

/** A field of a query or a body, as an option of a command. */
export type Field = {
  /** As it is typed, without the dashes before it: `settings.system-id`. */
  readonly option: string
  /** Where it stands in the query or the body. */
  readonly path: readonly string[]
  readonly where: 'query' | 'body'
  readonly schema: TSchema
  readonly kind: Kind
  readonly required: boolean
}

/** A schema's keywords, to be looked at one by one. */
export const keywords = (schema: TSchema): Record<string, unknown> => ({ ...schema })

const isSchema = (value: unknown): value is TSchema => typeof value === 'object' && value !== null

const choices = (schema: TSchema): TSchema[] => {
  const { anyOf } = keywords(schema)
  return Array.isArray(anyOf) ? anyOf.filter(isSchema) : []
}

const isNull = (schema: TSchema): boolean => keywords(schema).type === 'null'

/** True where null may stand instead of a value. */
export const isNullable = (schema: TSchema): boolean => choices(schema).some(isNull)

/** The schema without the null that may stand instead. */
export const present = (schema: TSchema): TSchema => choices(schema).find((one) => !isNull(one)) ?? schema

/** The schema of a list's items. */
export const itemsOf = (schema: TSchema): TSchema => {
  const { items } = keywords(present(schema))
  return isSchema(items) ? items : {}
}

export const kindOf = (schema: TSchema): Kind => {
  const { type } = keywords(present(schema))
  if (type === 'array') return kindOf(itemsOf(schema)) === 'object' ? 'rows' : 'list'
  if (type === 'object' || type === 'integer' || type === 'number' || type === 'boolean') return type
  return 'text'
}

/** A long text, such as a certificate: given as a file. */
export const isDocument = (schema: TSchema): boolean => Number(keywords(schema).maxLength ?? 0) > 1000

const conditions = (schema: TSchema | undefined): { property: string; word: unknown; then: TSchema }[] => {
  const all = schema && keywords(schema).allOf
  return (Array.isArray(all) ? all : []).filter(isSchema).flatMap((one) => {
    const { if: condition, then } = keywords(one)
    if (!isSchema(condition) || !isSchema(then)) return []
    return properties(condition).map(([property, schema]) => ({ property, word: keywords(schema).const, then }))
  })
}

/** The fields that are wanted because a property holds a certain word: those of the kind of a connection. */
export const calledFor = (schema: TSchema | undefined, made: Readonly<Record<string, unknown>>): Field[] =>
  conditions(schema)
    .filter(({ property, word }) => made[property] === word)
    .flatMap(({ then }) => properties(then).flatMap(([name, part]) => fieldsOf(part, 'body', [name])))
    .filter(({ required }) => required)

/** How a name of the interface is typed as an option. */
export const optionOf = (path: readonly string[]): string => path.join('.').replaceAll('_', '-')

/** The fields of a schema, those within its objects too. */
export const fieldsOf = (
  schema: TSchema | undefined,
  where: Field['where'],
  above: readonly string[] = [],
  needed = true,
): Field[] =>
  properties(schema).flatMap(([name, property]) => {
    const path = [...above, name]
    const isRequired = needed && required(schema).includes(name)
    const kind = kindOf(property)
    const field = { option: optionOf(path), path, where, schema: property, kind, required: isRequired }
    return kind === 'object' ? [field, ...fieldsOf(present(property), where, path, isRequired)] : [field]
  })
