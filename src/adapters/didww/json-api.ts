/** Parser of JSON:API 1.0 as DIDWW uses it. Missing values are null, never guessed. */

export type Fields = Readonly<Record<string, unknown>>

export type Resource = {
  readonly id: string
  readonly type: string
  readonly attributes: Fields
  readonly meta: Fields
  /** Related resources of this name that the document includes. */
  related(name: string): Resource[]
}

export type JsonApiDocument = {
  /** A single resource is a list of one. */
  readonly data: readonly Resource[]
  readonly meta: Fields
  /** True when a page follows. */
  readonly hasNext: boolean
}

/** The answer violates the interface. */
export class FormatError extends Error {}

const isFields = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

export const fields = (value: unknown): Fields => (isFields(value) ? value : {})

export const list = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : value ? [value] : [])

export const text = (from: Fields, name: string): string | null => {
  const value = from[name]
  return typeof value === 'string' ? value : null
}

export const count = (from: Fields, name: string): number | null => {
  const value = from[name]
  return typeof value === 'number' && Number.isSafeInteger(value) ? value : null
}

export const isTrue = (from: Fields, name: string): boolean => from[name] === true

/** @throws FormatError */
export const required = <T>(value: T | null, what: string): T => {
  if (value === null) throw new FormatError(`${what} is missing in the answer`)
  return value
}

const keyOf = (reference: Fields): string => `${text(reference, 'type')}/${text(reference, 'id')}`

/** @throws FormatError */
export const readDocument = (body: unknown): JsonApiDocument => {
  if (!isFields(body) || !('data' in body)) throw new FormatError('the answer has no data')
  const included = new Map<string, Resource>()
  const resource = (value: unknown): Resource => {
    const raw = fields(value)
    const relationships = fields(raw.relationships)
    return {
      id: required(text(raw, 'id'), 'id'),
      type: required(text(raw, 'type'), 'type'),
      attributes: fields(raw.attributes),
      meta: fields(raw.meta),
      related: (name) =>
        list(fields(relationships[name]).data).flatMap((reference) => included.get(keyOf(fields(reference))) ?? []),
    }
  }
  for (const one of list(body.included)) included.set(keyOf(fields(one)), resource(one))
  const next = fields(body.links).next
  return { data: list(body.data).map(resource), meta: fields(body.meta), hasNext: typeof next === 'string' }
}

/** Returns the errors of an answer in one line. */
export const readErrors = (body: unknown): string | null => {
  const said = list(fields(body).errors).flatMap((one) => {
    const error = fields(one)
    return text(error, 'detail') ?? text(error, 'title') ?? []
  })
  return said.length > 0 ? said.join('; ').slice(0, 500) : null
}
