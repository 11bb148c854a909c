import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { needs } from '../test/needs.ts'
import { oldest } from '../test/servers.ts'
import { globalSetup, globalTeardown } from '../test/setup.ts'
import { readCosts, writeCosts } from './tests/costs.ts'
import { makeCpuMeter } from './tests/cpu-meter.ts'
import {
  type FileRun,
  type Group,
  grouped,
  groupName,
  mostlyWaits,
  runsOf,
  runsOfShard,
  runsOnOldest,
  shardFrom,
  ungrouped,
} from './tests/plan.ts'
import { type FileResult, killAll, runFiles, type TimeLimits } from './tests/run-files.ts'
import { type Concurrency, concurrencyHere, workThrough } from './tests/scheduler.ts'
import { changedFiles, changedSince, filesIn, find, type LeftOut, namedFiles, wholeForm } from './tests/selection.ts'
import { costsOf, printCost, printLeftOut, printSkipped, printSlow, seconds } from './tests/summary.ts'

/** The files of each long form. */
const longForms: Record<string, string[]> = {
  fuzz: [
    ...['test/fuzz.test.ts', 'test/malformed.test.ts', 'simulator/sms/faults.test.ts'],
    ...['src/adapters/smpp/flood.test.ts', 'packages/sip/src/**/fuzz.test.ts'],
    ...['src/adapters/xmpp/fuzz.test.ts', 'src/adapters/media/embedded/fuzz.test.ts', 'test/parsers.test.ts'],
    'src/domains/backup/fuzz.test.ts',
  ],
  chaos: ['test/chaos/**/*.test.ts', 'test/cluster/*.test.ts'],
  simulation: ['test/simulation/*.test.ts'],
  image: ['test/deploy/image.test.ts'],
  calls: ['test/sdk/*.test.ts', 'test/voice/*.test.ts'],
  console: ['test/console/{outage,typing,collisions,firefox,firefox-collisions,pseudo}.test.ts'],
  'list-cost': ['test/list-cost.test.ts'],
  releases: [
    ...['test/migrations/{release,last-release}.test.ts', 'test/deploy/release.test.ts'],
    'test/generated-clients.test.ts',
    'src/domains/backup/rehearsal/rehearse.test.ts',
  ],
}

const longNames = Object.keys(longForms).join(', ')

const usage = `npm test -- [options] [FILE or FOLDER …]

Runs the fast form: the main test of every promise, in five minutes on two cores. With CI=true the full form.

  --full           everything, except the long forms
  --changed [REV]  what the changes since REV can affect, by default since HEAD: the nearest tests, about a minute
  --long NAME      a long form, without a time limit: ${longNames}
  --oldest         every SQL test of the domains on PostgreSQL 15; a full run has the quick ones
  --shard I/N      the part I of N of what would run: N machines share a run
  --list           prints the files that would run, and exits
  --cost           prints the processor time of each file; with --full and no FILE it is stored for the order of runs
  --concurrency N  files at a time; by default the load decides
  --help           prints this`

const root = join(import.meta.dirname, '..')
const options = {
  full: { type: 'boolean', default: process.env.CI === 'true' },
  changed: { type: 'boolean', default: false },
  long: { type: 'string' },
  concurrency: { type: 'string' },
  oldest: { type: 'boolean', default: false },
  shard: { type: 'string' },
  list: { type: 'boolean', default: false },
  cost: { type: 'boolean', default: false },
  help: { type: 'boolean', default: false },
} as const

const refuse = (error: unknown): never => {
  console.error(`npm test: ${error instanceof Error ? error.message : error}`)
  process.exit(2)
}
const attempt = <T>(work: () => T): T => {
  try {
    return work()
  } catch (error) {
    return refuse(error)
  }
}

const { values, positionals } = attempt(() => parseArgs({ options, allowPositionals: true }))
if (values.help) {
  console.log(usage)
  process.exit(0)
}
const concurrency = values.concurrency === undefined ? null : Number(values.concurrency)
if (concurrency !== null && !(Number.isInteger(concurrency) && concurrency > 0))
  refuse('--concurrency must be a whole number above 0')

const costs = readCosts()
const oldestServer = needs('PostgreSQL 15', oldest !== null)
const isWhole =
  positionals.length === 0 &&
  values.shard === undefined &&
  !values.changed &&
  values.long === undefined &&
  !values.oldest

type Choice = { readonly runs: readonly FileRun[]; readonly leftOut: readonly LeftOut[] }

const chooseWhole = (): Choice => wholeForm(root, values.full, !oldestServer.skip)

const chooseChanged = (): Choice => {
  const [revision = 'HEAD', ...others] = positionals
  if (others.length > 0) refuse('--changed takes one revision')
  const changed = changedSince(root, revision)
  const selected = changedFiles(root, changed, { isFull: values.full, costs })
  if (selected === 'everything') return chooseWhole()
  const { runs, beyond } = selected
  console.log(
    `${changed.length} changed files: ${runs.length} test files are near, ${beyond} further ones are left out`,
  )
  return { runs, leftOut: [] }
}

const chooseLong = (name: string): Choice => {
  const patterns = longForms[name] ?? refuse(`--long must be one of ${longNames}`)
  // `--long chaos test/chaos/kill.test.ts` runs one file of a long form.
  const chosen = positionals.flatMap((path) => filesIn(root, path))
  return {
    runs: runsOf(find(root, patterns).filter((file) => chosen.length === 0 || chosen.includes(file))),
    leftOut: [],
  }
}

const chooseAll = (): Choice => {
  if (values.oldest) return { runs: runsOnOldest(root), leftOut: [] }
  if (values.long !== undefined) return chooseLong(values.long)
  if (values.changed) return chooseChanged()
  return positionals.length > 0 ? namedFiles(root, positionals, values.full) : chooseWhole()
}

const choose = (): Choice => {
  const shard = values.shard === undefined ? null : shardFrom(values.shard)
  const all = chooseAll()
  return shard === null ? all : { ...all, runs: runsOfShard(all.runs, shard, costs) }
}

const { runs, leftOut } = attempt(choose)
if (runs.length === 0) {
  if (!values.changed) refuse('no test files match')
  console.log('No test is near what changed.')
  process.exit(0)
}
if (values.list) {
  for (const { name } of runs) console.log(name)
  process.exit(0)
}
if (values.long !== undefined) process.env.TRUNKLINE_TEST_LONG = '1'
if (values.full || values.long !== undefined) process.env.TRUNKLINE_TEST_FORM = 'full'

const timeLimits: TimeLimits =
  values.long === undefined
    ? { test: 300_000, busy: 320_000, over: 60_000 }
    : { test: 4 * 3_600_000, busy: 4 * 3_600_000, over: 60_000 }

/** Whether output is printed at once: for a single file, and for long forms, which take hours. */
const isLive = values.long !== undefined || runs.length === 1

const queue: Group[] = []

const meter = values.cost ? makeCpuMeter() : null

const exactly = (count: number): Concurrency => ({ least: count, most: count })

/** Runs groups concurrently. Prints the output of each when it has ended, or at once if `live`. */
const runAll = async (groups: readonly Group[], concurrency: Concurrency): Promise<FileResult[]> => {
  queue.push(...groups)
  const all: FileResult[] = []
  const runGroup = async (group: Group) => {
    const cpu = meter?.part() ?? null
    const { outcomes, unreported, ms, text } = await runFiles(group, timeLimits, { live: isLive, cpu })
    cpu?.close()
    all.push(...outcomes)
    queue.push(...ungrouped(unreported))
    const isPassed = unreported.length === 0 && outcomes.every(({ passed }) => passed)
    console.log(`${isPassed ? '▶' : '✖'} ${groupName(group)} (${seconds(ms)})\n${isLive ? '' : text}`)
    if (unreported.length > 0) console.log(`Run again alone, as their process ended early: ${namesOf(unreported)}`)
  }
  await workThrough(queue, runGroup, concurrency, { mostlyWaits: (group) => mostlyWaits(group, costs) })
  return all
}

/** Failed files that are retried at most. A busy machine makes a few files fail; more failures have another cause. */
const maxRetriedFiles = 10

/** Above this number of files, preparing the databases of platforms in advance saves time. */
const manyFiles = 20

const failedRuns = (outcomes: readonly FileResult[]) => outcomes.filter(({ passed }) => !passed).map(({ turn }) => turn)
const namesOf = (turns: readonly FileRun[]) => turns.map(({ name }) => name).join(', ')

/** @returns whether every file passed, at its first run or the retry. A file that fails twice has a defect */
const runEverything = async (): Promise<boolean> => {
  const began = performance.now()
  const groups = values.long === undefined ? grouped(runs, root, costs) : ungrouped(runs)
  const outcomes = await runAll(groups, concurrency === null ? concurrencyHere() : exactly(concurrency))
  const failed = failedRuns(outcomes)
  if (meter) {
    printCost(outcomes, meter.read())
    if (isWhole && values.full) writeCosts(costsOf(outcomes))
  }
  printSlow(outcomes)
  const withoutServer = isWhole && values.full ? oldestServer.skip : false
  printSkipped(outcomes, withoutServer)
  printLeftOut(outcomes, leftOut, costs)
  const sum = (count: 'tests' | 'passed') => outcomes.reduce((total, { counts }) => total + counts[count], 0)
  const took = seconds(performance.now() - began)
  console.log(`\n${runs.length} files, ${sum('tests')} tests, ${sum('passed')} passed, in ${took}`)
  if (failed.length === 0) return true
  console.log(`FAILED: ${namesOf(failed)}`)
  if (failed.length > maxRetriedFiles || runs.length <= maxRetriedFiles || values.long !== undefined) return false
  console.log(`\nRetry, one file at a time: ${namesOf(failed)}`)
  const still = failedRuns(await runAll(ungrouped(failed), exactly(1)))
  const flaky = failed.filter((turn) => !still.includes(turn))
  if (flaky.length > 0) console.log(`FLAKY, passed on retry: ${namesOf(flaky)}`)
  if (still.length > 0) console.log(`FAILED twice: ${namesOf(still)}`)
  return still.length === 0
}

for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
  process.once(signal, () => {
    queue.length = 0
    killAll()
    globalTeardown().finally(() => process.exit(1))
  })

await globalSetup({
  onOldest: values.full || values.oldest || values.long !== undefined,
  platforms: runs.length > manyFiles,
})
try {
  process.exitCode = (await runEverything()) ? 0 : 1
} finally {
  await globalTeardown()
  meter?.close()
}
