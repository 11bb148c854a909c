import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { globSync, statSync } from 'node:fs'
import { join, relative } from 'node:path'
import { run } from 'node:test'
import { spec } from 'node:test/reporters'
import { parseArgs } from 'node:util'

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
  return find(everywhere)
}

const files = chosen()
if (files.length === 0) throw new Error('there are no such test files')
if (values.long !== undefined) process.env.TRUNKLINE_TEST_LONG = '1'

const skipped = new Map<string, string[]>()
const durations = new Map<string, number>()

const seconds = (ms: number) => `${(ms / 1000).toFixed(1)} s`

/** What the runner's summary does not say: which files are slow, and what was not tried and what that lacks. */
const tellMore = () => {
  const slow = [...durations].filter(([, ms]) => ms > 10_000).sort(([, a], [, b]) => b - a)
  if (slow.length > 0) console.log('\nOver 10 s:')
  for (const [file, ms] of slow) console.log(`  ${seconds(ms).padStart(8)}  ${relative(root, file)}`)
  if (skipped.size === 0) return
  const lacking = new Set<string>()
  console.log('\nSKIPPED, and so not proved by this run:')
  for (const [reason, names] of skipped) {
    console.log(`  ${names.length} ${names.length === 1 ? 'test' : 'tests'}: ${reason}`)
    for (const name of names.slice(0, 5)) console.log(`    ${name}`)
    const wanted = /apt-get install ([a-z0-9][a-z0-9+.-]*)/.exec(reason)?.[1]
    if (wanted) lacking.add(wanted)
  }
  if (lacking.size > 0) console.log(`\nTo try them: apt-get install -y ${[...lacking].sort().join(' ')}`)
}

/** A test file that hangs says nothing: the run ends instead of waiting with it. */
const patience = values.long === undefined ? 240_000 : 4 * 3_600_000

/** Runs test files and prints what comes of them. @returns those that failed */
const runAll = async (): Promise<Set<string>> => {
  const failed = new Set<string>()
  const stuck = new AbortController()
  // Node's types do not know `globalSetupPath` yet: not a literal, so that the compiler lets it pass.
  const options = {
    cwd: root,
    signal: stuck.signal,
    files: files.map((file) => join(root, file)),
    globalSetupPath: join(root, 'test', 'setup.ts'),
    concurrency: Number(values.concurrency),
    ...(values.long === undefined ? { timeout: 180_000 } : {}),
  }
  const stream = run(options)
  const giveUp = setTimeout(() => stuck.abort(new Error(`no test has ended for ${seconds(patience)}`)), patience)
  stream.on('data', () => giveUp.refresh())
  stream.on('end', () => clearTimeout(giveUp))
  stream.on('test:pass', ({ name, file, skip }) => {
    if (skip === undefined || skip === false) return
    const reason = typeof skip === 'string' ? skip : 'no reason given'
    skipped.set(reason, [...(skipped.get(reason) ?? []), `${relative(root, file ?? '')}: ${name}`])
  })
  stream.on('test:summary', ({ file, duration_ms, success }) => {
    if (file !== undefined) durations.set(file, duration_ms)
    if (!success) failed.add(file ?? '')
  })
  stream.on('test:fail', ({ file }) => failed.add(file ?? ''))
  const printed = stream.compose(new spec())
  printed.pipe(process.stdout, { end: false })
  await once(printed, 'end')
  // The summary of the whole names no file.
  if (failed.size > 1) failed.delete('')
  return failed
}

/** So many files may have failed for want of a quiet machine; more have another cause. */
const fewFiles = 6

/** In a process of its own, as only the first run of a process is given servers. @returns its exit status */
const runAlone = async (names: readonly string[]): Promise<number> => {
  console.log(`\nOnce more, one after the other: ${names.join(', ')}`)
  const child = spawn(process.execPath, [import.meta.filename, '--concurrency', '1', ...names], {
    cwd: root,
    stdio: 'inherit',
  })
  const [status] = await once(child, 'exit')
  return Number(status ?? 1)
}

const failed = [...(await runAll())].map((file) => relative(root, file))
const isFew = failed.length > 0 && failed.length <= fewFiles && !failed.includes('')
tellMore()
process.exitCode = failed.length > 0 ? 1 : 0
if (isFew && values.long === undefined && files.length > fewFiles) {
  process.exitCode = await runAlone(failed)
  if (process.exitCode === 0) console.log(`\nSHAKY, passed only at the second try: ${failed.join(', ')}`)
}
