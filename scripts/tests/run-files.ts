import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { Socket } from 'node:net'
import { join, resolve } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as pause } from 'node:timers/promises'
import type { CpuMeter } from './cpu-meter.ts'
import { type FileRun, type Group, groupName } from './plan.ts'
import type { ProgressEvent } from './reporter.ts'

const root = join(import.meta.dirname, '../..')

/** Measured: a test of a domain then loads in 0.4 s of processor time instead of 0.8 s. */
const compileCache = join(root, 'node_modules/.cache/compile')

/** Measured: another 0.15 s less. */
const preload = `--import=${join(root, 'scripts/preload.mjs')}`

/** Measured: a tenth to three quarters less processor time in tests with a server in their process. */
const testContext = `--import=${join(import.meta.dirname, 'test-context.ts')}`

/** Time limits of a file without output, milliseconds. */
export type TimeLimits = {
  /** Limit of one test. The test then fails and its file continues. */
  test: number
  /** Silence while tests are running. Longer than `test`, since a test that blocks the event loop cannot time out. */
  busy: number
  /** Silence after the last test, for hooks and open handles. */
  over: number
}

/** The result of one test file. */
export type FileResult = {
  turn: FileRun
  passed: boolean
  ms: number
  counts: { tests: number; passed: number }
  skipped: { name: string; reason: string }[]
  /** Seconds of processor time of the file and of everything that it started; null if not measured. */
  cpu: number | null
}

/** The results of the files of one process. */
export type GroupResult = {
  outcomes: FileResult[]
  /** Files without a result because another file ended their process. */
  unreported: FileRun[]
  ms: number
  /** The output of the process. */
  text: string
}

const running = new Set<() => void>()

/** Kills all running files. Used when the runner receives a signal. */
export const killAll = (): void => {
  for (const kill of running) kill()
}

/**
 * Runs a test file, or several that share a process (shared-process.ts), in its own process group and kills it when it
 * hangs. Node's own runner would wait for a process that never ends, or end the whole run. Children that the file left
 * behind are killed with it.
 * @param options live: also prints the output at once; cpu: measures the processor time
 */
export const runFiles = async (
  group: Group,
  limits: TimeLimits,
  { live = false, cpu = null }: { live?: boolean; cpu?: CpuMeter | null } = {},
): Promise<GroupResult> => {
  const began = performance.now()
  const reporter = join(import.meta.dirname, 'reporter.ts')
  const options = [
    preload,
    testContext,
    `--test-reporter=${reporter}`,
    '--test-reporter-destination=stdout',
    `--test-timeout=${limits.test}`,
  ]
  // Set when a test runs this; Node would then use its own report format.
  const { NODE_TEST_CONTEXT: _, ...env } = process.env
  const [first, ...others] = group
  const entry = others.length > 0 ? [join(import.meta.dirname, 'shared-process.ts')] : []
  const [command, ...args] = [
    ...(cpu?.prefix ?? []),
    process.execPath,
    ...options,
    ...entry,
    ...group.map(({ file }) => resolve(root, file)),
  ]
  const child = spawn(command ?? '', args, {
    cwd: root,
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe', 'pipe'],
    env: {
      ...env,
      ...first.env,
      NODE_COMPILE_CACHE: compileCache,
      ...(process.stdout.isTTY ? { FORCE_COLOR: '1' } : {}),
    },
  })
  const [, stdout, stderr, events] = child.stdio
  if (!(stdout instanceof Socket && stderr instanceof Socket && events instanceof Socket)) throw new Error('no pipes')
  const kill = () => {
    try {
      process.kill(-(child.pid ?? 0), 'SIGKILL')
    } catch {
      // The whole group has ended.
    }
  }
  running.add(kill)

  let text = ''
  const addOutput = (chunk: string) => {
    text += chunk
    if (live) process.stdout.write(chunk)
  }
  stdout.setEncoding('utf8').on('data', addOutput)
  stderr.setEncoding('utf8').on('data', addOutput)

  cpu?.started(child.pid ?? 0)
  let counted = 0
  /** Processor time since the last call: the files of a process run one after the other. */
  const spent = () => {
    if (cpu === null) return null
    const before = counted
    counted = cpu.read()
    return counted - before
  }

  let open = 0
  let summary: Extract<ProgressEvent, { kind: 'over' }> | undefined
  let killNote = ''
  let skipped: FileResult['skipped'] = []
  let begun = 0
  const outcomes: FileResult[] = []
  /** The running file among those that share the process. */
  const current = () => group[begun - 1] ?? first
  const isBusy = () => open > 0 || begun > outcomes.length
  const killSilent = () => {
    const why = isBusy() ? `${open} of its tests had not ended` : 'its tests had ended, but its process had not'
    killNote = `✖ ${isBusy() ? current().name : groupName(group)} was killed after ${(isBusy() ? limits.busy : limits.over) / 1000} s without output: ${why}\n`
    kill()
  }
  // A file has no tests before it has loaded.
  let silence = setTimeout(killSilent, limits.busy)
  const handleEvent = (fact: ProgressEvent) => {
    if (fact.kind === 'wait') open++
    if (fact.kind === 'done') open--
    if (fact.kind === 'skip') skipped.push({ name: fact.name, reason: fact.reason })
    if (fact.kind === 'over') summary = fact
    if (fact.kind === 'begin') begun++
    const ended = group[outcomes.length]
    if (fact.kind === 'end' && ended) {
      const { success: passed, ms, counts } = fact
      outcomes.push({ turn: ended, passed, ms, counts, skipped, cpu: spent() })
      skipped = []
    }
    clearTimeout(silence)
    silence = setTimeout(killSilent, isBusy() ? limits.busy : limits.over)
  }
  // Events of reporter.ts.
  createInterface({ input: events }).on('line', (line) => handleEvent(JSON.parse(line) as ProgressEvent))

  const closed = once(child, 'close')
  const [status, signal] = await once(child, 'exit')
  clearTimeout(silence)
  kill()
  running.delete(kill)
  // A daemon in a group of its own may still hold the pipes.
  await Promise.race([closed, pause(5_000, undefined, { ref: false })])

  const ms = performance.now() - began
  const isPassed = status === 0 && summary?.success === true
  if (killNote) addOutput(killNote)
  else if (status !== 0 && summary?.success !== false)
    addOutput(`✖ ${groupName(group)} ended with ${signal ?? `status ${status}`}\n`)
  if (others.length === 0) {
    const counts = summary?.counts ?? { tests: 0, passed: 0 }
    return {
      outcomes: [{ turn: first, passed: isPassed, ms, counts, skipped, cpu: spent() }],
      unreported: [],
      ms,
      text,
    }
  }
  const interrupted = group.slice(outcomes.length, begun)
  const failed = outcomes.filter(({ passed }) => !passed)
  // The process failed and no file is known to be the cause, so each file has to run alone.
  if (!isPassed && interrupted.length === 0 && (failed.length === 0 || killNote !== ''))
    return { outcomes: failed, unreported: group.filter((turn) => !failed.some((one) => one.turn === turn)), ms, text }
  for (const turn of interrupted)
    outcomes.push({ turn, passed: false, ms: 0, counts: { tests: 0, passed: 0 }, skipped: [], cpu: spent() })
  return { outcomes, unreported: group.slice(outcomes.length), ms, text }
}
