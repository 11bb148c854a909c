import type { Command } from './command.ts'
import { conditionalFields, type OptionField } from './option-field.ts'
import { type ParsedArguments, UsageError } from './parse-arguments.ts'
import { parseJson, type ReadFile, readValue } from './read-value.ts'

type Json = Record<string, unknown>

/** A request, ready to be sent. */
export type Request = {
  readonly method: string
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | null
  /** The file that is sent as the body, of any length. */
  readonly file: string | null
}

const isObject = (value: unknown): value is Json => typeof value === 'object' && value !== null && !Array.isArray(value)

const setAtPath = (target: Json, path: readonly string[], value: unknown): void => {
  const [name = '', ...rest] = path
  if (rest.length === 0) {
    // Options of single fields override the object from a file.
    target[name] = isObject(value) ? { ...value } : value
    return
  }
  const inner = isObject(target[name]) ? target[name] : {}
  target[name] = inner
  setAtPath(inner, rest, value)
}

const valueAtPath = (target: unknown, [name, ...rest]: readonly string[]): unknown =>
  name === undefined ? target : isObject(target) ? valueAtPath(target[name], rest) : undefined

const collect = (fields: readonly OptionField[], { options }: ParsedArguments, read: ReadFile): Json => {
  const values: Json = {}
  for (const field of fields) {
    const texts = options.get(field.option)
    if (texts) setAtPath(values, field.path, readValue(field, texts, read))
  }
  return values
}

const requireFields = (values: Json, fields: readonly OptionField[]) => {
  const missing = fields.filter(
    ({ required, kind, path }) => required && kind !== 'object' && valueAtPath(values, path) === undefined,
  )
  if (missing.length > 0)
    throw new UsageError(`missing: ${missing.map(({ option }) => `--${option}`).join(', ')}; --help explains them`)
}

/** Returns the body from a file: only the list, or the object around it. */
const fromFile = (text: string, list: string): Json => {
  const value = parseJson(text, 'the file')
  if (isObject(value)) return value
  if (Array.isArray(value)) return { [list]: value }
  throw new UsageError(`the file must contain a list of objects, or {"${list}": [ … ]}`)
}

/** Returns the words that a command needs after its name. */
export const wordsOf = ({ ids, file }: Command): string[] => [
  ...ids.map((id) => id.toUpperCase()),
  ...(file ? ['FILE'] : []),
]

/**
 * Builds the request of a command line.
 * @throws UsageError when ids, fields or the file are missing or wrong
 */
export const requestOf = (command: Command, typed: ParsedArguments, read: ReadFile): Request => {
  const { contract, ids, file, fields } = command
  const operands = typed.words.slice(command.name.split(' ').length)
  const wants = wordsOf(command)
  const missing = wants.find((_, i) => (operands[i] ?? '') === '')
  if (missing) throw new UsageError(`${command.name} needs ${wants.join(' ')}: ${missing} is missing`)
  if (operands.length > wants.length) throw new UsageError(`"${operands[wants.length]}" is an unexpected argument`)
  // As parts of an address these two mean another address, even encoded.
  if (operands.slice(0, ids.length).some((id) => id === '.' || id === '..'))
    throw new UsageError('"." and ".." are not ids')

  const params = new Map(ids.map((id, i) => [id, operands[i] ?? '']))
  const address = contract.url.replace(/:(\w+)/g, (_, id: string) => encodeURIComponent(params.get(id) ?? ''))
  const [inQuery, inBody] = [
    fields.filter(({ where }) => where === 'query'),
    fields.filter(({ where }) => where === 'body'),
  ]

  const query = collect(inQuery, typed, read)
  requireFields(query, inQuery)
  const search = new URLSearchParams(Object.entries(query).map(([name, value]) => [name, String(value)]))
  const once = typed.options.get('idempotency-key')?.[0]
  const headers: Record<string, string> = once === undefined ? {} : { 'idempotency-key': once }

  let body: string | null = null
  const path = operands[ids.length] ?? ''
  if (file?.holds === 'text') {
    if (!file.isLong) body = read(path)
    headers['content-type'] = file.type
  } else if (contract.body) {
    const content = file ? fromFile(read(path), file.list) : {}
    const values = { ...content, ...collect(inBody, typed, read) }
    requireFields(values, [...inBody, ...conditionalFields(contract.body, values)])
    body = JSON.stringify(values)
    headers['content-type'] = 'application/json'
  }
  const whole = address + (search.size > 0 ? `?${search}` : '')
  const long = file?.holds === 'text' && file.isLong ? path : null
  return { method: contract.method, path: whole, headers, body, file: long }
}
