import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { Socket } from 'node:net'
import { join, resolve } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as pause } from 'node:timers/promises'
import type { Turn } from './plan.ts'
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
  /** Everything that it printed. */
  text: string
  counts: { tests: number; passed: number }
  skipped: { name: string; reason: string }[]
  /** Seconds of processor time, of itself and of what it started and waited for; null unless it was asked for. */
  cpu: number | null
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
 * Runs a test file in a process group of its own, and gives it up when it hangs: Node's own runner would wait for a process
 * that never ends, or end the whole run. What the file started and left behind ends with it.
 * @param options live prints what it says at once, too; cost adds up its processor time
 */
export const runFile = async (
  turn: Turn,
  patience: Patience,
  { live = false, cost = false }: { live?: boolean; cost?: boolean } = {},
): Promise<Outcome> => {
  const began = performance.now()
  const reporter = join(import.meta.dirname, 'reporter.ts')
  const options = [
    `--test-reporter=${reporter}`,
    '--test-reporter-destination=stdout',
    `--test-timeout=${patience.test}`,
  ]
  // Set where a test runs this; it would make Node report in its own way.
  const { NODE_TEST_CONTEXT: _, ...env } = process.env
  const program = [process.execPath, ...options, resolve(root, turn.file)]
  const [command = '', ...args] = cost ? ['/bin/sh', '-c', timed, 'sh', ...program] : program
  const child = spawn(command, args, {
    cwd: root,
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe', 'pipe', ...(cost ? (['pipe'] as const) : [])],
    env: {
      ...env,
      ...turn.env,
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
  const skipped: Outcome['skipped'] = []
  const giveUp = () => {
    const why = open > 0 ? `${open} of its tests had not ended` : 'its tests were over, but not its process'
    gaveUp = `✖ ${turn.name} was killed after ${(open > 0 ? patience.busy : patience.over) / 1000} s of silence: ${why}\n`
    kill()
  }
  // A file has no tests before it has loaded.
  let silence = setTimeout(giveUp, patience.busy)
  const heard = (fact: Fact) => {
    if (fact.kind === 'wait') open++
    if (fact.kind === 'done') open--
    if (fact.kind === 'skip') skipped.push({ name: fact.name, reason: fact.reason })
    if (fact.kind === 'over') over = fact
    clearTimeout(silence)
    silence = setTimeout(giveUp, open > 0 ? patience.busy : patience.over)
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

  if (gaveUp) note(gaveUp)
  else if (status !== 0 && over?.success !== false) note(`✖ ${turn.name} ended with ${signal ?? `status ${status}`}\n`)
  return {
    turn,
    passed: status === 0 && over?.success === true,
    ms: performance.now() - began,
    text,
    counts: over?.counts ?? { tests: 0, passed: 0 },
    skipped,
    cpu: told === '' ? null : secondsOf(told),
  }
}
