import { globSync } from 'node:fs'
import { basename, join } from 'node:path'
import { parseArgs } from 'node:util'
import { seededRandom } from '../src/domains/numbers/catalogue/seeded-random.ts'
import { globalSetup, globalTeardown } from '../test/setup.ts'
import { makeCopy } from './mutate/copy.ts'
import type { Mutation } from './mutate/mutations.ts'
import { killTestRuns, runTestFile } from './mutate/test-run.ts'

const help = `npm run mutate -- FOLDER...

Mutation testing: changes the files of folders in a copy of the repository, one change at a time. Runs the tests of the
folder after each change and lists the changes that no test detected. Changes are negated conditions, moved boundaries,
exchanged operators, removed statements and swapped arguments. Changes that do not compile are skipped. SQL and log lines
are never changed.

  --limit N      changes to try in each folder            (default: 20)
  --seed TEXT    the same seed chooses the same changes   (default: 1)
  --tests PATH   more tests to run, a file or folder; may be given several times
  --only NAME    only files whose path contains NAME
  --seconds N    time limit of one test file, seconds     (default: 120)
  --list         prints the changes that would be tried, and exits
  --help         prints this text

Ctrl-C ends the run and prints the results so far. The exit status is 1 if a change was not detected.`

const options = {
  limit: { type: 'string', default: '20' },
  seed: { type: 'string', default: '1' },
  seconds: { type: 'string', default: '120' },
  tests: { type: 'string', multiple: true },
  only: { type: 'string', default: '' },
  list: { type: 'boolean', default: false },
  help: { type: 'boolean', default: false },
} as const
const { values, positionals } = parseArgs({ options, allowPositionals: true })
if (values.help || positionals.length === 0) {
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

/** Orders tests: those named like the changed file first, then those that detected the most changes. */
const orderTests = (tests: readonly string[], file: string, kills: ReadonlyMap<string, number>): string[] => {
  const name = basename(file, '.ts')
  const weight = (test: string) => (basename(test).startsWith(`${name}.`) ? 1e6 : 0) + (kills.get(test) ?? 0)
  return [...tests].sort((a, b) => weight(b) - weight(a))
}

const copy = makeCopy(root)

/** Runs the tests on the unchanged copy. @returns the duration of each test file that passes, milliseconds */
const measure = async (tests: readonly string[]): Promise<Map<string, number>> => {
  const times = new Map<string, number>()
  for (const test of tests) {
    if (isStopped) break
    const { result, ms } = await runTestFile(copy.folder, test, Number(values.seconds))
    if (result === 'passed') times.set(test, ms)
    else console.log(`skipped, fails without a change: ${test}`)
  }
  return times
}

const runFolder = async (folder: string): Promise<Report> => {
  const files = filesOf(folder, '*.ts').filter((file) => !isTest.test(file) && file.includes(values.only))
  const all = files.flatMap((file) => copy.mutations(file).map((mutation) => ({ file, mutation })))
  const report: Report = { folder, detected: 0, survivors: [], refused: 0, candidates: all.length }
  const chosen = shuffled(all, `${values.seed} ${folder}`)
  console.log(`${folder}: ${files.length} files, ${all.length} possible changes`)
  if (values.list) {
    for (const one of chosen.slice(0, Number(values.limit))) console.log(`  ${describe(one)}`)
    return report
  }
  const tests = [...new Set([folder, ...(values.tests ?? [])].flatMap((path) => filesOf(path, '*.test.ts')))]
  const times = await measure(tests)
  const kills = new Map<string, number>()
  for (const one of chosen) {
    const tried = report.detected + report.survivors.length
    if (isStopped || tried >= Number(values.limit)) break
    if (!copy.apply(one.file, one.mutation)) {
      report.refused++
      continue
    }
    let detectedBy: string | null = null
    for (const test of orderTests([...times.keys()], one.file, kills)) {
      const seconds = Math.min(Number(values.seconds), 10 + ((times.get(test) ?? 0) * 4) / 1000)
      const { result } = await runTestFile(copy.folder, test, seconds)
      if (isStopped) break
      if (result === 'passed') continue
      detectedBy = `${test}${result === 'timeout' ? ' (timeout)' : ''}`
      kills.set(test, (kills.get(test) ?? 0) + 1)
      break
    }
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

if (!values.list) await globalSetup({ onOldest: false, platforms: false })
try {
  const reports: Report[] = []
  for (const folder of positionals) if (!isStopped) reports.push(await runFolder(folder))
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
