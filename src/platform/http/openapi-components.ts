export type Json = Record<string, unknown>

/** Components of the document: schemas, responses and parameters that operations refer to by name. */
export type Components = {
  readonly schemas: Json
  readonly responses: Json
  /** Returns a copy of a schema in which each named part is a reference. @throws if two schemas share a name */
  referenced(node: unknown): unknown
  /** Adds a response under a name. @throws if another response has the name. @returns a reference to it */
  response(name: string, body: Json): Json
}

export const makeComponents = (initial: Json): Components => {
  const schemas: Json = { ...initial }
  const responses: Json = {}
  const texts = new Map<string, string>()

  const add = (into: Json, kind: string, name: string, value: unknown): Json => {
    const text = JSON.stringify(value)
    const path = `#/components/${kind}/${name}`
    const known = texts.get(path)
    if (known !== undefined && known !== text) throw new Error(`Two different ${kind} have the name ${name}`)
    texts.set(path, text)
    into[name] = value
    return { $ref: path }
  }

  const referenced = (node: unknown): unknown => {
    if (Array.isArray(node)) return node.map(referenced)
    if (node === null || typeof node !== 'object') return node
    const { 'x-name': name, ...rest }: Json = { ...node }
    // Examples are values, not schemas.
    const copy = Object.fromEntries(
      Object.entries(rest).map(([key, value]) => [key, key === 'examples' ? value : referenced(value)]),
    )
    return typeof name === 'string' ? add(schemas, 'schemas', name, copy) : copy
  }

  return {
    schemas,
    responses,
    referenced,
    response: (name, body) => add(responses, 'responses', name, body),
  }
}
