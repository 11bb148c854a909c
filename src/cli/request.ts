import { type Typed, UsageError } from './args.ts'
import type { Command } from './command.ts'
import { calledFor, type Field } from './field.ts'
import { parseJson, type Read, readValue } from './value.ts'

type Json = Record<string, unknown>

/** A request, ready to be sent. */
export type Request = {
  readonly method: string
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | null
  /** The file that is sent instead of a body, as long as it may be. */
  readonly file: string | null
}

const isObject = (value: unknown): value is Json => typeof value === 'object' && value !== null && !Array.isArray(value)

const put = (target: Json, path: readonly string[], value: unknown): void => {
  const [name = '', ...rest] = path
  if (rest.length === 0) {
    // An object from a file comes first, the options of single fields change it.
    target[name] = isObject(value) ? { ...value } : value
    return
  }
  const inner = isObject(target[name]) ? target[name] : {}
  target[name] = inner
  put(inner, rest, value)
}

const at = (target: unknown, [name, ...rest]: readonly string[]): unknown =>
  name === undefined ? target : isObject(target) ? at(target[name], rest) : undefined

const collect = (fields: readonly Field[], { options }: Typed, read: Read): Json => {
  const made: Json = {}
  for (const field of fields) {
    const texts = options.get(field.option)
    if (texts) put(made, field.path, readValue(field, texts, read))
  }
  return made
}

const needed = (made: Json, fields: readonly Field[]) => {
  const missing = fields.filter(
    ({ required, kind, path }) => required && kind !== 'object' && at(made, path) === undefined,
  )
  if (missing.length > 0)
    throw new UsageError(`missing: ${missing.map(({ option }) => `--${option}`).join(', ')}; --help explains them`)
}

/** The body that a file holds: the list alone, or the object around it. */
const fromFile = (text: string, list: string): Json => {
  const value = parseJson(text, 'the file')
  if (isObject(value)) return value
  if (Array.isArray(value)) return { [list]: value }
  throw new UsageError(`the file wants a list of objects, or {"${list}": [ … ]}`)
}

/** The words that a command wants after its name. */
export const wordsOf = ({ ids, file }: Command): string[] => [
  ...ids.map((id) => id.toUpperCase()),
  ...(file ? ['FILE'] : []),
]

/**
 * The request that was typed.
 * @throws UsageError when ids, fields or the file are missing or wrong
 */
export const requestOf = (command: Command, typed: Typed, read: Read): Request => {
  const { contract, ids, file, fields } = command
  const given = typed.words.slice(command.name.split(' ').length)
  const wants = wordsOf(command)
  const missing = wants.find((_, i) => (given[i] ?? '') === '')
  if (missing) throw new UsageError(`${command.name} wants ${wants.join(' ')}: ${missing} is missing`)
  if (given.length > wants.length) throw new UsageError(`"${given[wants.length]}" is one word too many`)
  // As a part of an address these two mean another address, encoded too.
  if (given.slice(0, ids.length).some((id) => id === '.' || id === '..'))
    throw new UsageError('"." and ".." are no ids')

  const params = new Map(ids.map((id, i) => [id, given[i] ?? '']))
  const address = contract.url.replace(/:(\w+)/g, (_, id: string) => encodeURIComponent(params.get(id) ?? ''))
  const [inQuery, inBody] = [
    fields.filter(({ where }) => where === 'query'),
    fields.filter(({ where }) => where === 'body'),
  ]

  const query = collect(inQuery, typed, read)
  needed(query, inQuery)
  const search = new URLSearchParams(Object.entries(query).map(([name, value]) => [name, String(value)]))
  const once = typed.options.get('idempotency-key')?.[0]
  const headers: Record<string, string> = once === undefined ? {} : { 'idempotency-key': once }

  let body: string | null = null
  const path = given[ids.length] ?? ''
  if (file?.holds === 'text') {
    if (!file.isLong) body = read(path)
    headers['content-type'] = file.type
  } else if (contract.body) {
    const kept = file ? fromFile(read(path), file.list) : {}
    const made = { ...kept, ...collect(inBody, typed, read) }
    needed(made, [...inBody, ...calledFor(contract.body, made)])
    body = JSON.stringify(made)
    headers['content-type'] = 'application/json'
  }
  const whole = address + (search.size > 0 ? `?${search}` : '')
  const long = file?.holds === 'text' && file.isLong ? path : null
  return { method: contract.method, path: whole, headers, body, file: long }
}
