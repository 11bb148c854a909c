import { escapeHtml } from './html.ts'
import { renderInline } from './markdown.ts'

export type Json = Record<string, unknown>

export const isJson = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

export const asJson = (value: unknown): Json => (isJson(value) ? value : {})

export const asList = (value: unknown): unknown[] => (Array.isArray(value) ? value : [])

export const asText = (value: unknown): string => (typeof value === 'string' ? value : '')

export type Resolve = (node: unknown) => Json

/** Follows references inside one document. */
export const makeResolver =
  (document: Json): Resolve =>
  (node) => {
    let found = asJson(node)
    for (let depth = 0; depth < 10 && typeof found.$ref === 'string'; depth++) {
      let target: unknown = document
      for (const part of found.$ref.replace(/^#\//, '').split('/')) {
        const name = decodeURIComponent(part).replaceAll('~1', '/').replaceAll('~0', '~')
        target = isJson(target) && Object.hasOwn(target, name) ? target[name] : undefined
      }
      const { $ref: _followed, ...beside } = found
      found = { ...asJson(target), ...beside }
    }
    return found
  }

const code = (value: unknown): string =>
  `<code>${escapeHtml(typeof value === 'string' ? value : JSON.stringify(value))}</code>`

/** Returns the name of a component, or null for another schema. */
const componentOf = (schema: Json): string | null =>
  /^#\/components\/schemas\/(.+)$/.exec(asText(schema.$ref))?.[1] ?? null

const alternatives = (schema: Json): unknown[] => [...asList(schema.anyOf), ...asList(schema.oneOf)]

/** Returns the type of a schema in words; components are links. */
const typeHtml = (schema: Json): string => {
  const component = componentOf(schema)
  if (component !== null) return `<a href="#/schemas/${escapeHtml(component)}">${escapeHtml(component)}</a>`
  if ('const' in schema) return code(schema.const)
  const choices = alternatives(schema)
  if (choices.length > 0) return [...new Set(choices.map((each) => typeHtml(asJson(each))))].join(' or ')
  if (Array.isArray(schema.enum)) return schema.enum.map(code).join(' ')
  const types = (Array.isArray(schema.type) ? schema.type : [schema.type]).filter((one) => typeof one === 'string')
  const words = types.map((type) =>
    type === 'array' && isJson(schema.items) ? `array of ${typeHtml(schema.items)}` : type,
  )
  if (words.length === 0) return 'properties' in schema || 'allOf' in schema ? 'object' : 'any value'
  const format = asText(schema.format)
  return words.join(' or ') + (format === '' ? '' : ` (${escapeHtml(format)})`)
}

const limits: readonly [string, (value: unknown) => string][] = [
  ['minLength', (value) => (value === 1 ? 'not empty' : `at least ${value} characters`)],
  ['maxLength', (value) => `at most ${value} characters`],
  ['minimum', (value) => `at least ${value}`],
  ['maximum', (value) => `at most ${value}`],
  ['minItems', (value) => `at least ${value} items`],
  ['maxItems', (value) => `at most ${value} items`],
  ['pattern', (value) => `matches ${code(value)}`],
  ['default', (value) => `default ${code(value)}`],
]

const limitsOf = (schema: Json): string[] =>
  limits.flatMap(([name, say]) => (name in schema ? [say(schema[name])] : []))

/** Returns one field with its type, limits, description and inner fields. */
export const fieldHtml = (
  resolve: Resolve,
  name: string,
  schema: Json,
  notes: readonly string[],
  description: string,
): string => {
  const about = [typeHtml(schema), ...notes, ...limitsOf(schema)].join(', ')
  const inner = componentOf(schema) === null ? fieldsHtml(resolve, schema) : ''
  const text = description === '' ? '' : `<p>${renderInline(description)}</p>`
  return `<li><code class="name">${escapeHtml(name)}</code> <span class="type">${about}</span>${text}${inner}</li>`
}

/** Returns the inner fields of a schema: of the object itself, of each item, or of each alternative. */
export const fieldsHtml = (resolve: Resolve, schema: Json): string => {
  const parts = asList(schema.allOf).map(asJson)
  if (parts.length > 0) {
    const named = parts.filter((part) => componentOf(part) !== null)
    const own = parts.filter((part) => componentOf(part) === null).map((part) => fieldsHtml(resolve, part))
    const links = named.length > 0 ? `<p>All fields of ${named.map(typeHtml).join(' and ')}.</p>` : ''
    return links + own.join('') + ownFieldsHtml(resolve, schema)
  }
  const choices = alternatives(schema).map(asJson)
  const lists = choices.map((choice) => (componentOf(choice) === null ? fieldsHtml(resolve, choice) : ''))
  const listed = lists.filter((list) => list !== '')
  const heads = listed.length > 1 ? listed.map((list, i) => `<p>Form ${i + 1}</p>${list}`) : listed
  const items = isJson(schema.items) && componentOf(schema.items) === null ? fieldsHtml(resolve, schema.items) : ''
  return ownFieldsHtml(resolve, schema) + heads.join('') + items
}

const ownFieldsHtml = (resolve: Resolve, schema: Json): string => {
  const required = asList(schema.required)
  const fields = Object.entries(asJson(schema.properties)).map(([name, property]) => {
    const inner = asJson(property)
    const description = asText(inner.description) || asText(resolve(inner).description)
    return fieldHtml(resolve, name, inner, required.includes(name) ? ['required'] : [], description)
  })
  const others = asJson(schema.additionalProperties)
  if (Object.keys(others).length > 0)
    fields.push(fieldHtml(resolve, 'any other key', others, [], asText(others.description)))
  return fields.length === 0 ? '' : `<ul class="fields">\n${fields.join('\n')}\n</ul>`
}

/** Returns the type of a body and its fields. The fields of a component are listed here too. */
export const bodyHtml = (resolve: Resolve, schema: Json): string => {
  const fields = fieldsHtml(resolve, componentOf(schema) === null ? schema : resolve(schema))
  const type = `<p class="type">${[typeHtml(schema), ...limitsOf(schema)].join(', ')}</p>`
  return fields === '' || componentOf(schema) !== null ? type + fields : fields
}
