import { exampleOf } from '../../../platform/http/openapi.ts'
import { wordsOf } from '../input/build-request.ts'
import type { Command } from '../input/command.ts'
import {
  conditionalFields,
  isLongText,
  isNullable,
  itemsOf,
  keywords,
  kindOf,
  type OptionField,
  withoutNull,
} from '../input/option-field.ts'
import { common } from '../input/parse-arguments.ts'
import { type LocalCommand, locals } from '../installation-commands.ts'
import { listen } from '../listen/listen.ts'
import { completion } from './completion.ts'

const program = 'trunkline'

const commonAbout: Record<keyof typeof common, string> = {
  url: 'Address of the server; else TRUNKLINE_URL, else http://127.0.0.1:8080',
  'operator-key': 'Operator key; else TRUNKLINE_OPERATOR_KEY, from the environment or a .env file',
  'api-key': 'API key of an account, for its own commands; else TRUNKLINE_API_KEY',
  'idempotency-key': 'For commands that create something: repeated with the same key they have no second effect',
  columns: 'The columns of a table, separated by commas. Default: the first seven',
  format: 'table (default), json, or csv for lists: every column, one line per row',
  all: 'For lists: every page, instead of the first',
  json: 'The same as --format json',
  help: 'Explain the command',
  version: 'Print the version',
}

/** Wraps a text at the given width. */
const wrap = (text: string, width: number): string[] => {
  const lines: string[] = []
  for (const word of text.split(/\s+/)) {
    const last = lines.at(-1)
    if (last === undefined || last.length + 1 + word.length > width) lines.push(word)
    else lines[lines.length - 1] = `${last} ${word}`
  }
  return lines
}

const columns = (rows: readonly (readonly [string, string])[], width: number): string => {
  const left = Math.min(36, Math.max(...rows.map(([name]) => name.length)))
  const margin = `\n${' '.repeat(left + 4)}`
  return rows
    .map(([name, text]) => {
      const lines = wrap(text, Math.max(30, width - left - 4))
      const head = name.length > left ? `  ${name}${margin}` : `  ${name.padEnd(left)}  `
      return (head + lines.join(margin)).trimEnd()
    })
    .join('\n')
}

const section = (title: string, body: string) => (body === '' ? '' : `\n${title}\n${body}\n`)

const commonOptions = (width: number) => {
  const rows = Object.entries(common).map(([name, value]): [string, string] => {
    const text = Object.entries(commonAbout).find(([known]) => known === name)?.[1] ?? ''
    return [`--${name}${value ? ` ${value}` : ''}`, text]
  })
  return section('Options of every command', columns(rows, width))
}

/** Returns the placeholder of a field for help and examples. */
const placeholder = ({ schema, kind }: OptionField): string => {
  if (kind === 'list') return ` ${kindOf(itemsOf(schema)).toUpperCase()},…`
  if (kind === 'boolean') return '[=false]'
  if (kind === 'object' || kind === 'rows') return ' JSON|@FILE'
  if (kind === 'text' && keywords(withoutNull(schema)).enum) return ' WORD'
  if (kind === 'text') return isLongText(withoutNull(schema)) ? ' TEXT|@FILE' : ' TEXT'
  return ` ${kind.toUpperCase()}`
}

const bounds = (schema: OptionField['schema']): string => {
  const { minimum, maximum, exclusiveMinimum, minLength = 0, maxLength } = keywords(withoutNull(schema))
  const known = keywords(withoutNull(schema)).enum
  if (Array.isArray(known)) return `one of ${known.join(', ')}`
  if (exclusiveMinimum !== undefined) return `more than ${exclusiveMinimum}, at most ${maximum}`
  if (minimum !== undefined && maximum !== undefined) return `${minimum} to ${maximum}`
  if (maxLength !== undefined) return `${minLength ? `${minLength} to` : 'at most'} ${maxLength} characters`
  return ''
}

const explain = ({ schema, required, kind }: OptionField): string => {
  const about = String(keywords(schema).description ?? '')
  return [
    required && kind !== 'object' ? 'required' : '',
    about,
    bounds(schema),
    isNullable(schema) && !about.startsWith('null') ? 'null clears it' : '',
    kind === 'object' ? 'the whole object as JSON; options of single fields override it' : '',
  ]
    .filter(Boolean)
    .join('; ')
}

const quote = (text: string) => (/^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`)

const exampleValue = (field: OptionField): string => {
  const value = exampleOf(withoutNull(field.schema))
  if (field.kind === 'boolean') return `--${field.option}`
  return `--${field.option} ${quote(Array.isArray(value) ? value.join(',') : String(value))}`
}

/** Returns a valid command line, made of the examples of the schemas. */
export const exampleCommand = ({ name, contract, ids, fields, file }: Command): string => {
  const params = contract.params ? exampleOf(contract.params) : {}
  const values = new Map(typeof params === 'object' && params !== null ? Object.entries(params) : [])
  const simple = fields.filter(({ kind, where }) => kind !== 'object' && kind !== 'rows' && where === 'body')
  const example: unknown = contract.body ? exampleOf(contract.body) : {}
  const calling = typeof example === 'object' && example !== null ? { ...example } : {}
  const inQuery = fields.filter(({ required, where }) => required && where === 'query')
  const needed = [
    ...inQuery,
    ...simple.filter(({ required }) => required),
    ...conditionalFields(contract.body, calling),
  ]
  const shown = needed.length > 0 || file ? needed : simple.slice(0, 1)
  const extension = file?.holds === 'text' ? 'csv' : 'json'
  return [
    program,
    name,
    ...ids.map((id) => quote(String(values.get(id) ?? 'ID'))),
    ...(file ? [`${name.split(' ')[0]}.${extension}`] : []),
    ...shown.map(exampleValue),
  ].join(' ')
}

const fileAbout = ({ file, contract }: Command): string => {
  const example = contract.body ? exampleOf(contract.body) : ''
  if (file?.holds === 'text')
    return `A CSV file, or - for the standard input. Its first lines: ${String(example).trim().split('\n').join(' and ')}`
  return `A JSON file, or - for the standard input, such as ${JSON.stringify(example)}`
}

/** Returns the help of one command. */
export const helpOfCommand = (command: Command, width: number): string => {
  const { name, contract, fields, file } = command
  const params = contract.params ? Object.entries(keywords(contract.params).properties ?? {}) : []
  const ids = params.map(([id, schema]): [string, string] => [
    id.toUpperCase(),
    [String(keywords(schema).description ?? ''), keywords(schema).enum ? bounds(schema) : '']
      .filter(Boolean)
      .join('; '),
  ])
  const rows = fields.map((field): [string, string] => [`--${field.option}${placeholder(field)}`, explain(field)])
  const words: [string, string][] = [...ids, ...(file ? [['FILE', fileAbout(command)] satisfies [string, string]] : [])]
  const usage = [program, name, ...wordsOf(command), ...(fields.length > 0 ? ['[--field value …]'] : [])].join(' ')
  return [
    `${wrap(contract.summary, width).join('\n')}\n`,
    `\nUsage: ${usage}\n`,
    section('Arguments', words.length > 0 ? columns(words, width) : ''),
    section('Fields', rows.length > 0 ? columns(rows, width) : ''),
    section('Example', `  ${exampleCommand(command)}`),
    commonOptions(width),
    `\nCalls ${contract.method} ${contract.url.replace(/:(\w+)/g, '{$1}')}\n`,
  ].join('')
}

/** Returns the help of the listen command. */
export const helpOfListen = (width: number): string => {
  const { name, summary, options, example } = listen
  const rows = options.map(([option, value, about]): [string, string] => [
    `--${option}${value ? ` ${value}` : ''}`,
    about,
  ])
  return [
    `${wrap(summary, width).join('\n')}\n`,
    `\nUsage: ${program} ${name} [--forward-to URL]\n`,
    section('Options', columns(rows, width)),
    section('Example', `  ${program} ${example}`),
    commonOptions(width),
  ].join('')
}

/** Commands without a contract. */
const commandsWithoutContract: [string, string][] = [
  [completion.usage, completion.summary],
  [listen.name, listen.summary],
  ...locals.map(({ name, summary }): [string, string] => [name, summary]),
]

/** Returns the help of a local command. */
export const helpOfLocal = ({ name, words, summary, options }: LocalCommand, width: number): string => {
  const rows = options.map(([option, value, text]): [string, string] => [
    `--${option}${value === null ? '' : ` ${value}`}`,
    text,
  ])
  return [
    `${wrap(summary, width).join('\n')}\n`,
    `\nUsage: ${program} ${[name, words].join(' ').trim()}\n`,
    section('Options', columns([...rows, ['--json', commonAbout.json]], width)),
    `\n${wrap('It reads TRUNKLINE_HOME, DATABASE_URL and the other settings as the platform does: from the environment, and a .env file in this folder. See docs/operating/settings.md.', width).join('\n')}\n`,
  ].join('')
}

/** Returns the help of all commands, or those of one noun. */
export const helpOf = (commands: readonly Command[], width: number, isWhole = false): string => {
  const shown = commands.find(({ name }) => name.endsWith(' create')) ?? commands[0]
  return [
    `Usage: ${program} <noun> <verb> [ids …] [--field value …]\n`,
    section(
      'Commands',
      columns(
        [
          ...commands.map(({ name, contract }): [string, string] => [name, contract.summary]),
          ...(isWhole ? commandsWithoutContract : []),
        ],
        width,
      ),
    ),
    section('Example', shown ? `  ${exampleCommand(shown)}` : ''),
    commonOptions(width),
    `\n${program} <noun> <verb> --help explains the fields of a command.\n`,
  ].join('')
}
