import type { TSchema } from 'typebox'
import type { Contract } from './endpoint.ts'

// Form tools send every field: blanks for omitted fields, and strings for numbers. This module normalises bodies by
// their schemas before validation.

/** The keywords of JSON Schema that decide how a value is normalised. */
type SchemaNode = {
  readonly type?: string | readonly string[]
  readonly enum?: readonly unknown[]
  readonly const?: unknown
  readonly anyOf?: readonly SchemaNode[]
  /** Variants of an object whose `kind` decides its other fields. */
  readonly allOf?: readonly { readonly if?: SchemaNode; readonly then?: SchemaNode }[]
  readonly properties?: Readonly<Record<string, SchemaNode>>
  readonly required?: readonly string[]
  readonly items?: SchemaNode
  /** Mark of a secret. */
  readonly 'x-confidential'?: string
}

/** Changes an object or array in place; returns the replacement of any other value. */
type Normalise = (value: unknown) => unknown

type NormaliseMode = {
  /** True: drops null where it clears nothing. False: leaves null in place, and validation refuses it. */
  readonly dropsNull: boolean
}

const isRecord = (value: unknown): value is Record<string, unknown> =>
  value !== null && typeof value === 'object' && !Array.isArray(value)

const variantsOf = (node: SchemaNode): readonly SchemaNode[] => node.anyOf?.flatMap(variantsOf) ?? [node]

const typesOf = (node: SchemaNode): ReadonlySet<string> =>
  new Set(
    variantsOf(node).flatMap(({ type, enum: values = [], const: value }) => {
      if (type !== undefined) return type
      const allowed = value === undefined ? values : [...values, value]
      return allowed.map((one) => (one === null ? 'null' : typeof one))
    }),
  )

const takesNull = (node: SchemaNode): boolean => typesOf(node).has('null') || typesOf(node).size === 0

const scalars = new Map<string, (text: string) => unknown>([
  ['number', (text) => (/^-?\d{1,15}(?:\.\d{1,15})?$/.test(text) ? Number(text) : text)],
  ['integer', (text) => (/^-?\d{1,15}$/.test(text) ? Number(text) : text)],
  ['boolean', (text) => (text === 'true' ? true : text === 'false' ? false : text)],
])

/** Converts strings where the schema allows a single scalar type other than string. */
const scalarReader = (node: SchemaNode): Normalise | null => {
  const [type, ...others] = [...typesOf(node)].filter((one) => one !== 'null')
  const convert = type !== undefined && others.length === 0 ? scalars.get(type) : undefined
  return convert ? (value) => (typeof value === 'string' ? convert(value) : value) : null
}

/**
 * True if all fields of a form group are empty. Entries of free names are no form, and of secrets every given one counts:
 * without it, a receiver would silently get none.
 */
const isEmptyGroup = (node: SchemaNode, value: unknown, { dropsNull }: NormaliseMode): boolean => {
  const { properties } = variantsOf(node).find((variant) => variant.properties) ?? {}
  if (!isRecord(value) || properties === undefined || node['x-confidential'] !== undefined) return false
  const fields = new Map(Object.entries(properties))
  const entries = Object.entries(value)
  const isEmpty = ([name, inner]: [string, unknown]): boolean => {
    const known = fields.get(name)
    return inner === '' || (inner === null && dropsNull && known !== undefined && !takesNull(known))
  }
  return entries.length > 0 && entries.every(isEmpty)
}

const fieldReader = (node: SchemaNode, isRequired: boolean, mode: NormaliseMode): Normalise | null => {
  const read = nodeReader(node, mode)
  if (isRequired) return read
  const dropsNull = mode.dropsNull && !takesNull(node)
  return (value) => {
    if (value === '' || (value === null && dropsNull) || isEmptyGroup(node, value, mode)) return undefined
    return read ? read(value) : value
  }
}

const fieldsReader = ({ properties = {}, required = [] }: SchemaNode, mode: NormaliseMode): Normalise | null => {
  const readers = Object.entries(properties).flatMap(([name, property]) => {
    const read = fieldReader(property, required.includes(name), mode)
    return read ? [{ name, read }] : []
  })
  if (readers.length === 0) return null
  return (value) => {
    if (!isRecord(value)) return value
    for (const { name, read } of readers) {
      const field = value[name]
      if (field === undefined) continue
      const better = read(field)
      if (better === undefined) Reflect.deleteProperty(value, name)
      else if (better !== field) value[name] = better
    }
    return value
  }
}

/** Returns the schema of one `kind`, with the required fields of that kind. */
const ofKind = (node: SchemaNode, then: SchemaNode): SchemaNode => {
  const narrowed = Object.entries(then.properties ?? {}).map(([name, { required = [] }]): [string, SchemaNode] => [
    name,
    { ...node.properties?.[name], required },
  ])
  return { ...node, properties: { ...node.properties, ...Object.fromEntries(narrowed) } }
}

const objectReader = (node: SchemaNode, mode: NormaliseMode): Normalise | null => {
  const usual = fieldsReader(node, mode)
  const byKind = new Map(
    node.allOf?.map((one) => [one.if?.properties?.kind?.const, fieldsReader(ofKind(node, one.then ?? {}), mode)]),
  )
  if (byKind.size === 0) return usual
  return (value) => {
    const read = isRecord(value) ? (byKind.get(value.kind) ?? usual) : null
    return read ? read(value) : value
  }
}

const nodeReader = (node: SchemaNode, mode: NormaliseMode): Normalise | null => {
  const variants = variantsOf(node)
  const group = variants.find(({ properties }) => properties && Object.keys(properties).length > 0)
  const readObject = group ? objectReader(group, mode) : null
  const items = variants.find(({ items }) => items)?.items
  // A list item is always complete, never a partial update.
  const readItem = items ? nodeReader(items, { dropsNull: true }) : null
  const readScalar = scalarReader(node)
  if (!readObject && !readItem) return readScalar
  return (value) => {
    if (!Array.isArray(value)) return readObject ? readObject(value) : value
    if (readItem) for (const [i, item] of value.entries()) value[i] = readItem(item)
    return value
  }
}

/**
 * Returns a function that normalises request bodies of form tools. A blank optional value counts as absent. A null
 * value does too, except in an update where null clears the field; an operator's update with any other null is refused.
 * Decimal strings become numbers where the schema requires a number; `true` and `false` become booleans.
 * @returns null if the schema needs no normalisation
 */
export const bodyReader = ({
  method,
  auth,
  body,
}: Pick<Contract, 'method' | 'auth'> & { body?: TSchema }): Normalise | null => {
  if (!body) return null
  const isUpdate = method === 'PUT' || method === 'PATCH'
  return nodeReader(body, { dropsNull: !(isUpdate && auth === 'operator') })
}

/** True if a body may be missing, as none of its fields is required. */
export const isBodyOptional = ({ method, body }: Pick<Contract, 'method'> & { body?: TSchema }): boolean => {
  const { type, required = [] }: SchemaNode = { ...body }
  return method === 'POST' && type === 'object' && required.length === 0
}
