import { globSync, statSync } from 'node:fs'
import { join, relative } from 'node:path'
import { parseArgs } from 'node:util'
import { needs } from '../test/needs.ts'
import { oldest } from '../test/servers.ts'
import { globalSetup, globalTeardown } from '../test/setup.ts'
import { type FileRun, fullRun, type Group, grouped, groupName, runsOf, runsOnOldest, ungrouped } from './tests/plan.ts'
import { type FileResult, killAll, runFiles, type TimeLimits } from './tests/run-files.ts'
import { type Concurrency, concurrencyHere, workThrough } from './tests/scheduler.ts'

/** The files of each long form. */
const longForms: Record<string, string[]> = {
  fuzz: [
    ...['test/fuzz.test.ts', 'test/malformed.test.ts', 'simulator/sms/faults.test.ts'],
    ...['src/adapters/smpp/flood.test.ts', 'packages/sip/src/**/fuzz.test.ts'],
    ...['src/adapters/xmpp/fuzz.test.ts', 'src/adapters/media/embedded/fuzz.test.ts', 'test/parsers.test.ts'],
    'src/domains/backup/fuzz.test.ts',
  ],
  chaos: ['test/chaos/**/*.test.ts'],
  simulation: ['test/simulation/*.test.ts'],
  image: ['test/deploy/image.test.ts'],
  calls: ['test/sdk/*.test.ts', 'test/voice/*.test.ts'],
  console: ['test/console/outage.test.ts'],
  'list-cost': ['test/list-cost.test.ts'],
  releases: ['test/migrations/release.test.ts'],
}

const longNames = Object.keys(longForms).join(', ')

const usage = `npm test -- [options] [FILE or FOLDER …]

Runs the tests of the files and folders, by default everything except the long forms.

  --long NAME      a long form, without a time limit: ${longNames}
  --oldest         every SQL test of the domains on PostgreSQL 15; a full run has the quick ones
  --cost           prints the processor time of each file
  --concurrency N  files at a time; by default the load decides
  --help           prints this`

const root = join(import.meta.dirname, '..')
const options = {
  long: { type: 'string' },
  concurrency: { type: 'string' },
  oldest: { type: 'boolean', default: false },
  cost: { type: 'boolean', default: false },
  help: { type: 'boolean', default: false },
} as const

const readArguments = () => {
  try {
    return parseArgs({ options, allowPositionals: true })
  } catch (error) {
    console.error(`npm test: ${error instanceof Error ? error.message : error}\n\n${usage}`)
    process.exit(2)
  }
}
const { values, positionals } = readArguments()
if (values.help) {
  console.log(usage)
  process.exit(0)
}
const concurrency = values.concurrency === undefined ? null : Number(values.concurrency)
if (concurrency !== null && !(Number.isInteger(concurrency) && concurrency > 0)) {
  console.error('npm test: --concurrency must be a whole number above 0')
  process.exit(2)
}

const find = (patterns: string[]): string[] =>
  globSync(patterns, { cwd: root, exclude: (name) => name === 'node_modules' }).sort()

const allTests = ['src', 'simulator', 'test', 'scripts', 'packages', 'console', 'bench'].map(
  (folder) => `${folder}/**/*.test.ts`,
)

const filesIn = (path: string): string[] => {
  const full = relative(root, join(process.cwd(), path))
  const stat = statSync(join(root, full), { throwIfNoEntry: false })
  if (!stat) {
    console.error(`npm test: no such file or folder: ${path}`)
    process.exit(1)
  }
  return stat.isDirectory() ? find([`${full}/**/*.test.ts`]) : [full]
}

const oldestServer = needs('PostgreSQL 15', oldest !== null)

const selectRuns = (): FileRun[] => {
  if (values.oldest) return runsOnOldest(root)
  if (values.long !== undefined) {
    const patterns = longForms[values.long]
    if (!patterns) {
      console.error(`npm test: --long must be one of ${longNames}`)
      process.exit(2)
    }
    // `--long chaos test/chaos/kill.test.ts` runs one file of a long form.
    const chosen = positionals.flatMap(filesIn)
    return runsOf(find(patterns).filter((file) => chosen.length === 0 || chosen.includes(file)))
  }
  if (positionals.length > 0) return runsOf(positionals.flatMap(filesIn))
  return fullRun(find(allTests), root, !oldestServer.skip)
}

const runs = selectRuns()
if (runs.length === 0) throw new Error('no test files match')
if (values.long !== undefined) process.env.TRUNKLINE_TEST_LONG = '1'

const timeLimits: TimeLimits =
  values.long === undefined
    ? { test: 300_000, busy: 320_000, over: 60_000 }
    : { test: 4 * 3_600_000, busy: 4 * 3_600_000, over: 60_000 }

/** Whether output is printed at once: for a single file, and for long forms, which take hours. */
const isLive = values.long !== undefined || runs.length === 1

const seconds = (ms: number) => `${(ms / 1000).toFixed(1)} s`

const queue: Group[] = []

const exactly = (count: number): Concurrency => ({ least: count, most: count })

/** Runs groups concurrently. Prints the output of each when it has ended, or at once if `live`. */
const runAll = async (groups: readonly Group[], concurrency: Concurrency): Promise<FileResult[]> => {
  queue.push(...groups)
  const all: FileResult[] = []
  const runGroup = async (group: Group) => {
    const { outcomes, unreported, ms, text } = await runFiles(group, timeLimits, { live: isLive, cost: values.cost })
    all.push(...outcomes)
    queue.push(...ungrouped(unreported))
    const isPassed = unreported.length === 0 && outcomes.every(({ passed }) => passed)
    console.log(`${isPassed ? '▶' : '✖'} ${groupName(group)} (${seconds(ms)})\n${isLive ? '' : text}`)
    if (unreported.length > 0) console.log(`Run again alone, as their process ended early: ${namesOf(unreported)}`)
  }
  await workThrough(queue, runGroup, concurrency)
  return all
}

/** Prints the processor time of each file. Killed children and the servers of the run are not included. */
const printCost = (outcomes: readonly FileResult[]) => {
  const costs = outcomes.flatMap(({ turn, cpu }) => (cpu === null ? [] : { name: turn.name, cpu }))
  if (costs.length === 0) return
  console.log(`\nProcessor time, ${seconds(costs.reduce((sum, { cpu }) => sum + cpu, 0) * 1000)} in total:`)
  for (const { name, cpu } of costs.sort((a, b) => b.cpu - a.cpu))
    console.log(`  ${seconds(cpu * 1000).padStart(8)}  ${name}`)
}

/** Prints the slow files, the skipped tests, and the packages that skipped tests need. */
const printSlowAndSkipped = (outcomes: readonly FileResult[]) => {
  const slow = outcomes.filter(({ ms }) => ms > 10_000).sort((a, b) => b.ms - a.ms)
  if (slow.length > 0) console.log('\nOver 10 s:')
  for (const { turn, ms } of slow) console.log(`  ${seconds(ms).padStart(8)}  ${turn.name}`)
  const skipped = outcomes.flatMap(({ turn, skipped }) => skipped.map((one) => ({ ...one, file: turn.name })))
  if (oldestServer.skip && positionals.length === 0)
    skipped.push({ file: 'src', name: 'the SQL of the domains on PostgreSQL 15', reason: oldestServer.skip })
  if (skipped.length === 0) return
  const missingPackages = new Set<string>()
  console.log('\nSKIPPED, not proved by this run:')
  for (const [reason, tests] of Map.groupBy(skipped, ({ reason }) => reason)) {
    console.log(`  ${tests.length} ${tests.length === 1 ? 'test' : 'tests'}: ${reason}`)
    for (const { file, name } of tests.slice(0, 5)) console.log(`    ${file}: ${name}`)
    const wanted = /apt-get install ([a-z0-9][a-z0-9+.-]*)/.exec(reason)?.[1]
    if (wanted) missingPackages.add(wanted)
  }
  if (missingPackages.size > 0)
    console.log(`\nTo run them: apt-get install -y ${[...missingPackages].sort().join(' ')}`)
}

/** Failed files that are retried at most. A busy machine makes a few files fail; more failures have another cause. */
const maxRetriedFiles = 10

/** Retries of a failed file: a machine may be busy for longer than one. */
const maxRetries = 2

/** Above this number of files, preparing the databases of platforms in advance saves time. */
const manyFiles = 20

const failedRuns = (outcomes: readonly FileResult[]) => outcomes.filter(({ passed }) => !passed).map(({ turn }) => turn)
const namesOf = (turns: readonly FileRun[]) => turns.map(({ name }) => name).join(', ')

/** Retries failed files one at a time. @returns the files that failed every time */
const retry = async (failed: readonly FileRun[]): Promise<readonly FileRun[]> => {
  let still = failed
  for (let round = 1; round <= maxRetries && still.length > 0; round++) {
    console.log(`\nRetry ${round} of ${maxRetries}, one file at a time: ${namesOf(still)}`)
    still = failedRuns(await runAll(ungrouped(still), exactly(1)))
  }
  return still
}

/** @returns whether every file passed, at its first run or a retry */
const runEverything = async (): Promise<boolean> => {
  const began = performance.now()
  const groups = values.long === undefined ? grouped(runs, root) : ungrouped(runs)
  const outcomes = await runAll(groups, concurrency === null ? concurrencyHere() : exactly(concurrency))
  const failed = failedRuns(outcomes)
  printCost(outcomes)
  printSlowAndSkipped(outcomes)
  const sum = (count: 'tests' | 'passed') => outcomes.reduce((total, { counts }) => total + counts[count], 0)
  const took = seconds(performance.now() - began)
  console.log(`\n${runs.length} files, ${sum('tests')} tests, ${sum('passed')} passed, in ${took}`)
  if (failed.length === 0) return true
  console.log(`FAILED: ${namesOf(failed)}`)
  if (failed.length > maxRetriedFiles || runs.length <= maxRetriedFiles || values.long !== undefined) return false
  const still = await retry(failed)
  const flaky = failed.filter((turn) => !still.includes(turn))
  if (flaky.length > 0) console.log(`FLAKY, passed on retry: ${namesOf(flaky)}`)
  if (still.length > 0) console.log(`FAILED ${maxRetries + 1} times: ${namesOf(still)}`)
  return still.length === 0
}

for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
  process.once(signal, () => {
    queue.length = 0
    killAll()
    globalTeardown().finally(() => process.exit(1))
  })

await globalSetup(runs.length > manyFiles)
try {
  process.exitCode = (await runEverything()) ? 0 : 1
} finally {
  await globalTeardown()
}
