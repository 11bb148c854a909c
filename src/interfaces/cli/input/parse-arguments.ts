import { suggestion } from '../../../platform/lib/levenshtein.ts'

/** A mistake in the command line. */
export class UsageError extends Error {}

/** The options of every command with their placeholders; null for options without a value. */
export const common = {
  url: 'URL',
  'operator-key': 'KEY',
  'api-key': 'KEY',
  'idempotency-key': 'KEY',
  columns: 'NAMES',
  format: 'FORMAT',
  all: null,
  json: null,
  help: null,
  version: null,
} as const

/** The parsed arguments: words in order, and the values of each option. */
export type ParsedArguments = {
  readonly words: readonly string[]
  readonly options: ReadonlyMap<string, readonly string[]>
}

/** The known options, and which of them are true without a value. */
export type KnownOptions = ReadonlyMap<string, 'value' | 'boolean' | 'alone'>

const commonKnown: KnownOptions = new Map(
  Object.entries(common).map(([name, value]) => [name, value ? 'value' : 'alone']),
)

const unknown = (name: string, known: KnownOptions) =>
  new UsageError(`there is no option --${name}${suggestion(name, [...known.keys()], (one) => `--${one}`)}`)

/**
 * Parses the arguments. `--name value` and `--name=value` are equal, as are `_` and `-` in names. `--flag`,
 * `--flag=false`, `--flag false` and `--no-flag` are all possible; after `--` everything is a word.
 * @param fields the options of the command besides the common ones; null while the command is unknown, when an uncommon
 * option counts as one without a value
 * @throws UsageError for an unknown option or a missing value
 */
export const parseArguments = (args: readonly string[], fields: KnownOptions | null): ParsedArguments => {
  const known: KnownOptions = new Map([...commonKnown, ...(fields ?? [])])
  const words: string[] = []
  const options = new Map<string, string[]>()
  const give = (name: string, value: string) => options.set(name, [...(options.get(name) ?? []), value])
  for (let i = 0; i < args.length; i++) {
    const arg = args[i] ?? ''
    if (arg === '--') {
      words.push(...args.slice(i + 1))
      break
    }
    if (arg === '-h') {
      give('help', 'true')
      continue
    }
    if (!arg.startsWith('--')) {
      words.push(arg)
      continue
    }
    const [, written = '', value] = /^--([^=]*)(?:=(.*))?$/s.exec(arg) ?? []
    const name = written.replaceAll('_', '-')
    const positive = name.replace(/^no-/, '')
    const sort = known.get(name) ?? (known.get(positive) === 'boolean' ? 'negative' : undefined)
    const next = args[i + 1]
    if (sort === undefined && fields !== null) throw unknown(name, known)
    if (sort === 'negative') give(positive, 'false')
    else if (sort === 'alone' || sort === undefined) {
      if (value !== undefined && sort) throw new UsageError(`--${name} takes no value`)
      give(name, 'true')
    } else if (value !== undefined) give(name, value)
    else if (sort === 'boolean') {
      const isNext = next === 'true' || next === 'false'
      give(name, isNext ? next : 'true')
      if (isNext) i++
    } else if (next === undefined || next.startsWith('--')) throw new UsageError(`--${name} needs a value`)
    else {
      give(name, next)
      i++
    }
  }
  return { words, options }
}
