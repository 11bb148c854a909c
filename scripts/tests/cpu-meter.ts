import { mkdirSync, readdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

// Measures the processor time of whole process trees: browsers, killed children and orphans included. A control group
// counts exactly. Where none may be made, /proc is read four times a second: what ran between the last look and its end
// is missing then.

/** Measures the processes that its command starts, with everything that they start. */
export type CpuMeter = {
  /** What a command line is prefixed with to be measured. */
  readonly prefix: readonly string[]
  /** Gives the process that the command line started. */
  started(pid: number): void
  /** Seconds of processor time until now. */
  read(): number
  /** Makes a meter of a part: its time counts here, too. */
  part(): CpuMeter
  close(): void
}

/** The groups that this process may make: of version 1 (cpuacct) or version 2. */
const groupFolders = (): string[] => {
  const own = readFileSync('/proc/self/cgroup', 'utf8')
    .split('\n')
    .map((line) => /^\d+:([^:]*):(.*)$/.exec(line))
  return readFileSync('/proc/mounts', 'utf8')
    .split('\n')
    .flatMap((line) => {
      const [, folder = '', kind, options = ''] = line.split(' ')
      const wanted =
        kind === 'cgroup2' ? '' : kind === 'cgroup' && options.split(',').includes('cpuacct') ? 'cpuacct' : null
      const path = own.find((group) => wanted !== null && group?.[1]?.split(',').includes(wanted))?.[2]
      return path === undefined ? [] : [join(folder, path)]
    })
}

const readGroup = (folder: string): number => {
  try {
    return Number(readFileSync(join(folder, 'cpuacct.usage'), 'utf8')) / 1e9
  } catch {
    return Number(/usage_usec (\d+)/.exec(readFileSync(join(folder, 'cpu.stat'), 'utf8'))?.[1]) / 1e6
  }
}

const enterGroup = ['/bin/sh', '-c', 'echo $$ > "$0/cgroup.procs"; exec "$@"']

let groups = 0

const makeGroup = (parent: string): CpuMeter => {
  const folder = join(parent, `trunkline-test-${process.pid}-${++groups}`)
  mkdirSync(folder)
  let last = 0
  let isOpen = true
  const read = () => {
    if (isOpen) last = readGroup(folder)
    return last
  }
  return {
    prefix: [...enterGroup, folder],
    started: () => {},
    read,
    part: () => makeGroup(folder),
    close: () => {
      read()
      isOpen = false
      try {
        for (const pid of readFileSync(join(folder, 'cgroup.procs'), 'utf8').split('\n'))
          if (pid) writeFileSync(join(parent, 'cgroup.procs'), pid)
        rmdirSync(folder)
      } catch {
        // A process is ending at this moment. An empty group costs nothing.
      }
    },
  }
}

/** Clock ticks per second of /proc: the same on every Linux. */
const ticks = 100

type Process = { pid: number; parent: number; key: string; seconds: number }

const processes = (): Process[] =>
  readdirSync('/proc').flatMap((name) => {
    if (!/^\d+$/.test(name)) return []
    try {
      const text = readFileSync(`/proc/${name}/stat`, 'utf8')
      const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
      const [parent, user, system, start] = [1, 11, 12, 19].map((at) => Number(fields[at] ?? 0))
      const seconds = ((user ?? 0) + (system ?? 0)) / ticks
      return [{ pid: Number(name), parent: parent ?? 0, key: `${name}-${start}`, seconds }]
    } catch {
      return []
    }
  })

const lookEvery = 250

/** Remembers the processes of a tree: one that lost its parent still belongs to it. */
const makeTree = (): CpuMeter => {
  const known = new Map<string, number>()
  const members = new Set<number>()
  const look = () => {
    const all = processes()
    const alive = new Set(all.map(({ pid }) => pid))
    for (const pid of members) if (!alive.has(pid)) members.delete(pid)
    for (let size = -1; size !== members.size; ) {
      size = members.size
      for (const { pid, parent } of all) if (members.has(parent)) members.add(pid)
    }
    for (const { pid, key, seconds } of all) if (members.has(pid)) known.set(key, seconds)
  }
  const timer = setInterval(look, lookEvery).unref()
  return {
    prefix: [],
    started: (pid) => void members.add(pid),
    read: () => {
      look()
      return known.values().reduce((sum, seconds) => sum + seconds, 0)
    },
    part: makeTree,
    close: () => clearInterval(timer),
  }
}

/** Makes a meter of this process and everything that it starts from now on; null where the system offers none. */
export const makeCpuMeter = (): CpuMeter | null => {
  if (process.platform !== 'linux') return null
  for (const parent of groupFolders())
    try {
      const meter = makeGroup(parent)
      const [folder = ''] = meter.prefix.slice(-1)
      writeFileSync(join(folder, 'cgroup.procs'), String(process.pid))
      return meter
    } catch {
      // This user may not make groups here.
    }
  const meter = makeTree()
  meter.started(process.pid)
  return meter
}
