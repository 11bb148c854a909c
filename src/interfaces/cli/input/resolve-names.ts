import { properties } from '../../../platform/http/openapi.ts'
import { CallError } from '../transfer/send-request.ts'
import type { Command } from './command.ts'
import { type FieldKind, itemsOf, keywords } from './option-field.ts'
import type { ParsedArguments } from './parse-arguments.ts'

type Schema = Parameters<typeof keywords>[0]

/** Resources with a name, by the prefix of their ids, with the API list that finds them. */
const namedResources = new Map([
  ['ACC', { noun: 'account', path: '/operator/accounts', rows: 'accounts' }],
  ['CNX', { noun: 'connection', path: '/operator/connections', rows: 'connections' }],
])

/** Sends a request to the server. @returns the reply */
export type SendQuery = (path: string) => Promise<Readonly<Record<string, unknown>>>

const prefixOf = (schema: Schema | undefined): string =>
  /^\^([A-Z]{3})/.exec(String((schema && keywords(schema).pattern) ?? ''))?.[1] ?? ''

const uuidOf = (row: unknown): string =>
  typeof row === 'object' && row !== null && 'uuid' in row ? String(row.uuid) : ''

/**
 * Resolves a name to an id; leaves ids and null unchanged.
 * @throws CallError when no resource or several have the name
 */
const resolveName = async (prefix: string, word: string, ask: SendQuery): Promise<string> => {
  const list = namedResources.get(prefix)
  if (!list || word === '' || word === 'null' || new RegExp(`^${prefix}[0-9a-f-]{36}$`, 'i').test(word)) return word
  const { noun, path, rows } = list
  const found = (await ask(`${path}?name=${encodeURIComponent(word)}`))[rows]
  const ids = (Array.isArray(found) ? found : []).map(uuidOf)
  const [id, ...others] = ids
  if (id === undefined) throw new CallError(`there is no ${noun} named "${word}"; ${noun}s list shows them`)
  if (others.length > 0)
    throw new CallError(`${ids.length} ${noun}s are named "${word}": give one of ${ids.slice(0, 20).join(', ')}`)
  return id
}

/** Returns the prefix of the ids that an option takes; empty for other options. */
const prefixOfField = ({ schema, kind }: { schema: Schema; kind: FieldKind }): string =>
  prefixOf(kind === 'list' ? itemsOf(schema) : schema)

/**
 * Replaces the names of accounts and connections by ids. Only the operator's commands take names.
 * @throws CallError when no resource or several have the name
 */
export const withIds = async (
  { name, contract, ids, fields }: Command,
  typed: ParsedArguments,
  ask: SendQuery,
): Promise<ParsedArguments> => {
  if (contract.auth !== 'operator') return typed
  const params = new Map(properties(contract.params))
  const words = [...typed.words]
  const first = name.split(' ').length
  for (const [i, id] of ids.entries()) {
    const word = words[first + i]
    if (word !== undefined) words[first + i] = await resolveName(prefixOf(params.get(id)), word, ask)
  }
  const options = new Map(typed.options)
  for (const field of fields) {
    const texts = options.get(field.option)
    const prefix = prefixOfField(field)
    if (!texts || !namedResources.has(prefix)) continue
    const parts = field.kind === 'list' ? texts.flatMap((text) => text.split(',')) : texts
    const resolved: string[] = []
    for (const part of parts) resolved.push(await resolveName(prefix, part.trim(), ask))
    options.set(field.option, resolved)
  }
  return { words, options }
}
