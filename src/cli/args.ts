import { nearest } from '../lib/nearest.ts'

/** A mistake in what was typed. */
export class UsageError extends Error {}

/** The options of every command, and what follows each; null for those that stand alone. */
export const common = {
  url: 'URL',
  'operator-key': 'KEY',
  'api-key': 'KEY',
  'idempotency-key': 'KEY',
  columns: 'NAMES',
  json: null,
  help: null,
  version: null,
} as const

/** What was typed: words in their order, and what each option was given. */
export type Typed = { readonly words: readonly string[]; readonly options: ReadonlyMap<string, readonly string[]> }

/** Which options there are, and which of them are true when nothing follows. */
export type Known = ReadonlyMap<string, 'value' | 'boolean' | 'alone'>

const commonKnown: Known = new Map(Object.entries(common).map(([name, value]) => [name, value ? 'value' : 'alone']))

const unknown = (name: string, known: Known) =>
  new UsageError(`there is no option --${name}; did you mean --${nearest(name, [...known.keys()])}?`)

/**
 * Sorts the arguments. `--name value` and `--name=value` are the same, as are `_` and `-` in names; `--flag`,
 * `--flag=false`, `--flag false` and `--no-flag` are all possible; after `--` everything is a word.
 * @param fields the options of the command beside the common ones; null while the command is not known, when an option
 *   that is not common counts as one that stands alone
 * @throws UsageError for an unknown option or a missing value
 */
export const sortArguments = (args: readonly string[], fields: Known | null): Typed => {
  const known: Known = new Map([...commonKnown, ...(fields ?? [])])
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
      if (value !== undefined && sort) throw new UsageError(`--${name} stands alone`)
      give(name, 'true')
    } else if (value !== undefined) give(name, value)
    else if (sort === 'boolean') {
      const isNext = next === 'true' || next === 'false'
      give(name, isNext ? next : 'true')
      if (isNext) i++
    } else if (next === undefined || next.startsWith('--')) throw new UsageError(`--${name} wants a value`)
    else {
      give(name, next)
      i++
    }
  }
  return { words, options }
}
