// Compares two OpenAPI documents, and lists the differences that break a client of the first one.

type Node = { readonly [key: string]: unknown }

/** The use of a value by a client: it sends one of a request, and reads one of a response. */
type Use = 'request' | 'response'

const isNode = (value: unknown): value is Node => typeof value === 'object' && value !== null && !Array.isArray(value)
const nodeOf = (value: unknown): Node => (isNode(value) ? value : {})
const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : [])
const namesOf = (value: unknown): string[] => listOf(value).map(String)

/** Follows a reference such as `#/components/schemas/Contact`. */
const resolve = (document: Node, node: unknown): Node => {
  const { $ref } = nodeOf(node)
  if (typeof $ref !== 'string') return nodeOf(node)
  return resolve(
    document,
    $ref
      .slice(2)
      .split('/')
      .reduce<unknown>((at, key) => nodeOf(at)[key], document),
  )
}

/** The forms that a value may have: one for each type, and for each object of a union. */
const formsOf = (document: Node, schema: unknown): Node[] => {
  const node = resolve(document, schema)
  const choices = node.anyOf ?? node.oneOf
  if (Array.isArray(choices)) return choices.flatMap((one) => formsOf(document, one))
  if (Array.isArray(node.allOf)) {
    const parts = node.allOf.map((one) => resolve(document, one))
    const properties = Object.assign({}, ...parts.map((part) => part.properties))
    return [{ type: 'object', properties, required: parts.flatMap((part) => listOf(part.required)) }]
  }
  if (Array.isArray(node.type)) return node.type.map((type) => ({ ...node, type }))
  const values = 'const' in node ? [node.const] : Array.isArray(node.enum) ? node.enum : null
  if (values === null) return [node]
  // A list of values may have several types, as null among texts.
  const types = new Set(values.map((value) => (value === null ? 'null' : typeof value)))
  return [...types].map((type) => ({
    type,
    enum: values.filter((value) => (value === null ? 'null' : typeof value) === type),
  }))
}

const typeOf = ({ type }: Node): string => (typeof type === 'string' ? type : 'any')

const typesOf = (forms: readonly Node[]): string => [...new Set(forms.map(typeOf))].sort().join(' or ')

/** Whether a value of one type is always one of the other. */
const isWithin = (one: string, other: string): boolean =>
  one === other || other === 'any' || (one === 'integer' && other === 'number')

/** The values that the forms of a type list; null when any value is allowed. */
const valuesOf = (forms: readonly Node[], type: string): unknown[] | null => {
  const same = forms.filter((form) => isWithin(type, typeOf(form)))
  return same.some((form) => !Array.isArray(form.enum)) ? null : same.flatMap((form) => listOf(form.enum))
}

/** @returns the differences of `after` that break a client of `before`, one line each */
export const breakingDifferences = (before: Node, after: Node): string[] => {
  const found: string[] = []
  /** Differences of pairs of shared schemas; none yet while a pair is compared, as schemas may contain themselves. */
  const known = new Map<string, string[]>()

  const compareObjects = (old: Node, now: Node, use: Use, place: string): string[] => {
    const faults: string[] = []
    const [fields, present] = [nodeOf(old.properties), nodeOf(now.properties)]
    for (const [name, field] of Object.entries(fields)) {
      const here = `${place}.${name}`
      if (!(name in present)) faults.push(`${here}: the field was removed`)
      else faults.push(...compareSchemas(field, present[name], use, here))
    }
    const [needed, needs] = [namesOf(old.required), namesOf(now.required)]
    if (use === 'request')
      for (const name of needs)
        if (!needed.includes(name)) faults.push(`${place}.${name}: the field of a request is required now`)
    if (use === 'response')
      for (const name of needed)
        if (name in present && !needs.includes(name)) faults.push(`${place}.${name}: the field may be absent now`)
    return faults
  }

  const compareForms = (old: Node, now: Node, use: Use, place: string): string[] => {
    if (typeOf(old) === 'object') return compareObjects(old, now, use, place)
    if (typeOf(old) === 'array') return compareSchemas(old.items, now.items, use, `${place}[]`)
    return []
  }

  const compareSchemas = (old: unknown, now: unknown, use: Use, place: string): string[] => {
    const [oldRef, nowRef] = [nodeOf(old).$ref, nodeOf(now).$ref]
    if (typeof oldRef !== 'string' || typeof nowRef !== 'string') return compareResolved(old, now, use, place)
    const pair = `${use} ${oldRef} ${nowRef}`
    if (!known.has(pair)) {
      known.set(pair, [])
      known.set(pair, compareResolved(old, now, use, `${oldRef.split('/').at(-1)} of a ${use}`))
    }
    return known.get(pair) ?? []
  }

  const compareResolved = (old: unknown, now: unknown, use: Use, place: string): string[] => {
    const [olds, nows] = [formsOf(before, old), formsOf(after, now)]
    const faults: string[] = []
    // A request may only widen what it accepts, a response only narrow what it has.
    const [narrow, wide] = use === 'request' ? [olds, nows] : [nows, olds]
    if (narrow.some((form) => !wide.some((other) => isWithin(typeOf(form), typeOf(other)))))
      faults.push(`${place}: the type was ${typesOf(olds)} and is ${typesOf(nows)}`)
    for (const type of new Set(olds.map(typeOf))) {
      const [values, left] = [valuesOf(olds, type), valuesOf(nows, type)]
      if (left === null || !nows.some((form) => isWithin(type, typeOf(form)))) continue
      if (values === null && use === 'request') faults.push(`${place}: only listed values are accepted now`)
      for (const value of values ?? [])
        if (!left.includes(value)) faults.push(`${place}: the value ${JSON.stringify(value)} was removed`)
    }
    for (const form of olds) {
      // The successor of an object or a list is the most similar one of several.
      const [best = []] = nows
        .filter((one) => typeOf(one) === typeOf(form))
        .map((one) => compareForms(form, one, use, place))
        .sort((one, other) => one.length - other.length)
      faults.push(...best)
    }
    return faults
  }

  const compareContents = (old: unknown, now: unknown, use: Use, place: string): void => {
    const [olds, nows] = [nodeOf(nodeOf(old).content), nodeOf(nodeOf(now).content)]
    for (const [type, content] of Object.entries(olds))
      if (!(type in nows)) found.push(`${place}: the media type ${type} was removed`)
      else found.push(...compareSchemas(nodeOf(content).schema, nodeOf(nows[type]).schema, use, place))
  }

  const compareParameters = (old: Node, now: Node, place: string): void => {
    const read = (document: Node, operation: Node) =>
      new Map(
        listOf(operation.parameters).map((one) => {
          const parameter = resolve(document, one)
          return [`${parameter.in} ${parameter.name}`, parameter]
        }),
      )
    const [olds, nows] = [read(before, old), read(after, now)]
    for (const [name, parameter] of olds) {
      const present = nows.get(name)
      if (!present) found.push(`${place} ${name}: the parameter was removed`)
      else found.push(...compareSchemas(parameter.schema, present.schema, 'request', `${place} ${name}`))
    }
    for (const [name, { required }] of nows)
      if (required === true && olds.get(name)?.required !== true)
        found.push(`${place} ${name}: the parameter is required now`)
  }

  const compareOperations = (old: Node, now: Node, place: string): void => {
    compareParameters(old, now, place)
    const body = resolve(after, now.requestBody)
    if (old.requestBody === undefined && body.required === true) found.push(`${place}: a body is required now`)
    compareContents(resolve(before, old.requestBody), body, 'request', `${place} body`)
    for (const [status, response] of Object.entries(nodeOf(old.responses))) {
      const present = nodeOf(now.responses)[status]
      if (present === undefined) found.push(`${place}: the status ${status} was removed`)
      else compareContents(resolve(before, response), resolve(after, present), 'response', `${place} ${status}`)
    }
  }

  for (const [path, methods] of Object.entries(nodeOf(before.paths)))
    for (const [method, operation] of Object.entries(nodeOf(methods))) {
      const place = `${method.toUpperCase()} ${path}`
      const present = nodeOf(nodeOf(after.paths)[path])[method]
      if (present === undefined) found.push(`${place}: the operation was removed`)
      else compareOperations(nodeOf(operation), nodeOf(present), place)
    }
  for (const [name, hook] of Object.entries(nodeOf(before.webhooks))) {
    const present = nodeOf(after.webhooks)[name]
    if (present === undefined) found.push(`event ${name}: the event was removed`)
    else {
      const body = (one: unknown) => nodeOf(nodeOf(one).post).requestBody
      compareContents(resolve(before, body(hook)), resolve(after, body(present)), 'response', `event ${name}`)
    }
  }
  return [...new Set(found)]
}
