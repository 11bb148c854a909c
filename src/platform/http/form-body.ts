import type { TSchema } from 'typebox'
import { isStorable } from '../lib/storable.ts'
import { maxFormFields } from './limits.ts'
import { refuse } from './problem.ts'
import { refusals } from './refusals.ts'

// Bodies of the compatible interface: application/x-www-form-urlencoded, or multipart/form-data of old libraries.

/** The media type of forms. */
export const formType = 'application/x-www-form-urlencoded'

/** The media type of forms with files, which are taken without them. */
export const multipartType = 'multipart/form-data'

/** A form. A name that is repeated has a list. Without a prototype: names come from the client. */
type Form = { [name: string]: unknown }

/** @throws Problem 400 */
const formOf = (fields: Iterable<[string, string | File]>): Form => {
  const form: Form = Object.create(null)
  let count = 0
  for (const [name, value] of fields) {
    if (typeof value !== 'string') throw refusals.fileInForm(name)
    if (++count > maxFormFields) throw refusals.tooManyFormFields(maxFormFields)
    if (!isStorable(name) || !isStorable(value)) throw refusals.badText()
    const known = form[name]
    form[name] = known === undefined ? value : [known, value].flat()
  }
  return form
}

/** Reads a form. @throws Problem 400 for too many fields, and for text that cannot be stored */
export const parseForm = (text: string): Form => formOf(new URLSearchParams(text))

/** Whether a body has more parts than a form may have fields. Each costs 10 µs to parse, so they are counted before. */
const hasTooManyParts = (type: string, body: Buffer): boolean => {
  const [, boundary] = /boundary="?([^";,\s]+)/i.exec(type) ?? []
  if (boundary === undefined) return false
  // The last one ends the body.
  for (let count = 0, at = 0; count <= maxFormFields + 1; count++) {
    const found = body.indexOf(`--${boundary}`, at)
    if (found < 0) return false
    at = found + boundary.length
  }
  return true
}

/**
 * Reads a form of the type `multipart/form-data` (RFC 7578).
 * @param type with the boundary
 * @throws Problem 400 as above, for a file, and for a body that is none
 */
export const parseMultipartForm = async (type: string, body: Buffer): Promise<Form> => {
  if (hasTooManyParts(type, body)) throw refusals.tooManyFormFields(maxFormFields)
  let fields: Iterable<[string, string | File]>
  try {
    fields = await new Response(new Uint8Array(body), { headers: { 'content-type': type } }).formData()
  } catch {
    throw refusals.malformedRequest(`The body is not ${multipartType} with the boundary of its Content-Type`)
  }
  return formOf(fields)
}

type PropertyNode = { readonly type?: string }

const propertiesOf = (schema: TSchema | undefined): [string, PropertyNode][] =>
  schema && 'properties' in schema ? Object.entries<PropertyNode>(Object(schema.properties)) : []

const scalars: ReadonlyMap<string, (text: string) => unknown> = new Map(
  Object.entries({
    integer: (text) => (/^-?\d{1,15}$/.test(text) ? Number(text) : text),
    number: (text) => (/^-?\d{1,15}(?:\.\d{1,15})?$/.test(text) ? Number(text) : text),
    boolean: (text) => (/^true$/i.test(text) ? true : /^false$/i.test(text) ? false : text),
  }),
)

/**
 * Returns a function that converts the values of a form to the types of its schema, in place. One value makes a list of
 * one where the schema has a list; of several values the last counts where it has none. Empty values stay: an empty
 * `Body` erases a text, and an empty `SmsUrl` removes an address. Where the type is not text, they count as absent.
 */
export const formReader = (schema: TSchema): ((form: unknown) => void) => {
  const known = propertiesOf(schema)
  return (form) => {
    if (form === null || typeof form !== 'object') return
    for (const [name, { type = 'string' }] of known) {
      const value: unknown = Reflect.get(form, name)
      if (value === undefined) continue
      if (type === 'array') {
        Reflect.set(form, name, [value].flat())
        continue
      }
      const last: unknown = [value].flat().at(-1)
      if (last === '' && type !== 'string') Reflect.deleteProperty(form, name)
      else Reflect.set(form, name, typeof last === 'string' ? (scalars.get(type)?.(last) ?? last) : last)
    }
  }
}

const matches = (pattern: string, name: string): boolean =>
  pattern.endsWith('*') ? name.startsWith(pattern.slice(0, -1)) : name === pattern

/** Refuses parameters that are not offered and have a value. @throws Problem 400 that names the first of them */
export const refuseParameters = (refused: readonly string[], ...parts: readonly unknown[]): void => {
  for (const part of parts)
    for (const [name, value] of Object.entries(Object(part)))
      if (value !== '' && refused.some((pattern) => matches(pattern, name))) refuse(refusals.parameterNotOffered(name))
}
