import type { Command } from '../input/command.ts'
import { itemsOf, keywords, type OptionField, withoutNull } from '../input/option-field.ts'
import { common, type ParsedArguments, UsageError } from '../input/parse-arguments.ts'
import { locals } from '../installation-commands.ts'
import { listen } from '../listen/listen.ts'
import { outputFormats } from '../output/output-format.ts'

/** Prints a script that completes commands in a shell. */
export const completion = {
  name: 'completion',
  summary: 'Print a script that completes commands in bash, zsh or fish',
  usage: 'completion bash|zsh|fish',
  shells: ['bash', 'zsh', 'fish'],
} as const

/** An option as a shell completes it. `values`: empty if unknown. */
type Option = { readonly name: string; readonly about: string; readonly values: readonly string[] }

/** The completions after the words of a command. */
type Branch = {
  readonly noun: string
  readonly verb: string
  readonly about: string
  readonly options: readonly Option[]
}

const valuesOf = ({ schema, kind }: OptionField): string[] => {
  if (kind === 'boolean') return ['true', 'false']
  const known = keywords(kind === 'list' ? itemsOf(schema) : withoutNull(schema)).enum
  return Array.isArray(known) ? known.map(String) : []
}

const optionOfField = (field: OptionField): Option => ({
  name: field.option,
  about: String(keywords(field.schema).description ?? ''),
  values: valuesOf(field),
})

const commonOptions: readonly Option[] = Object.keys(common).map((name) => ({
  name,
  about: '',
  values: name === 'format' ? [...outputFormats] : [],
}))

const branchesOf = (commands: readonly Command[]): Branch[] => [
  ...commands.map(({ name, contract, fields }) => {
    const [noun = '', verb = ''] = name.split(' ')
    const own = fields.map(optionOfField)
    const taken = new Set(own.map((option) => option.name))
    const options = [...own, ...commonOptions.filter((option) => !taken.has(option.name))]
    return { noun, verb, about: contract.summary, options }
  }),
  {
    noun: listen.name,
    verb: '',
    about: listen.summary,
    options: [...listen.options.map(([name, , about]) => ({ name, about, values: [] })), ...commonOptions],
  },
  ...locals.map(({ name, summary, options }) => {
    const [noun = '', verb = ''] = name.split(' ')
    return { noun, verb, about: summary, options: options.map(([name, , about]) => ({ name, about, values: [] })) }
  }),
]

const unique = (texts: readonly string[]): string[] => [...new Set(texts)]

/** Returns the verbs of each noun. */
const verbsOf = (branches: readonly Branch[]): Map<string, string[]> => {
  const verbs = Map.groupBy(branches, ({ noun }) => noun)
  return new Map([...verbs].map(([noun, all]) => [noun, all.map(({ verb }) => verb).filter((verb) => verb !== '')]))
}

/** Returns options with known values, per command: the words before the cursor, and the values. */
const choicesOf = (branches: readonly Branch[]) =>
  branches.flatMap(({ noun, verb, options }) =>
    options
      .filter(({ values }) => values.length > 0)
      .map(({ name, values }) => ({ key: `${[noun, verb].join(' ').trim()} --${name}`, values })),
  )

const listed = (words: readonly string[]) => words.join(' ')

const quoted = (text: string) => `'${text.replaceAll("'", "'\\''")}'`

/**
 * Returns the cases that bash and zsh share: `$command` is the words of the command, `$before` the word before the
 * cursor.
 */
const cases = (branches: readonly Branch[], give: (words: readonly string[]) => string): string => {
  const verbs = verbsOf(branches)
  const nouns = unique([...verbs.keys(), completion.name])
  const alone = branches.filter(({ verb }) => verb === '').map(({ noun }) => noun)
  return [
    '  case "$command $before" in',
    ...choicesOf(branches).map(({ key, values }) => `    ${quoted(key)}) ${give(values)}; return ;;`),
    '  esac',
    '  case "$at $noun" in',
    `    '1 '*) ${give(nouns)}; return ;;`,
    `    '2 ${completion.name}') ${give(completion.shells)}; return ;;`,
    ...[...verbs]
      .filter(([noun]) => !alone.includes(noun))
      .map(([noun, words]) => `    ${quoted(`2 ${noun}`)}) ${give(words)}; return ;;`),
    '  esac',
    '  case "$command" in',
    ...branches.map(
      ({ noun, verb, options }) =>
        `    ${quoted(`${noun} ${verb}`.trim())}) ${give(options.map(({ name }) => `--${name}`))}; return ;;`,
    ),
    '  esac',
    // A noun that is a whole command has no verb: the second word is an argument.
    '  case "$noun" in',
    ...branches
      .filter(({ verb }) => verb === '')
      .map(({ noun, options }) => `    ${quoted(noun)}) ${give(options.map(({ name }) => `--${name}`))}; return ;;`),
    '  esac',
  ].join('\n')
}

const bash = (branches: readonly Branch[]): string => `# trunkline: completion for bash
_trunkline() {
  local current="\${COMP_WORDS[COMP_CWORD]}" before="\${COMP_WORDS[COMP_CWORD-1]}"
  local at="$COMP_CWORD" noun="\${COMP_WORDS[1]}" command="\${COMP_WORDS[1]} \${COMP_WORDS[2]}"
  COMPREPLY=()
${cases(branches, (words) => `COMPREPLY=($(compgen -W ${quoted(listed(words))} -- "$current"))`)}
}
complete -o default -F _trunkline trunkline
`

const zsh = (branches: readonly Branch[]): string => `#compdef trunkline
# trunkline: completion for zsh
_trunkline() {
  local before="\${words[CURRENT-1]}" noun="\${words[2]}" command="\${words[2]} \${words[3]}"
  local at="$((CURRENT-1))"
  # An argument may be a file.
  if [[ $at -gt 2 && "$PREFIX" != -* && "$before" != --* ]]; then _files; return; fi
${cases(branches, (words) => `compadd -- ${words.map(quoted).join(' ')}`)}
}
compdef _trunkline trunkline
`

/** Quotes a string for fish's single quotes. */
const fishQuoted = (text: string) => `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`

const fish = (branches: readonly Branch[]): string => {
  const line = (condition: string, rest: string) => `complete -c trunkline -n ${fishQuoted(condition)} ${rest}`
  const first = '__trunkline_after'
  const nouns = unique([...branches.map(({ noun }) => noun), completion.name])
  return [
    '# trunkline: completion for fish',
    `function ${first} --description 'true after exactly these words'`,
    '  set -l words (commandline -opc)[2..-1]',
    '  test "$words" = "$argv"',
    'end',
    "function __trunkline_in --description 'true within this command'",
    '  set -l words (commandline -opc)[2..-1]',
    '  set -l wanted (count $argv)',
    '  test (count $words) -ge $wanted; and test "$words[1..$wanted]" = "$argv"',
    'end',
    line(first, `-f -a ${fishQuoted(listed(nouns))}`),
    line(`${first} ${completion.name}`, `-f -a ${fishQuoted(listed(completion.shells))}`),
    ...branches
      .filter(({ verb }) => verb !== '')
      .map(({ noun, verb, about }) => line(`${first} ${noun}`, `-f -a ${fishQuoted(verb)} -d ${fishQuoted(about)}`)),
    ...branches.flatMap(({ noun, verb, options }) =>
      options.map(({ name, about, values }) =>
        line(
          `__trunkline_in ${noun} ${verb}`.trim(),
          [
            `-l ${name}`,
            ...(values.length > 0 ? [`-x -a ${fishQuoted(listed(values))}`] : []),
            ...(about === '' ? [] : [`-d ${fishQuoted(about)}`]),
          ].join(' '),
        ),
      ),
    ),
    '',
  ].join('\n')
}

const scripts = new Map([
  ['bash', bash],
  ['zsh', zsh],
  ['fish', fish],
])

/** Returns the script of a shell. @throws UsageError for another shell */
export const completionOf = ({ words }: ParsedArguments, commands: readonly Command[]): string => {
  const [, shell = '', more] = words
  const script = scripts.get(shell)
  if (!script || more !== undefined) throw new UsageError(`${completion.usage}: which shell?`)
  return script(branchesOf(commands))
}
