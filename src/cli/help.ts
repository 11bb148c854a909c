import { exampleOf } from '../http/openapi.ts'
import { common } from './args.ts'
import type { Command } from './command.ts'
import { calledFor, type Field, isDocument, isNullable, itemsOf, keywords, kindOf, present } from './field.ts'
import { listen } from './listen.ts'
import { wordsOf } from './request.ts'

const program = 'trunkline'

const commonAbout: Record<keyof typeof common, string> = {
  url: 'Address of the server; else TRUNKLINE_URL, else http://127.0.0.1:8080',
  'operator-key': 'Operator key; else TRUNKLINE_OPERATOR_KEY, from the environment or a .env file',
  'api-key': 'API key of an account, for its own commands; else TRUNKLINE_API_KEY',
  'idempotency-key': 'For commands that add something: repeated with the same key they have no second effect',
  columns: 'The columns of a table, separated by commas; default: the first seven',
  json: 'Print the answer as JSON',
  help: 'Explain the command',
  version: 'Print the version',
}

/** Words of a text in lines of at most so many characters. */
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

/** What a field is given, as help and examples write it. */
const placeholder = ({ schema, kind }: Field): string => {
  if (kind === 'list') return ` ${kindOf(itemsOf(schema)).toUpperCase()},…`
  if (kind === 'boolean') return '[=false]'
  if (kind === 'object' || kind === 'rows') return ' JSON|@FILE'
  if (kind === 'text' && keywords(present(schema)).enum) return ' WORD'
  if (kind === 'text') return isDocument(present(schema)) ? ' TEXT|@FILE' : ' TEXT'
  return ` ${kind.toUpperCase()}`
}

const bounds = (schema: Field['schema']): string => {
  const { minimum, maximum, exclusiveMinimum, minLength = 0, maxLength } = keywords(present(schema))
  const known = keywords(present(schema)).enum
  if (Array.isArray(known)) return `one of ${known.join(', ')}`
  if (exclusiveMinimum !== undefined) return `more than ${exclusiveMinimum}, at most ${maximum}`
  if (minimum !== undefined && maximum !== undefined) return `${minimum} to ${maximum}`
  if (maxLength !== undefined) return `${minLength ? `${minLength} to` : 'at most'} ${maxLength} characters`
  return ''
}

const explain = ({ schema, required, kind }: Field): string => {
  const about = String(keywords(schema).description ?? '')
  return [
    required && kind !== 'object' ? 'required' : '',
    about,
    bounds(schema),
    isNullable(schema) && !about.startsWith('null') ? 'null takes it away' : '',
    kind === 'object' ? 'all at once; single fields change it' : '',
  ]
    .filter(Boolean)
    .join('; ')
}

const quote = (text: string) => (/^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`)

const typed = (field: Field): string => {
  const value = exampleOf(present(field.schema))
  if (field.kind === 'boolean') return `--${field.option}`
  return `--${field.option} ${quote(Array.isArray(value) ? value.join(',') : String(value))}`
}

/** A command line that would work, made of the examples of the schemas. */
export const exampleCommand = ({ name, contract, ids, fields, file }: Command): string => {
  const params = contract.params ? exampleOf(contract.params) : {}
  const values = new Map(typeof params === 'object' && params !== null ? Object.entries(params) : [])
  const simple = fields.filter(({ kind, where }) => kind !== 'object' && kind !== 'rows' && where === 'body')
  const example: unknown = contract.body ? exampleOf(contract.body) : {}
  const calling = typeof example === 'object' && example !== null ? { ...example } : {}
  const needed = [...simple.filter(({ required }) => required), ...calledFor(contract.body, calling)]
  const shown = needed.length > 0 || file ? needed : simple.slice(0, 1)
  const extension = file?.holds === 'text' ? 'csv' : 'json'
  return [
    program,
    name,
    ...ids.map((id) => quote(String(values.get(id) ?? 'ID'))),
    ...(file ? [`${name.split(' ')[0]}.${extension}`] : []),
    ...shown.map(typed),
  ].join(' ')
}

const fileAbout = ({ file, contract }: Command): string => {
  const example = contract.body ? exampleOf(contract.body) : ''
  if (file?.holds === 'text')
    return `A CSV file, or - for the standard input. It begins like this: ${JSON.stringify(example)}`
  return `A JSON file, or - for the standard input, such as ${JSON.stringify(example)}`
}

/** Help about one command. */
export const helpOfCommand = (command: Command, width: number): string => {
  const { name, contract, fields, file } = command
  const params = contract.params ? Object.entries(keywords(contract.params).properties ?? {}) : []
  const ids = params.map(([id, schema]): [string, string] => [
    id.toUpperCase(),
    String(keywords(schema).description ?? ''),
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

/** Help about the command that listens. */
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

/** Help about all commands, or those of one noun. */
export const helpOf = (commands: readonly Command[], width: number, isWhole = false): string => {
  const shown = commands.find(({ name }) => name.endsWith(' create')) ?? commands[0]
  return [
    `Usage: ${program} <noun> <verb> [ids …] [--field value …]\n`,
    section(
      'Commands',
      columns(
        [
          ...commands.map(({ name, contract }): [string, string] => [name, contract.summary]),
          ...(isWhole ? [[listen.name, listen.summary] satisfies [string, string]] : []),
        ],
        width,
      ),
    ),
    section('Example', shown ? `  ${exampleCommand(shown)}` : ''),
    commonOptions(width),
    `\n${program} <noun> <verb> --help explains the fields of a command.\n`,
  ].join('')
}
