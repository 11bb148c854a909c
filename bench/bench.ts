import { execFileSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { median, table } from './lib.ts'

// Shared by all benches: options, rounds, medians and stored results.

/** A figure that a bench reports, the median of its rounds. */
export type FigureSpec = {
  readonly label: string
  readonly unit: '/s' | 'µs' | 'ms' | 'B' | 'MB' | '%' | '×'
  /** Whether docs/performance.md shows it. */
  readonly isHeadline?: boolean
  /** The most that the median should be, in the unit. */
  readonly goal?: number
}

/** An option of one bench: a whole number, or a word. */
export type FlagSpec = { readonly about: string; readonly default: number | string }

export type Bench = {
  readonly name: string
  /** One sentence in plain words. */
  readonly about: string
  /** Messages already in the database by default; null for a bench without a database of its own. */
  readonly rows: number | null
  /** Default seconds of a round; null for a bench whose rounds have a number of operations. */
  readonly seconds: number | null
  /** Default rounds; null for a bench that is one run of many operations. */
  readonly rounds: number | null
  readonly flags: { readonly [name: string]: FlagSpec }
  readonly figures: { readonly [key: string]: FigureSpec }
  /** Imports the file of the bench, which measures while it loads. */
  run(): Promise<unknown>
}

/** Messages in the database of a bench, unless `--rows` says otherwise. */
export const defaultRows = 1_000_000

type BenchOptions = Pick<Bench, 'name' | 'about' | 'figures' | 'run'> &
  Partial<Pick<Bench, 'rows' | 'seconds' | 'rounds' | 'flags'>>

/** Defines a bench. Default: five rounds of 4 s on a database with a million messages. */
export const defineBench = (options: BenchOptions): Bench => ({
  rows: defaultRows,
  seconds: 4,
  rounds: 5,
  flags: {},
  ...options,
})

/** An error of the caller, whose message says what to change. */
export class UsageError extends Error {}

export type Settings = {
  readonly rounds: number
  readonly seconds: number
  readonly rows: number
  readonly store: boolean
  readonly help: boolean
  readonly flags: { readonly [name: string]: number | string }
}

const wholeNumber = (name: string, given: string | undefined, least: number): number => {
  const value = Number(given)
  if (given === undefined || given === '' || !Number.isInteger(value) || value < least)
    throw new UsageError(`--${name} needs a whole number of at least ${least}, not ${given ?? 'nothing'}.`)
  return value
}

/** Returns the numbers that common options accept at least; absent options do not apply to the bench. */
const commonOf = (bench: Bench): Map<string, number> =>
  new Map([
    ...(bench.rounds === null ? [] : [['rounds', 1] as const]),
    ...(bench.seconds === null ? [] : [['seconds', 1] as const]),
    ...(bench.rows === null ? [] : [['rows', 0] as const]),
  ])

/**
 * Parses the options of a bench.
 * @throws UsageError with the option, its fault and the options that exist
 */
export const parseSettings = (bench: Bench, args: readonly string[]): Settings => {
  const common = commonOf(bench)
  const numbers = new Map<string, number>()
  const flags = Object.fromEntries(Object.entries(bench.flags).map(([name, flag]) => [name, flag.default]))
  let [store, help] = [false, false]
  const rest = [...args]
  for (let arg = rest.shift(); arg !== undefined; arg = rest.shift()) {
    const [name = '', inline] = arg.startsWith('--') ? arg.slice(2).split(/=(.*)/s) : []
    const value = () => inline ?? rest.shift()
    const least = common.get(name)
    const flag = bench.flags[name]
    if (name === 'store') store = true
    else if (name === 'help') help = true
    else if (least !== undefined) numbers.set(name, wholeNumber(name, value(), least))
    else if (typeof flag?.default === 'number') flags[name] = wholeNumber(name, value(), 1)
    else if (flag) {
      const word = value()
      if (word === undefined || word === '') throw new UsageError(`--${name} needs a value: ${flag.about}.`)
      flags[name] = word
    } else {
      const known = [...common.keys(), ...Object.keys(bench.flags), 'store', 'help'].map((one) => `--${one}`)
      throw new UsageError(`The bench ${bench.name} has no option ${arg}. It has ${known.join(', ')}.`)
    }
  }
  return {
    rounds: numbers.get('rounds') ?? bench.rounds ?? 1,
    seconds: numbers.get('seconds') ?? bench.seconds ?? 0,
    rows: numbers.get('rows') ?? bench.rows ?? 0,
    store,
    help,
    flags,
  }
}

/** Returns the help of a bench. */
export const helpOf = (bench: Bench): string => {
  const lines: [string, string][] = [
    ...(bench.rounds === null
      ? []
      : [['--rounds N', `interleaved rounds, whose median counts. Default: ${bench.rounds}`] as const]),
    ...(bench.seconds === null ? [] : [['--seconds N', `length of a measurement. Default: ${bench.seconds}`] as const]),
    ...(bench.rows === null
      ? []
      : [['--rows N', `messages already in the database; 0: none. Default: ${bench.rows}`] as const]),
    ...Object.entries(bench.flags).map(([name, { about, default: fallback }]): [string, string] => [
      `--${name} ${typeof fallback === 'number' ? 'N' : 'WORD'}`,
      `${about}.${fallback === '' ? '' : ` Default: ${fallback}`}`,
    ]),
    ['--store', `writes bench/results/${bench.name}.json; run scripts/figures.ts afterwards`],
    ['--help', 'prints this'],
  ].map(([option = '', about = '']) => [option, about])
  const options = lines.map(([option, about]) => `  ${option.padEnd(18)} ${about}`)
  const figures = Object.values(bench.figures).map(({ label, unit }) => `  ${label}, ${unit}`)
  return [`npm run bench -- ${bench.name} [options]`, '', bench.about, '', ...options, '', 'Figures:', ...figures].join(
    '\n',
  )
}

/** A running bench. */
export type BenchRun = Omit<Settings, 'flags' | 'store' | 'help'> & {
  /** Returns the whole number of an option of this bench. */
  number(name: string): number
  /** Returns the word of an option of this bench. */
  word(name: string): string
  /** Records figures of one round, by the keys of the definition. */
  record(figures: { readonly [key: string]: number }): void
}

let current: BenchRun | undefined

/** Returns the run to which the importing bench belongs. */
export const benchRun = (): BenchRun => {
  if (!current) throw new UsageError('A bench runs by its name: npm run bench -- --help lists them.')
  return current
}

/** Stored results of a bench. */
export type StoredResult = {
  readonly name: string
  readonly date: string
  readonly commit: string
  readonly cores: number
  readonly rounds: number
  readonly rows: number | null
  readonly figures: {
    readonly [key: string]: { readonly median: number; readonly least: number; readonly most: number }
  }
}

const git = (...args: string[]): string =>
  execFileSync('git', args, { cwd: import.meta.dirname, encoding: 'utf8' }).trim()

/** @throws UsageError if a result would not belong to a commit */
const checkStore = (bench: Bench, { rounds }: Settings): void => {
  if (bench.rounds !== null && rounds < 5) throw new UsageError('--store needs at least 5 rounds.')
  if (git('status', '--porcelain', '--', '..', ':!results') !== '')
    throw new UsageError('--store needs a clean work tree: a result names the commit that it measured.')
}

const rounded = (value: number): number => Number(value.toPrecision(4))

const summary = (values: readonly number[]) => ({
  median: rounded(median(values)),
  least: rounded(Math.min(...values)),
  most: rounded(Math.max(...values)),
})

/** Runs a bench, prints the median of each figure, and stores them if requested. */
export const runBench = async (bench: Bench, settings: Settings): Promise<void> => {
  if (settings.store) checkStore(bench, settings)
  const recorded = new Map<string, number[]>()
  const { rounds, seconds, rows, flags } = settings
  current = {
    rounds,
    seconds,
    rows,
    number: (name) => Number(flags[name]),
    word: (name) => String(flags[name]),
    record: (figures) => {
      for (const [key, value] of Object.entries(figures)) {
        if (!bench.figures[key]) throw new Error(`the bench ${bench.name} does not define the figure ${key}`)
        if (Number.isFinite(value)) recorded.set(key, [...(recorded.get(key) ?? []), value])
      }
    },
  }
  await bench.run()
  const figures = Object.fromEntries([...recorded].map(([key, values]) => [key, summary(values)]))
  const present = (value: number) => value.toLocaleString('en', { maximumSignificantDigits: 4 })
  console.log(`\n${bench.about}\n`)
  table(
    ['figure', 'median', 'least to most', 'unit'],
    Object.entries(bench.figures).flatMap(([key, { label, unit }]) => {
      const of = figures[key]
      return of ? [[label, present(of.median), `${present(of.least)} to ${present(of.most)}`, unit]] : []
    }),
  )
  if (!settings.store) return
  const result: StoredResult = {
    name: bench.name,
    date: new Date().toISOString().slice(0, 10),
    commit: git('rev-parse', '--short=12', 'HEAD'),
    cores: availableParallelism(),
    rounds,
    rows: bench.rows === null ? null : rows,
    figures,
  }
  const folder = join(import.meta.dirname, 'results')
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, `${bench.name}.json`), `${JSON.stringify(result, null, 2)}\n`)
}
