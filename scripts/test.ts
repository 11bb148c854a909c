import { globSync, statSync } from 'node:fs'
import { join, relative } from 'node:path'
import { parseArgs } from 'node:util'
import { globalSetup, globalTeardown } from '../test/setup.ts'
import { killAll, type Outcome, type Patience, runFile } from './tests/file.ts'
import { longestFirst } from './tests/order.ts'

// npm test                    everything but the long forms
// npm test -- src/sms         only these files or folders
// npm run fuzz, npm run chaos the long forms, without a limit of time

const root = join(import.meta.dirname, '..')
// Two cores: more processes only wait for each other, and tests with deadlines suffer.
const options = { long: { type: 'string' }, concurrency: { type: 'string', default: '2' } } as const
const { values, positionals } = parseArgs({ options, allowPositionals: true })

/** The files of each long form. */
const longForms: Record<string, string[]> = {
  fuzz: [
    ...['test/fuzz.test.ts', 'test/malformed.test.ts', 'simulator/faults.test.ts'],
    ...['src/connectors/smpp/flood.test.ts', 'src/connectors/sip/codec/**/fuzz.test.ts'],
    'src/connectors/xmpp/fuzz.test.ts',
  ],
  chaos: ['test/chaos/**/*.test.ts'],
}

const find = (patterns: string[]): string[] =>
  globSync(patterns, { cwd: root, exclude: (name) => name === 'node_modules' }).sort()

const everywhere = ['src', 'simulator', 'test', 'scripts', 'packages', 'console', 'bench'].map(
  (folder) => `${folder}/**/*.test.ts`,
)

const given = (path: string): string[] => {
  const full = relative(root, join(process.cwd(), path))
  return statSync(join(root, full)).isDirectory() ? find([`${full}/**/*.test.ts`]) : [full]
}

const chosen = (): string[] => {
  if (values.long !== undefined) {
    const patterns = longForms[values.long]
    if (!patterns) throw new Error(`--long must be one of ${Object.keys(longForms).join(', ')}`)
    return find(patterns)
  }
  if (positionals.length > 0) return positionals.flatMap(given)
  return longestFirst(find(everywhere))
}

const files = chosen()
if (files.length === 0) throw new Error('there are no such test files')
if (values.long !== undefined) process.env.TRUNKLINE_TEST_LONG = '1'

const patience: Patience =
  values.long === undefined
    ? { test: 180_000, busy: 200_000, over: 60_000 }
    : { test: 4 * 3_600_000, busy: 4 * 3_600_000, over: 60_000 }

/** Whoever looks at one file, or at a form that takes hours, wants to see it go on. */
const live = values.long !== undefined || files.length === 1

const seconds = (ms: number) => `${(ms / 1000).toFixed(1)} s`

const left: string[] = []

/** Runs files, so many at a time, and prints what each said when it has ended; `live` ones meanwhile. */
const runAll = async (names: readonly string[], concurrency: number): Promise<Outcome[]> => {
  left.push(...names)
  const outcomes: Outcome[] = []
  const worker = async () => {
    for (let file = left.shift(); file !== undefined; file = left.shift()) {
      const outcome = await runFile(file, patience, live)
      outcomes.push(outcome)
      console.log(`${outcome.passed ? '▶' : '✖'} ${file} (${seconds(outcome.ms)})\n${live ? '' : outcome.text}`)
    }
  }
  await Promise.all(Array.from({ length: concurrency }, worker))
  return outcomes
}

/** Which files are slow, and what was not tried and what that lacks. */
const tellMore = (outcomes: readonly Outcome[]) => {
  const slow = outcomes.filter(({ ms }) => ms > 10_000).sort((a, b) => b.ms - a.ms)
  if (slow.length > 0) console.log('\nOver 10 s:')
  for (const { file, ms } of slow) console.log(`  ${seconds(ms).padStart(8)}  ${file}`)
  const skipped = outcomes.flatMap(({ file, skipped }) => skipped.map((one) => ({ ...one, file })))
  if (skipped.length === 0) return
  const lacking = new Set<string>()
  console.log('\nSKIPPED, and so not proved by this run:')
  for (const [reason, tests] of Map.groupBy(skipped, ({ reason }) => reason)) {
    console.log(`  ${tests.length} ${tests.length === 1 ? 'test' : 'tests'}: ${reason}`)
    for (const { file, name } of tests.slice(0, 5)) console.log(`    ${file}: ${name}`)
    const wanted = /apt-get install ([a-z0-9][a-z0-9+.-]*)/.exec(reason)?.[1]
    if (wanted) lacking.add(wanted)
  }
  if (lacking.size > 0) console.log(`\nTo try them: apt-get install -y ${[...lacking].sort().join(' ')}`)
}

/** So many files may have failed for want of a quiet machine; more have another cause. */
const fewFiles = 6

const namesOf = (outcomes: readonly Outcome[]) => outcomes.filter(({ passed }) => !passed).map(({ file }) => file)

// @returns the files that failed
const runEverything = async (): Promise<string[]> => {
  const began = performance.now()
  const outcomes = await runAll(files, Number(values.concurrency))
  const failed = namesOf(outcomes)
  tellMore(outcomes)
  const sum = (count: 'tests' | 'passed') => outcomes.reduce((total, { counts }) => total + counts[count], 0)
  const took = seconds(performance.now() - began)
  console.log(`\n${files.length} files, ${sum('tests')} tests, ${sum('passed')} passed, in ${took}`)
  if (failed.length === 0) return []
  console.log(`FAILED: ${failed.join(', ')}`)
  if (failed.length > fewFiles || files.length <= fewFiles || values.long !== undefined) return failed
  console.log('\nOnce more, one after the other:')
  const still = namesOf(await runAll(failed, 1))
  console.log(
    still.length > 0
      ? `FAILED twice: ${still.join(', ')}`
      : `SHAKY, passed only at the second try: ${failed.join(', ')}`,
  )
  return still
}

for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
  process.once(signal, () => {
    left.length = 0
    killAll()
    globalTeardown().finally(() => process.exit(1))
  })

await globalSetup()
try {
  process.exitCode = (await runEverything()).length > 0 ? 1 : 0
} finally {
  await globalTeardown()
}
