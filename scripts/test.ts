import { globSync, statSync } from 'node:fs'
import { join, relative } from 'node:path'
import { parseArgs } from 'node:util'
import { needs } from '../test/needs.ts'
import { oldest } from '../test/servers.ts'
import { globalSetup, globalTeardown } from '../test/setup.ts'
import { killAll, type Outcome, type Patience, runFiles } from './tests/file.ts'
import { apart, type Group, grouped, nameOf, plain, type Turn, whole } from './tests/plan.ts'

// npm test                    everything but the long forms
// npm test -- src/sms         only these files or folders
// npm run fuzz, chaos, image  the long forms, without a limit of time
// --cost                      tells what each file took of processor time

const root = join(import.meta.dirname, '..')
// A file waits for a third of its time: one more than two cores. With more, tests with deadlines suffer.
const options = {
  long: { type: 'string' },
  concurrency: { type: 'string', default: '3' },
  cost: { type: 'boolean', default: false },
} as const
const { values, positionals } = parseArgs({ options, allowPositionals: true })

/** The files of each long form. */
const longForms: Record<string, string[]> = {
  fuzz: [
    ...['test/fuzz.test.ts', 'test/malformed.test.ts', 'simulator/faults.test.ts'],
    ...['src/connectors/smpp/flood.test.ts', 'src/connectors/sip/codec/**/fuzz.test.ts'],
    ...['src/connectors/xmpp/fuzz.test.ts', 'test/parsers.test.ts'],
  ],
  chaos: ['test/chaos/**/*.test.ts'],
  image: ['test/deploy/image.test.ts'],
  calls: ['test/sdk/*.test.ts', 'test/voice/*.test.ts'],
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

const onOldest = needs('PostgreSQL 15', oldest !== null)

const chosen = (): Turn[] => {
  if (values.long !== undefined) {
    const patterns = longForms[values.long]
    if (!patterns) throw new Error(`--long must be one of ${Object.keys(longForms).join(', ')}`)
    return plain(find(patterns))
  }
  if (positionals.length > 0) return plain(positionals.flatMap(given))
  return whole(find(everywhere), root, !onOldest.skip)
}

const turns = chosen()
if (turns.length === 0) throw new Error('there are no such test files')
if (values.long !== undefined) process.env.TRUNKLINE_TEST_LONG = '1'

const patience: Patience =
  values.long === undefined
    ? { test: 300_000, busy: 320_000, over: 60_000 }
    : { test: 4 * 3_600_000, busy: 4 * 3_600_000, over: 60_000 }

/** Whoever looks at one file, or at a form that takes hours, wants to see it go on. */
const live = values.long !== undefined || turns.length === 1

const seconds = (ms: number) => `${(ms / 1000).toFixed(1)} s`

const left: Group[] = []

/** Runs them, so many at a time, and prints what each said when it has ended; `live` ones meanwhile. */
const runAll = async (asked: readonly Group[], concurrency: number): Promise<Outcome[]> => {
  left.push(...asked)
  const all: Outcome[] = []
  const worker = async () => {
    for (let group = left.shift(); group !== undefined; group = left.shift()) {
      const { outcomes, untold, ms, text } = await runFiles(group, patience, { live, cost: values.cost })
      all.push(...outcomes)
      left.push(...apart(untold))
      const isWell = untold.length === 0 && outcomes.every(({ passed }) => passed)
      console.log(`${isWell ? '▶' : '✖'} ${nameOf(group)} (${seconds(ms)})\n${live ? '' : text}`)
      if (untold.length > 0) console.log(`By themselves, since their process ended before its time: ${namesOf(untold)}`)
    }
  }
  await Promise.all(Array.from({ length: concurrency }, worker))
  return all
}

/** What each took of processor time; what was killed with its file is not in it, nor are the servers of the run. */
const tellCost = (outcomes: readonly Outcome[]) => {
  const dear = outcomes.flatMap(({ turn, cpu }) => (cpu === null ? [] : { name: turn.name, cpu }))
  if (dear.length === 0) return
  console.log(`\nProcessor time, ${seconds(dear.reduce((sum, { cpu }) => sum + cpu, 0) * 1000)} in all:`)
  for (const { name, cpu } of dear.sort((a, b) => b.cpu - a.cpu))
    console.log(`  ${seconds(cpu * 1000).padStart(8)}  ${name}`)
}

/** Which files are slow, and what was not tried and what that lacks. */
const tellMore = (outcomes: readonly Outcome[]) => {
  const slow = outcomes.filter(({ ms }) => ms > 10_000).sort((a, b) => b.ms - a.ms)
  if (slow.length > 0) console.log('\nOver 10 s:')
  for (const { turn, ms } of slow) console.log(`  ${seconds(ms).padStart(8)}  ${turn.name}`)
  const skipped = outcomes.flatMap(({ turn, skipped }) => skipped.map((one) => ({ ...one, file: turn.name })))
  if (onOldest.skip && positionals.length === 0)
    skipped.push({ file: 'src', name: 'the SQL of the domains on PostgreSQL 15', reason: onOldest.skip })
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

/** From so many on, what is prepared for platforms is worth it. */
const manyFiles = 20

const failedOf = (outcomes: readonly Outcome[]) => outcomes.filter(({ passed }) => !passed).map(({ turn }) => turn)
const namesOf = (turns: readonly Turn[]) => turns.map(({ name }) => name).join(', ')

/** @returns whether everything passed, if only at the second try */
const runEverything = async (): Promise<boolean> => {
  const began = performance.now()
  const groups = values.long === undefined ? grouped(turns, root) : apart(turns)
  const outcomes = await runAll(groups, Number(values.concurrency))
  const failed = failedOf(outcomes)
  tellCost(outcomes)
  tellMore(outcomes)
  const sum = (count: 'tests' | 'passed') => outcomes.reduce((total, { counts }) => total + counts[count], 0)
  const took = seconds(performance.now() - began)
  console.log(`\n${turns.length} files, ${sum('tests')} tests, ${sum('passed')} passed, in ${took}`)
  if (failed.length === 0) return true
  console.log(`FAILED: ${namesOf(failed)}`)
  if (failed.length > fewFiles || turns.length <= fewFiles || values.long !== undefined) return false
  console.log('\nOnce more, one after the other:')
  const still = failedOf(await runAll(apart(failed), 1))
  console.log(
    still.length > 0 ? `FAILED twice: ${namesOf(still)}` : `SHAKY, passed only at the second try: ${namesOf(failed)}`,
  )
  return still.length === 0
}

for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
  process.once(signal, () => {
    left.length = 0
    killAll()
    globalTeardown().finally(() => process.exit(1))
  })

await globalSetup(turns.length > manyFiles)
try {
  process.exitCode = (await runEverything()) ? 0 : 1
} finally {
  await globalTeardown()
}
