import type { TSchema } from 'typebox'
import type { Contract } from './endpoint.ts'

// Form tools send every field: blanks for fields left out, and strings for numbers. Bodies are normalised here by their
// schemas, before they are validated.

/** A JSON Schema as data: the keywords that decide how a value is read. */
type Node = {
  readonly type?: string | readonly string[]
  readonly enum?: readonly unknown[]
  readonly const?: unknown
  readonly anyOf?: readonly Node[]
  /** Of an object whose `kind` decides what its other fields are. */
  readonly allOf?: readonly { readonly if?: Node; readonly then?: Node }[]
  readonly properties?: Readonly<Record<string, Node>>
  readonly required?: readonly string[]
  readonly items?: Node
}

/** Changes an object or array in place; returns the value to put instead of another one. */
type Read = (value: unknown) => unknown

type Mode = {
  /** null is absent where it clears nothing; else it stays, and is refused. */
  readonly dropsNull: boolean
}

const isRecord = (value: unknown): value is Record<string, unknown> =>
  value !== null && typeof value === 'object' && !Array.isArray(value)

const variantsOf = (node: Node): readonly Node[] => node.anyOf?.flatMap(variantsOf) ?? [node]

const typesOf = (node: Node): ReadonlySet<string> =>
  new Set(
    variantsOf(node).flatMap(({ type, enum: values = [], const: value }) => {
      if (type !== undefined) return type
      const allowed = value === undefined ? values : [...values, value]
      return allowed.map((one) => (one === null ? 'null' : typeof one))
    }),
  )

const takesNull = (node: Node): boolean => typesOf(node).has('null') || typesOf(node).size === 0

const scalars = new Map<string, (text: string) => unknown>([
  ['number', (text) => (/^-?\d{1,15}(?:\.\d{1,15})?$/.test(text) ? Number(text) : text)],
  ['integer', (text) => (/^-?\d{1,15}$/.test(text) ? Number(text) : text)],
  ['boolean', (text) => (text === 'true' ? true : text === 'false' ? false : text)],
])

/** Converts strings where the schema allows one scalar type, and not strings. */
const scalarReader = (node: Node): Read | null => {
  const [type, ...others] = [...typesOf(node)].filter((one) => one !== 'null')
  const convert = type !== undefined && others.length === 0 ? scalars.get(type) : undefined
  return convert ? (value) => (typeof value === 'string' ? convert(value) : value) : null
}

/** True for a group of fields of a form that was left empty as a whole. */
const isEmptyGroup = (node: Node, value: unknown, { dropsNull }: Mode): boolean => {
  if (!isRecord(value)) return false
  const { properties = {} } = variantsOf(node).find((variant) => variant.properties) ?? {}
  const fields = new Map(Object.entries(properties))
  const entries = Object.entries(value)
  const isEmpty = ([name, inner]: [string, unknown]): boolean => {
    const known = fields.get(name)
    return inner === '' || (inner === null && dropsNull && known !== undefined && !takesNull(known))
  }
  return entries.length > 0 && entries.every(isEmpty)
}

const fieldReader = (node: Node, isRequired: boolean, mode: Mode): Read | null => {
  const read = nodeReader(node, mode)
  if (isRequired) return read
  const dropsNull = mode.dropsNull && !takesNull(node)
  return (value) => {
    if (value === '' || (value === null && dropsNull) || isEmptyGroup(node, value, mode)) return undefined
    return read ? read(value) : value
  }
}

const fieldsReader = ({ properties = {}, required = [] }: Node, mode: Mode): Read | null => {
  const readers = Object.entries(properties).flatMap(([name, property]) => {
    const read = fieldReader(property, required.includes(name), mode)
    return read ? [{ name, read }] : []
  })
  if (readers.length === 0) return null
  return (value) => {
    if (!isRecord(value)) return value
    for (const { name, read } of readers) {
      const given = value[name]
      if (given === undefined) continue
      const better = read(given)
      if (better === undefined) Reflect.deleteProperty(value, name)
      else if (better !== given) value[name] = better
    }
    return value
  }
}

/** The object as one `kind` has it: with the names that the fields of this kind require. */
const ofKind = (node: Node, then: Node): Node => {
  const narrowed = Object.entries(then.properties ?? {}).map(([name, { required = [] }]): [string, Node] => [
    name,
    { ...node.properties?.[name], required },
  ])
  return { ...node, properties: { ...node.properties, ...Object.fromEntries(narrowed) } }
}

const objectReader = (node: Node, mode: Mode): Read | null => {
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

const nodeReader = (node: Node, mode: Mode): Read | null => {
  const variants = variantsOf(node)
  const group = variants.find(({ properties }) => properties && Object.keys(properties).length > 0)
  const readObject = group ? objectReader(group, mode) : null
  const items = variants.find(({ items }) => items)?.items
  // An item of a list is always given whole.
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
 * Reads the body of a request as form tools mean it. A blank optional value is absent. A null one is absent too, except in
 * an update where null clears the field; an operator's update with any other null is refused. Decimal strings are
 * converted where the schema wants a number, `true` and `false` where it wants a boolean.
 * @returns null where the schema leaves nothing to read
 */
export const bodyReader = ({
  method,
  auth,
  body,
}: Pick<Contract, 'method' | 'auth'> & { body?: TSchema }): Read | null => {
  if (!body) return null
  const isUpdate = method === 'PUT' || method === 'PATCH'
  return nodeReader(body, { dropsNull: !(isUpdate && auth === 'operator') })
}

/** True where a body may be missing: no field of it is required. */
export const isBodyOptional = ({ method, body }: Pick<Contract, 'method'> & { body?: TSchema }): boolean => {
  const { type, required = [] }: Node = { ...body }
  return method === 'POST' && type === 'object' && required.length === 0
}
