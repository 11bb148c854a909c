import type { Contract } from '../http/endpoint.ts'
import { nearest } from '../lib/nearest.ts'
import { type Known, UsageError } from './args.ts'
import { type Field, fieldsOf, keywords } from './field.ts'

/** A command, made from the contract that it calls. */
export type Command = {
  /** `accounts create` */
  readonly name: string
  readonly contract: Contract
  /** The path parameters, in their order. */
  readonly ids: readonly string[]
  /** What the file holds that follows the ids: the body as text, or a list of the body as JSON. */
  readonly file:
    | { readonly holds: 'text'; readonly type: string; readonly isLong: boolean }
    | { readonly holds: 'json'; readonly list: string }
    | null
  readonly fields: readonly Field[]
}

const mediaTypeOf = ({ body }: Contract): string => String(body ? (keywords(body).contentMediaType ?? '') : '')

const commandOf = (contract: Contract, name: string): Command => {
  const ids = [...contract.url.matchAll(/:(\w+)/g)].map(([, id = '']) => id)
  const query = fieldsOf(contract.query, 'query')
  const type = mediaTypeOf(contract)
  if (type !== '')
    return { name, contract, ids, file: { holds: 'text', type, isLong: contract.stream === true }, fields: query }
  const body = fieldsOf(contract.body, 'body')
  // Nobody types a list of objects: it comes from a file.
  const list = body.find(({ kind, required, path }) => kind === 'rows' && required && path.length === 1)
  return {
    name,
    contract,
    ids,
    file: list ? { holds: 'json', list: list.path.join() } : null,
    fields: [...query, ...body.filter((field) => field !== list)],
  }
}

/** The commands of the contracts that have one, by name. */
export const commandsOf = (contracts: readonly Contract[]): Command[] =>
  contracts
    .flatMap((contract) => (contract.cli === undefined ? [] : [commandOf(contract, contract.cli)]))
    .sort((a, b) => a.name.localeCompare(b.name, 'en'))

/** The options of a command, for sorting its arguments. */
export const knownOf = ({ fields }: Command): Known =>
  new Map(fields.map(({ option, kind }) => [option, kind === 'boolean' ? 'boolean' : 'value']))

const nounOf = ({ name }: Command) => name.split(' ')[0] ?? ''
const verbOf = ({ name }: Command) => name.split(' ')[1] ?? ''

const unique = (words: string[]) => [...new Set(words)]

/** The commands about a noun. @param others nouns of which there is no such command
 *  @throws UsageError that suggests the nearest noun */
export const about = (commands: readonly Command[], noun: string, others: readonly string[] = []): Command[] => {
  const found = commands.filter((command) => nounOf(command) === noun)
  if (found.length > 0) return found
  throw new UsageError(
    `there is no command "${noun}"; did you mean "${nearest(noun, unique([...commands.map(nounOf), ...others]))}"?`,
  )
}

/** True when the noun is the whole name of a command. */
export const standsAlone = (commands: readonly Command[], noun: string): boolean =>
  commands.some(({ name }) => name === noun)

/** One command. @throws UsageError that suggests the nearest verb */
export const find = (commands: readonly Command[], noun: string, verb: string): Command => {
  const all = about(commands, noun)
  const found = all.find((command) => command.name === noun || verbOf(command) === verb)
  if (found) return found
  throw new UsageError(
    `there is no command "${noun} ${verb}"; did you mean "${noun} ${nearest(verb, all.map(verbOf))}"?`,
  )
}
