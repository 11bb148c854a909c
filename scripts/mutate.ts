import { execFileSync } from 'node:child_process'
import { globSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { seededRandom } from '../src/domains/numbers/catalogue/seeded-random.ts'
import { globalSetup, globalTeardown } from '../test/setup.ts'
import { makeCopy } from './mutate/copy.ts'
import type { Mutation } from './mutate/mutations.ts'
import { killTestRuns, runTestFile } from './mutate/test-run.ts'
import { readCosts } from './tests/costs.ts'
import { type FileRun, runsOf } from './tests/plan.ts'
import { changedFiles } from './tests/selection.ts'

const help = `npm run mutate -- [FILE or FOLDER …]

Mutation testing: changes files in a copy of the repository, one change at a time. Runs the tests that \`npm test --
--changed\` selects for the changed file, and lists the changes that no test detected. Changes are negated conditions,
moved boundaries, exchanged operators, removed statements and swapped arguments. Changes that do not compile are skipped.
SQL and log lines are never changed.

  --draw N       N files of src, drawn by the seed
  --limit N      changes to try in each file or folder    (default: 20)
  --seed TEXT    the same seed chooses the same changes   (default: 1; with --draw the commit)
  --full         the tests of the full form
  --tests PATH   more tests to run, a file or folder; may be given several times
  --only NAME    only files whose path contains NAME
  --seconds N    time limit of one test file, seconds     (default: 120)
  --list         prints the changes that would be tried, and exits
  --help         prints this text

Ctrl-C ends the run and prints the results so far. The exit status is 1 if a change was not detected.`

const options = {
  limit: { type: 'string', default: '20' },
  draw: { type: 'string' },
  seed: { type: 'string' },
  full: { type: 'boolean', default: false },
  seconds: { type: 'string', default: '120' },
  tests: { type: 'string', multiple: true },
  only: { type: 'string', default: '' },
  list: { type: 'boolean', default: false },
  help: { type: 'boolean', default: false },
} as const
const { values, positionals } = parseArgs({ options, allowPositionals: true })
if (values.help || (positionals.length === 0 && values.draw === undefined)) {
  console.log(help)
  process.exit(values.help ? 0 : 1)
}

const root = join(import.meta.dirname, '..')
const isTest = /(?:\.test|\.conformance|testing|worker-fixture|holder|\.gen|\.d)\.ts$/
const filesOf = (folder: string, pattern: string): string[] => {
  const path = folder.replace(/\/+$/, '')
  return path.endsWith('.ts') ? [path] : globSync(`${path}/**/${pattern}`, { cwd: root }).sort()
}

type Candidate = { file: string; mutation: Mutation }

const short = (text: string) => {
  const line = text.replace(/\s+/g, ' ')
  return line.length > 90 ? `${line.slice(0, 87)}...` : line
}
const describe = ({ file, mutation: { line, kind, before, after } }: Candidate) =>
  `${file}:${line} ${kind}: ${short(before)} → ${short(after)}`

const shuffled = <T>(list: readonly T[], seed: string): T[] => {
  const next = seededRandom(seed)
  return list
    .map((one) => ({ one, at: next(2 ** 31) }))
    .sort((a, b) => a.at - b.at)
    .map(({ one }) => one)
}

let isStopped = false
const stop = () => {
  isStopped = true
  killTestRuns()
}

type Report = { folder: string; detected: number; survivors: Candidate[]; refused: number; candidates: number }

const commit = () => execFileSync('git', ['rev-parse', 'HEAD'], { cwd: root, encoding: 'utf8' }).trim()
const seed = values.seed ?? (values.draw === undefined ? '1' : commit())
const costs = readCosts()

/** The tests of a change of a file, the nearest first. */
const testsOf = (file: string): readonly FileRun[] => {
  const more = runsOf((values.tests ?? []).flatMap((path) => filesOf(path, '*.test.ts')))
  const near = changedFiles(root, [file], { isFull: values.full, costs })
  return near === 'everything'
    ? more
    : [...near.runs, ...more.filter((one) => !near.runs.some((run) => run.file === one.file))]
}

/** Puts the tests that detected the most changes of a file first. */
const orderTests = (tests: readonly FileRun[], kills: ReadonlyMap<string, number>): FileRun[] =>
  [...tests].sort((a, b) => (kills.get(b.name) ?? 0) - (kills.get(a.name) ?? 0))

const copy = makeCopy(root)

/** Duration of each test on the unchanged copy, milliseconds; null if it fails there, so that it detects nothing. */
const durations = new Map<string, number | null>()

/** Measures a test on the unchanged copy. */
const measure = async (test: FileRun): Promise<void> => {
  const { result, ms } = await runTestFile(copy.folder, test, Number(values.seconds))
  if (isStopped) return
  durations.set(test.name, result === 'passed' ? ms : null)
  if (result !== 'passed') console.log(`skipped, fails without a change: ${test.name}`)
}

/** @returns the name of the first test that detects the change in the copy; null if none does */
const detect = async (file: string, mutation: Mutation, tests: readonly FileRun[]): Promise<string | null> => {
  for (const test of tests) {
    if (isStopped) return null
    if (!durations.has(test.name)) {
      copy.restore(file)
      await measure(test)
      copy.apply(file, mutation)
    }
    const duration = durations.get(test.name)
    if (duration === null || duration === undefined) continue
    const seconds = Math.min(Number(values.seconds), 10 + (duration * 4) / 1000)
    const { result } = await runTestFile(copy.folder, test, seconds)
    if (result !== 'passed' && !isStopped) return `${test.name}${result === 'timeout' ? ' (timeout)' : ''}`
  }
  return null
}

const runFolder = async (folder: string): Promise<Report> => {
  const files = filesOf(folder, '*.ts').filter((file) => !isTest.test(file) && file.includes(values.only))
  const all = files.flatMap((file) => copy.mutations(file).map((mutation) => ({ file, mutation })))
  const report: Report = { folder, detected: 0, survivors: [], refused: 0, candidates: all.length }
  const chosen = shuffled(all, `${seed} ${folder}`)
  console.log(`${folder}: ${files.length} files, ${all.length} possible changes`)
  if (values.list) {
    for (const one of chosen.slice(0, Number(values.limit))) console.log(`  ${describe(one)}`)
    return report
  }
  const tests = new Map(files.map((file) => [file, testsOf(file)]))
  const kills = new Map<string, number>()
  for (const one of chosen) {
    const tried = report.detected + report.survivors.length
    if (isStopped || tried >= Number(values.limit)) break
    if (!copy.apply(one.file, one.mutation)) {
      report.refused++
      continue
    }
    const detectedBy = await detect(one.file, one.mutation, orderTests(tests.get(one.file) ?? [], kills))
    if (detectedBy !== null) kills.set(detectedBy, (kills.get(detectedBy) ?? 0) + 1)
    copy.restore(one.file)
    if (isStopped) break
    if (detectedBy === null) report.survivors.push(one)
    else report.detected++
    console.log(`${tried + 1}/${values.limit} ${detectedBy === null ? 'SURVIVED' : 'detected'} ${describe(one)}`)
    if (detectedBy !== null) console.log(`      by ${detectedBy}`)
  }
  return report
}

for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, stop)

const drawn = (count: number): string[] =>
  shuffled(
    filesOf('src', '*.ts').filter((file) => !isTest.test(file) && copy.mutations(file).length >= Number(values.limit)),
    seed,
  ).slice(0, count)
const chosenPaths = values.draw === undefined ? positionals : drawn(Number(values.draw))

if (values.full) process.env.TRUNKLINE_TEST_FORM = 'full'
if (!values.list) await globalSetup({ onOldest: values.full, platforms: true })
try {
  const reports: Report[] = []
  for (const folder of chosenPaths) if (!isStopped) reports.push(await runFolder(folder))
  for (const { folder, detected, survivors, refused } of values.list ? [] : reports) {
    const tried = detected + survivors.length
    const share = tried === 0 ? '' : ` (${Math.round((100 * detected) / tried)} %)`
    console.log(`\n${folder}: ${detected} of ${tried} detected${share}; ${refused} more did not compile`)
    for (const one of survivors) console.log(`  ${describe(one)}`)
    if (survivors.length > 0) process.exitCode = 1
  }
} finally {
  copy.close()
  if (!values.list) await globalTeardown()
}
