import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { contracts } from '../src/contracts.ts'
import { eventDocuments } from '../src/event-payloads.ts'
import { type Contract, isRepeatable } from '../src/platform/http/endpoint.ts'
import { openapi, properties, required } from '../src/platform/http/openapi.ts'
import { tagDescriptions } from '../src/tags.ts'

// Generates the types and the tables of operations of @trunkline/client from the contracts. The OpenAPI document names
// the shared schemas; the contracts name the methods.

type Node = { readonly [key: string]: unknown }

const folder = join(import.meta.dirname, '..', 'packages', 'client', 'src')
const document: Node = JSON.parse(JSON.stringify(openapi(contracts, '0', eventDocuments, tagDescriptions)))

/** Entry points of the package: `index` has the operations under /open, without those of the sandbox. */
const entryPoints = ['index', 'sandbox', 'operator'] as const
type EntryPoint = (typeof entryPoints)[number]

const entryPointOf = ({ url }: Contract): EntryPoint =>
  url.startsWith('/sandbox/') ? 'sandbox' : url.startsWith('/operator/') ? 'operator' : 'index'

const isNode = (value: unknown): value is Node => typeof value === 'object' && value !== null && !Array.isArray(value)

const child = (node: unknown, ...path: readonly string[]): unknown =>
  path.reduce<unknown>((at, key) => (isNode(at) ? at[key] : undefined), node)

const list = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : [])

const literal = (value: unknown): string =>
  typeof value === 'string' ? `'${value.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'` : String(value)

const keyOf = (name: string): string => (/^[a-zA-Z_]\w*$/.test(name) ? name : literal(name))

const union = (types: readonly string[]): string => [...new Set(types)].join(' | ')

const comment = (node: unknown): string => {
  const text = child(node, 'description')
  return typeof text === 'string' ? `/** ${text.replaceAll('*/', '*\\/')} */\n` : ''
}

const plainTypes: Readonly<Record<string, string>> = {
  string: 'string',
  integer: 'number',
  number: 'number',
  boolean: 'boolean',
  null: 'null',
}

const objectType = (schema: Node): string => {
  const fields = Object.entries(isNode(schema.properties) ? schema.properties : {})
  const needed = list(schema.required)
  const lines = fields.map(
    ([name, value]) => `${comment(value)}${keyOf(name)}${needed.includes(name) ? '' : '?'}: ${typeOf(value)}`,
  )
  const others =
    schema.additionalProperties ?? Object.values(isNode(schema.patternProperties) ? schema.patternProperties : {})[0]
  if (isNode(others))
    return fields.length ? `{\n${lines.join('\n')}\n[key: string]: unknown\n}` : `Record<string, ${typeOf(others)}>`
  return fields.length ? `{\n${lines.join('\n')}\n}` : 'Record<string, unknown>'
}

/** Returns the TypeScript type of a JSON Schema. */
const typeOf = (schema: unknown): string => {
  if (!isNode(schema)) return 'unknown'
  if (typeof schema.$ref === 'string') return schema.$ref.split('/').at(-1) ?? 'unknown'
  if ('const' in schema) return literal(schema.const)
  if (Array.isArray(schema.enum)) return union(schema.enum.map(literal))
  const choices = schema.anyOf ?? schema.oneOf
  if (Array.isArray(choices)) return union(choices.map(typeOf))
  if (Array.isArray(schema.allOf)) return schema.allOf.map((part) => `(${typeOf(part)})`).join(' & ')
  if (Array.isArray(schema.type)) return union(schema.type.map((type) => typeOf({ ...schema, type })))
  if (schema.type === 'array') return `readonly (${typeOf(schema.items)})[]`
  if (schema.type === 'object') return objectType(schema)
  return plainTypes[String(schema.type)] ?? 'unknown'
}

type Operation = {
  readonly contract: Contract & { readonly client: string }
  readonly group: string
  readonly method: string
  readonly schema: Node
}

const operations: readonly Operation[] = contracts
  .flatMap((contract) => (contract.client === undefined ? [] : [{ ...contract, client: contract.client }]))
  .map((contract) => {
    const [group = '', method = ''] = contract.client.split('.')
    const path = contract.url.replace(/:(\w+)/g, '{$1}')
    const schema = child(document, 'paths', path, contract.method.toLowerCase())
    if (!isNode(schema)) throw new Error(`${contract.id} is missing in the OpenAPI document`)
    return { contract, group, method, schema }
  })
  .sort((a, b) => (a.contract.client < b.contract.client ? -1 : 1))

const ofEntryPoint = (entryPoint: EntryPoint) =>
  operations.filter(({ contract }) => entryPointOf(contract) === entryPoint)

const responseOf = ({ contract, schema }: Operation): Node => {
  const content = child(schema, 'responses', String(contract.status), 'content')
  return isNode(content) ? content : {}
}

/** Paging aliases that the interface accepts; the client offers one spelling of each. */
const pagingFields = ['page', 'per_page']

/** True if the response is a file. */
const isFile = (operation: Operation): boolean => !('application/json' in responseOf(operation))

/** Names a page's rows: the only array of a paged response. */
const rowsOf = (operation: Operation): string | undefined => {
  const query = properties(operation.contract.query).map(([name]) => name)
  if (!query.includes('cursor') && !query.includes('page_number')) return undefined
  const arrays = properties(operation.contract.reply).filter(
    ([, { type }]: [string, { type?: unknown }]) => type === 'array',
  )
  const [[name] = [undefined], ...more] = arrays
  if (more.length) throw new Error(`${operation.contract.id} has several arrays: ${arrays.map(([one]) => one)}`)
  return name
}

const bodyOf = ({ schema }: Operation): Node | undefined => {
  const content = child(schema, 'requestBody', 'content')
  return isNode(content) ? content : undefined
}

const takesFile = (operation: Operation): boolean => {
  const body = bodyOf(operation)
  return body !== undefined && !('application/json' in body)
}

/** Returns the fields of the arguments: those of the path, the query and the body in one object. */
const argumentsType = (operation: Operation): { text: string; isOptional: boolean } => {
  const { contract } = operation
  const lines: string[] = []
  let isOptional = true
  const seen = new Set<string>()
  const add = (name: string, schema: unknown, isNeeded: boolean) => {
    if (seen.has(name)) throw new Error(`${contract.id} has two arguments named ${name}`)
    seen.add(name)
    if (isNeeded) isOptional = false
    lines.push(
      `${comment(schema)}${keyOf(name)}${isNeeded ? '' : '?'}: ${typeOf(schema)}${isNeeded ? '' : ' | undefined'}`,
    )
  }
  for (const [name, schema] of properties(contract.params)) add(name, schema, true)
  for (const [name, schema] of properties(contract.query))
    if (!pagingFields.includes(name)) add(name, schema, required(contract.query).includes(name))
  const body = bodyOf(operation)
  if (takesFile(operation)) {
    isOptional = false
    lines.push('/** Content of the file. */\nfile: FileContent')
    lines.push(`/** Media type of the file. */\nmedia_type: ${union(Object.keys(body ?? {}).map(literal))}`)
  } else if (body) {
    const schema = child(body, 'application/json', 'schema')
    const fields = child(schema, 'properties')
    if (!isNode(fields)) {
      if (lines.length) throw new Error(`the body of ${contract.id} is no plain object`)
      return { text: typeOf(schema), isOptional: false }
    }
    const needed = list(child(schema, 'required'))
    for (const [name, field] of Object.entries(fields)) add(name, field, needed.includes(name))
  }
  return { text: lines.length ? `{\n${lines.join('\n')}\n}` : 'Record<string, never>', isOptional }
}

const resultType = (operation: Operation): string => {
  if (isFile(operation)) return 'Promise<FileResponse>'
  const schema = child(responseOf(operation), 'application/json', 'schema')
  const rows = rowsOf(operation)
  if (rows === undefined) return `Promise<${typeOf(schema)}>`
  return `List<${typeOf(schema)}, ${literal(rows)}>`
}

const methodText = (operation: Operation): string => {
  const { contract, method } = operation
  const { text, isOptional } = argumentsType(operation)
  const lines = `${contract.summary}.\n${contract.description}`.replaceAll('*/', '*\\/').split('\n')
  return [
    `/**\n${lines.map((line) => ` * ${line}`).join('\n')}\n */`,
    `${method}(args${isOptional ? '?' : ''}: ${text}, options?: CallOptions): ${resultType(operation)}`,
  ].join('\n')
}

const groupsOf = (entryPoint: EntryPoint): string => {
  const groups = Object.groupBy(ofEntryPoint(entryPoint), ({ group }) => group)
  return Object.entries(groups)
    .map(([group, all = []]) => `readonly ${group}: {\n${all.map(methodText).join('\n')}\n}`)
    .join('\n')
}

const interfaceNames: Readonly<Record<EntryPoint, string>> = {
  index: 'AccountOperations',
  sandbox: 'SandboxOperations',
  operator: 'OperatorOperations',
}

const errorCodes = (): string[] => {
  const codes = new Set<string>()
  const visit = (value: unknown, key: string): void => {
    if (key === 'error_code') for (const code of list(child(value, 'enum'))) codes.add(String(code))
    if (Array.isArray(value)) for (const one of value) visit(one, '')
    else if (isNode(value)) for (const [name, one] of Object.entries(value)) visit(one, name)
  }
  visit(document, '')
  return [...codes].sort()
}

/** Returns generated lines with two blanks for each open bracket. */
const indented = (text: string): string => {
  let depth = 0
  const lines = text.split('\n').map((line) => {
    if (/^[}\])]/.test(line)) depth--
    const shown = line === '' ? '' : '  '.repeat(depth) + line
    if (/[{([]$/.test(line) && !/^\/?\*| \*/.test(line)) depth++
    return shown
  })
  return lines.join('\n')
}

/** Returns the types: shared schemas, events, error codes and one interface for each entry point. */
export const typesText = (): string => {
  const schemas = Object.entries(child(document, 'components', 'schemas') ?? {})
  const webhooks = Object.entries(child(document, 'webhooks') ?? {})
  const payload = (hook: unknown) => typeOf(child(hook, 'post', 'requestBody', 'content', 'application/json', 'schema'))
  const parts = [
    '// Generated by scripts/client.ts from the contracts. Change those.',
    "import type { CallOptions, FileContent, FileResponse } from './call-options.ts'",
    "import type { List } from './list.ts'",
    ...schemas.map(([name, schema]) => `${comment(schema)}export type ${name} = ${typeOf(schema)}`),
    `/** Values of \`error_code\`. */\nexport type ErrorCode = ${union(errorCodes().map(literal))}`,
    `/** Payload of each event, by its name. */\nexport type EventPayloads = {\n${webhooks.map(([name, hook]) => `${literal(name)}: ${payload(hook)}`).join('\n')}\n}`,
    ...entryPoints.map((one) => `export type ${interfaceNames[one]} = {\n${groupsOf(one)}\n}`),
    '',
  ]
  return indented(parts.join('\n\n'))
}

/**
 * Returns a table of operations. The value of a row is the method and path; then, separated by blanks: the names of the
 * query fields of a request with a body (`?a,b`), the field of a page's rows (`#calls`), `file` for a response that is a file,
 * and `once` if the operation takes an Idempotency-Key.
 */
export const operationsText = (entryPoint: EntryPoint): string => {
  const rows = ofEntryPoint(entryPoint).map((operation) => {
    const { contract } = operation
    const query = properties(contract.query).map(([name]) => name)
    const rowsField = rowsOf(operation)
    const words = [
      `${contract.method} ${contract.url}`,
      ...(contract.method !== 'GET' && query.length ? [`?${query}`] : []),
      ...(rowsField ? [`#${rowsField}`] : []),
      ...(isFile(operation) ? ['file'] : []),
      ...(isRepeatable(contract) ? ['once'] : []),
    ]
    return `'${contract.client}': '${words.join(' ')}',`
  })
  return indented(
    `// Generated by scripts/client.ts from the contracts. Change those.\n\nexport const operations = {\n${rows.join('\n')}\n} as const\n`,
  )
}

/** Returns the generated files of the package, by path. */
export const clientFiles = (): Readonly<Record<string, string>> => ({
  [join(folder, 'types.gen.ts')]: typesText(),
  ...Object.fromEntries(
    entryPoints.map((one) => [
      join(folder, `${one === 'index' ? 'account' : one}-operations.gen.ts`),
      operationsText(one),
    ]),
  ),
})

if (import.meta.main) for (const [path, text] of Object.entries(clientFiles())) writeFileSync(path, text)
