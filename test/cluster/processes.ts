import { spawn } from 'node:child_process'
import { chownSync, mkdirSync, readdirSync, readlinkSync } from 'node:fs'
import { join, sep } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { osAccountFor, spawnOptionsFor } from '../../src/platform/db/os-account.ts'
import { temporaryFolder } from '../servers.ts'

// Programs of others that a test kills and starts again. Each works in a folder of its own below the folder of the
// cluster. The working directory identifies them, also the children of a program that was killed.

/** Milliseconds until a program must have done what a test waits for: a failover takes 20 s on a quiet machine. */
const patienceMs = 180_000

/** Ends the processes that work in $0 when its standard input closes, then removes the folder. */
const keeperScript = `read -r _
i=0
while [ $i -lt 100 ]; do
  found=
  for link in /proc/[0-9]*/cwd; do
    case "$(readlink "$link" 2>/dev/null)" in
      "$0"|"$0"/*) pid=\${link#/proc/}; kill -9 "\${pid%/cwd}" 2>/dev/null; found=1;;
    esac
  done
  [ -z "$found" ] && break
  i=$((i + 1)); sleep 0.1
done
rm -rf -- "$0"`

/**
 * Makes a temporary folder. When this process has exited, however it ended, a shell kills the processes that work in
 * the folder, and removes it.
 */
export const makeClusterFolder = (): string => {
  const folder = temporaryFolder('trunkline-cluster-')
  const keeper = spawn('/bin/sh', ['-c', keeperScript, folder], {
    detached: true,
    cwd: '/',
    stdio: ['pipe', 'ignore', 'ignore'],
  })
  keeper.unref()
  keeper.stdin.on('error', () => {})
  if ('unref' in keeper.stdin && typeof keeper.stdin.unref === 'function') keeper.stdin.unref()
  return folder
}

/** Patroni, PostgreSQL and PgBouncer refuse to run as root. */
const account = osAccountFor(import.meta.dirname)

/** Makes a folder that the programs of a cluster may write to. */
const makeProgramFolder = (parent: string, name: string): string => {
  const folder = join(parent, name)
  mkdirSync(folder, { mode: 0o700 })
  if (account) chownSync(folder, account.uid, account.gid)
  return folder
}

const processesIn = (folder: string): number[] =>
  readdirSync('/proc').flatMap((name) => {
    if (!/^\d+$/.test(name)) return []
    try {
      const directory = readlinkSync(`/proc/${name}/cwd`)
      return directory === folder || directory.startsWith(folder + sep) ? [Number(name)] : []
    } catch {
      // It has ended, or belongs to another user.
      return []
    }
  })

/** Sends a signal to every process that works in the folder. @returns how many there are */
const signalIn = (folder: string, signal: NodeJS.Signals): number => {
  const found = processesIn(folder)
  for (const pid of found)
    try {
      process.kill(pid, signal)
    } catch {
      // It has ended meanwhile.
    }
  return found.length
}

/** Kills every process that works in the folder, as the loss of a machine would. */
export const killIn = async (folder: string): Promise<void> => {
  while (signalIn(folder, 'SIGKILL') > 0) await pause(20)
}

/** A running program. */
type ClusterProgram = {
  /**
   * Waits for a line that matches.
   * @param from only lines that arrived since this time of `performance.now()` count
   * @returns when the line arrived
   * @throws Error with the output if the program ends before
   */
  prints(pattern: RegExp, from?: number): Promise<number>
  /** Waits for a condition. @throws Error with the output if the program ends before */
  reaches(what: string, condition: () => Promise<boolean>): Promise<void>
}

/** Starts a program that we did not write, in its folder. */
const startProgram = (folder: string, command: readonly string[]): ClusterProgram => {
  const [program = '', ...args] = command
  const child = spawn(program, args, {
    ...spawnOptionsFor(account),
    cwd: folder,
    env: { PATH: `${process.env.PATH}:/usr/sbin:/sbin`, HOME: folder, LC_ALL: 'C.UTF-8' },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const lines: { at: number; text: string }[] = []
  let end: string | null = null
  child.on('error', (error) => {
    end = error.message
  })
  child.on('exit', (status, signal) => {
    end ??= `ended with ${signal ?? status}`
  })
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => {
      const at = performance.now()
      for (const line of text.split('\n')) if (line !== '') lines.push({ at, text: line })
    })
  const last = () =>
    lines
      .slice(-40)
      .map(({ text }) => text)
      .join('\n')
  const wait = async <T>(what: string, look: () => Promise<T | null>): Promise<T> => {
    const deadline = performance.now() + patienceMs
    for (;;) {
      const found = await look()
      if (found !== null) return found
      if (end !== null) throw new Error(`${program} ${end} before: ${what}\n${last()}`)
      if (performance.now() > deadline) throw new Error(`${program} never: ${what}\n${last()}`)
      await pause(20)
    }
  }
  return {
    prints: (pattern, from = 0) =>
      wait(
        `it prints ${pattern}`,
        async () => lines.find(({ at, text }) => at >= from && pattern.test(text))?.at ?? null,
      ),
    reaches: async (what, condition) => void (await wait(what, async () => ((await condition()) ? true : null))),
  }
}

/** A program with its children that a test kills and starts again: a machine of its own in production. */
export type Member = {
  readonly name: string
  /** Kills every process of the member. */
  kill(): Promise<void>
  /** Starts a killed member. */
  start(): void
  /** Stops every process of the member in the middle of what it does, until `resume`. */
  hang(): void
  resume(): void
  program(): ClusterProgram
}

/** Starts a member, in a folder of its own. */
export const startMember = (folder: string, name: string, command: readonly string[]): Member => {
  const own = makeProgramFolder(folder, name)
  let running = startProgram(own, command)
  return {
    name,
    kill: () => killIn(own),
    start: () => {
      running = startProgram(own, command)
    },
    hang: () => void signalIn(own, 'SIGSTOP'),
    resume: () => void signalIn(own, 'SIGCONT'),
    program: () => running,
  }
}
