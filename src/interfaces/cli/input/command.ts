import type { Contract } from '../../../platform/http/endpoint.ts'
import { suggestion } from '../../../platform/lib/levenshtein.ts'
import { fieldsOf, keywords, type OptionField } from './option-field.ts'
import { type KnownOptions, UsageError } from './parse-arguments.ts'

/** A command, made from the contract that it calls. */
export type Command = {
  /** `accounts create` */
  readonly name: string
  readonly contract: Contract
  /** The path parameters, in order. */
  readonly ids: readonly string[]
  /** The content of the file that follows the ids: the body as text, or a list of the body as JSON. */
  readonly file:
    | { readonly holds: 'text'; readonly type: string; readonly isLong: boolean }
    | { readonly holds: 'json'; readonly list: string }
    | null
  readonly fields: readonly OptionField[]
}

const mediaTypeOf = ({ body }: Contract): string => String(body ? (keywords(body).contentMediaType ?? '') : '')

const commandOf = (contract: Contract, name: string): Command => {
  const ids = [...contract.url.matchAll(/:(\w+)/g)].map(([, id = '']) => id)
  const query = fieldsOf(contract.query, 'query')
  const type = mediaTypeOf(contract)
  if (type !== '')
    return { name, contract, ids, file: { holds: 'text', type, isLong: contract.stream === true }, fields: query }
  const body = fieldsOf(contract.body, 'body')
  // A list of objects comes from a file: it is too long to type.
  const list = body.find(({ kind, required, path }) => kind === 'rows' && required && path.length === 1)
  return {
    name,
    contract,
    ids,
    file: list ? { holds: 'json', list: list.path.join() } : null,
    fields: [...query, ...body.filter((field) => field !== list)],
  }
}

/** Returns the commands of the contracts that have one, by name. */
export const commandsOf = (contracts: readonly Contract[]): Command[] =>
  contracts
    .flatMap((contract) => (contract.cli === undefined ? [] : [commandOf(contract, contract.cli)]))
    .sort((a, b) => a.name.localeCompare(b.name, 'en'))

/** Returns the options of a command, for parsing its arguments. */
export const knownOptionsOf = ({ fields }: Command): KnownOptions =>
  new Map(fields.map(({ option, kind }) => [option, kind === 'boolean' ? 'boolean' : 'value']))

const nounOf = ({ name }: Command) => name.split(' ')[0] ?? ''
const verbOf = ({ name }: Command) => name.split(' ')[1] ?? ''

const unique = (words: string[]) => [...new Set(words)]

/**
 * Returns the commands about a noun.
 * @param others nouns without such commands
 * @throws UsageError that suggests the nearest noun
 */
export const commandsAbout = (
  commands: readonly Command[],
  noun: string,
  others: readonly string[] = [],
): Command[] => {
  const found = commands.filter((command) => nounOf(command) === noun)
  if (found.length > 0) return found
  throw new UsageError(
    `there is no command "${noun}"${suggestion(noun, unique([...commands.map(nounOf), ...others]), (one) => `"${one}"`)}`,
  )
}

/** Returns true when the noun is the whole name of a command. */
export const isWholeCommand = (commands: readonly Command[], noun: string): boolean =>
  commands.some(({ name }) => name === noun)

/** Returns one command. @throws UsageError that suggests the nearest verb */
export const findCommand = (commands: readonly Command[], noun: string, verb: string): Command => {
  const all = commandsAbout(commands, noun)
  const found = all.find((command) => command.name === noun || verbOf(command) === verb)
  if (found) return found
  throw new UsageError(
    `there is no command "${noun} ${verb}"${suggestion(verb, all.map(verbOf), (one) => `"${noun} ${one}"`)}`,
  )
}
