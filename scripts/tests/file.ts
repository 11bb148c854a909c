import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { Socket } from 'node:net'
import { join, resolve } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as pause } from 'node:timers/promises'
import { type Group, nameOf, type Turn } from './plan.ts'
import type { Fact } from './reporter.ts'

const root = join(import.meta.dirname, '../..')

/** Measured: a test of a domain loads in 0.4 s of processor time instead of 0.8. */
const compileCache = join(root, 'node_modules/.cache/compile')

/** How long a file may say nothing. */
export type Patience = {
  /** For one test; it fails then, and the file goes on. Milliseconds, as below. */
  test: number
  /** With tests that have not ended: longer than `test`. What holds the event loop cannot fail by itself. */
  busy: number
  /** After its last test: hooks, and whatever keeps the process alive. */
  over: number
}

/** What came of one test file. */
export type Outcome = {
  turn: Turn
  passed: boolean
  ms: number
  counts: { tests: number; passed: number }
  skipped: { name: string; reason: string }[]
  /** Seconds of processor time, of itself and of what it started and waited for; null unless it was asked for. */
  cpu: number | null
}

/** What came of the files of one process. */
export type Outcomes = {
  outcomes: Outcome[]
  /** Those of which it told nothing, since another one ended it. */
  untold: Turn[]
  ms: number
  /** Everything that they printed. */
  text: string
}

/** Asks a shell that waits for a program what that took: Node does not tell what its children did. POSIX, times. */
const timed = '"$@" 4>&-; status=$?; times >&4; exit $status'

/** Seconds of the second line of `times`, such as `0m1.23s 0m0.45s`. */
const secondsOf = (told: string): number =>
  [...(told.split('\n')[1] ?? '').matchAll(/(\d+)m([\d.]+)s/g)].reduce(
    (sum, [, minutes, seconds]) => sum + Number(minutes) * 60 + Number(seconds),
    0,
  )

const running = new Set<() => void>()

/** Ends all that is running, at once: for a signal to the runner. */
export const killAll = (): void => {
  for (const kill of running) kill()
}

/**
 * Runs a test file, or several that share a process (shared.ts), in a process group of its own, and gives it up when it hangs: Node's own runner would wait for a process
 * that never ends, or end the whole run. What the file started and left behind ends with it.
 * @param options live prints what it says at once, too; cost adds up its processor time
 */
export const runFiles = async (
  group: Group,
  patience: Patience,
  { live = false, cost = false }: { live?: boolean; cost?: boolean } = {},
): Promise<Outcomes> => {
  const began = performance.now()
  const reporter = join(import.meta.dirname, 'reporter.ts')
  const options = [
    `--test-reporter=${reporter}`,
    '--test-reporter-destination=stdout',
    `--test-timeout=${patience.test}`,
  ]
  // Set where a test runs this; it would make Node report in its own way.
  const { NODE_TEST_CONTEXT: _, ...env } = process.env
  const [first, ...others] = group
  const entry = others.length > 0 ? [join(import.meta.dirname, 'shared.ts')] : []
  const program = [process.execPath, ...options, ...entry, ...group.map(({ file }) => resolve(root, file))]
  const [command = '', ...args] = cost ? ['/bin/sh', '-c', timed, 'sh', ...program] : program
  const child = spawn(command, args, {
    cwd: root,
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe', 'pipe', ...(cost ? (['pipe'] as const) : [])],
    env: {
      ...env,
      ...first.env,
      NODE_COMPILE_CACHE: compileCache,
      ...(process.stdout.isTTY ? { FORCE_COLOR: '1' } : {}),
    },
  })
  const [, stdout, stderr, facts, times] = child.stdio
  if (!(stdout instanceof Socket && stderr instanceof Socket && facts instanceof Socket)) throw new Error('no pipes')
  const kill = () => {
    try {
      process.kill(-(child.pid ?? 0), 'SIGKILL')
    } catch {
      // Nobody of the group is left.
    }
  }
  running.add(kill)

  let text = ''
  const note = (chunk: string) => {
    text += chunk
    if (live) process.stdout.write(chunk)
  }
  stdout.setEncoding('utf8').on('data', note)
  stderr.setEncoding('utf8').on('data', note)

  let told = ''
  if (times instanceof Socket)
    times.setEncoding('utf8').on('data', (chunk: string) => {
      told += chunk
    })

  let open = 0
  let over: Extract<Fact, { kind: 'over' }> | undefined
  let gaveUp = ''
  let skipped: Outcome['skipped'] = []
  let begun = 0
  const outcomes: Outcome[] = []
  /** The file that is at it, of those that share the process. */
  const current = () => group[begun - 1] ?? first
  const isBusy = () => open > 0 || begun > outcomes.length
  const giveUp = () => {
    const why = isBusy() ? `${open} of its tests had not ended` : 'its tests were over, but not its process'
    gaveUp = `✖ ${isBusy() ? current().name : nameOf(group)} was killed after ${(isBusy() ? patience.busy : patience.over) / 1000} s of silence: ${why}\n`
    kill()
  }
  // A file has no tests before it has loaded.
  let silence = setTimeout(giveUp, patience.busy)
  const heard = (fact: Fact) => {
    if (fact.kind === 'wait') open++
    if (fact.kind === 'done') open--
    if (fact.kind === 'skip') skipped.push({ name: fact.name, reason: fact.reason })
    if (fact.kind === 'over') over = fact
    if (fact.kind === 'begin') begun++
    const ended = group[outcomes.length]
    if (fact.kind === 'end' && ended) {
      const { success: passed, ms, counts, cpu: spent } = fact
      outcomes.push({ turn: ended, passed, ms, counts, skipped, cpu: cost ? spent : null })
      skipped = []
    }
    clearTimeout(silence)
    silence = setTimeout(giveUp, isBusy() ? patience.busy : patience.over)
  }
  // What reporter.ts wrote.
  createInterface({ input: facts }).on('line', (line) => heard(JSON.parse(line) as Fact))

  const closed = once(child, 'close')
  const [status, signal] = await once(child, 'exit')
  clearTimeout(silence)
  kill()
  running.delete(kill)
  // A daemon in a group of its own may still hold the pipes.
  await Promise.race([closed, pause(5_000, undefined, { ref: false })])

  const ms = performance.now() - began
  const isWell = status === 0 && over?.success === true
  if (gaveUp) note(gaveUp)
  else if (status !== 0 && over?.success !== false)
    note(`✖ ${nameOf(group)} ended with ${signal ?? `status ${status}`}\n`)
  if (others.length === 0) {
    const counts = over?.counts ?? { tests: 0, passed: 0 }
    const cpu = told === '' ? null : secondsOf(told)
    return { outcomes: [{ turn: first, passed: isWell, ms, counts, skipped, cpu }], untold: [], ms, text }
  }
  const cut = group.slice(outcomes.length, begun)
  const failed = outcomes.filter(({ passed }) => !passed)
  // It did not end as it should, and no file is known to be why: each has to show by itself that it passes.
  if (!isWell && cut.length === 0 && (failed.length === 0 || gaveUp !== ''))
    return { outcomes: failed, untold: group.filter((turn) => !failed.some((one) => one.turn === turn)), ms, text }
  for (const turn of cut)
    outcomes.push({ turn, passed: false, ms: 0, counts: { tests: 0, passed: 0 }, skipped: [], cpu: null })
  return { outcomes, untold: group.slice(outcomes.length), ms, text }
}
