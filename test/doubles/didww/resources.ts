/** Resources of the supplier, in JSON:API 1.0. */

export type Fields = Record<string, unknown>
export type Reference = { type: string; id: string }

export type Resource = {
  id: string
  type: string
  attributes: Fields
  /** Related resources by name. */
  relations: Record<string, Reference | Reference[] | null>
  /** Shown only when the resource is the primary data. */
  meta: Fields | null
}

export const isFields = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

export const fieldsOf = (value: unknown): Fields => (isFields(value) ? value : {})

const referenceOf = (value: unknown): Reference | null =>
  isFields(value) && typeof value.type === 'string' && typeof value.id === 'string'
    ? { type: value.type, id: value.id }
    : null

/** Parses a resource object of a document; null when invalid. */
export const readResource = (value: unknown): Resource | null => {
  const reference = referenceOf(value)
  if (!reference) return null
  const raw = fieldsOf(value)
  const relations: Resource['relations'] = {}
  for (const [name, relationship] of Object.entries(fieldsOf(raw.relationships))) {
    const { data } = fieldsOf(relationship)
    relations[name] = Array.isArray(data) ? data.flatMap((one) => referenceOf(one) ?? []) : referenceOf(data)
  }
  return { ...reference, attributes: fieldsOf(raw.attributes), relations, meta: isFields(raw.meta) ? raw.meta : null }
}

/** All resources by type and id. */
export class Store {
  readonly #types = new Map<string, Map<string, Resource>>()

  all(type: string): Resource[] {
    return [...(this.#types.get(type)?.values() ?? [])]
  }

  find(type: string, id: string): Resource | null {
    return this.#types.get(type)?.get(id) ?? null
  }

  /** The related resource of a name; null when there is none or it is unknown. */
  one(from: Resource, name: string): Resource | null {
    const reference = from.relations[name]
    return reference && !Array.isArray(reference) ? this.find(reference.type, reference.id) : null
  }

  many(from: Resource, name: string): Resource[] {
    const named = from.relations[name]
    return (Array.isArray(named) ? named : named ? [named] : []).flatMap(({ type, id }) => this.find(type, id) ?? [])
  }

  put(resource: Resource): Resource {
    const known = this.#types.get(resource.type) ?? new Map<string, Resource>()
    this.#types.set(resource.type, known.set(resource.id, resource))
    return resource
  }

  remove({ type, id }: Reference): void {
    this.#types.get(type)?.delete(id)
  }
}

/** Serialises a resource; included relations carry data, others only links. */
export const write = (resource: Resource, base: string, included: readonly string[], isPrimary: boolean): Fields => {
  const { id, type, attributes, relations, meta } = resource
  const own = `${base}/${type}/${id}`
  const relationships = Object.entries(relations).map(([name, data]): [string, Fields] => [
    name,
    {
      links: { self: `${own}/relationships/${name}`, related: `${own}/${name}` },
      ...(included.includes(name) ? { data } : {}),
    },
  ])
  return {
    id,
    type,
    attributes,
    ...(relationships.length > 0 ? { relationships: Object.fromEntries(relationships) } : {}),
    ...(meta && isPrimary ? { meta } : {}),
  }
}
