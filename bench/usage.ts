import { readdirSync, readFileSync } from 'node:fs'
import { connect, type Sql } from '../src/platform/db/sql.ts'

// Resource usage of processes from /proc of Linux; zero on other systems.

const proc = (path: string): string => {
  try {
    return readFileSync(`/proc/${path}`, 'utf8')
  } catch {
    return ''
  }
}

const threadsOf = (pid: number): string[] => {
  try {
    return readdirSync(`/proc/${pid}/task`)
  } catch {
    return []
  }
}

/** Returns the running children of a process, whichever thread started them. */
export const childrenOf = (pid: number): number[] =>
  threadsOf(pid).flatMap((thread) => proc(`${pid}/task/${thread}/children`).split(' ').filter(Boolean).map(Number))

/** Returns the running children of a platform with an embedded database: the server, and the simulator. */
export const childrenByRole = (pid: number): { postgres: number[]; peer: number[] } => {
  const isServer = (child: number) => proc(`${child}/comm`).startsWith('postgres')
  const children = childrenOf(pid)
  return { postgres: children.filter(isServer), peer: children.filter((child) => !isServer(child)) }
}

/** Returns a figure summed over a process and its descendants, without the excluded ones and theirs. */
const summed = (pid: number, figure: (id: number) => number, excluded: ReadonlySet<number> = new Set()): number =>
  childrenOf(pid)
    .filter((child) => !excluded.has(child))
    .reduce((sum, child) => sum + summed(child, figure, excluded), figure(pid))

/**
 * Returns the CPU seconds used by a process and its descendants, including those that ended (100 ticks a second).
 * `utime`, `stime`, `cutime` and `cstime` are the fields 14 to 17 of proc_pid_stat(5).
 */
export const cpuSeconds = (pid: number, excluded?: ReadonlySet<number>): number =>
  summed(
    pid,
    (id) => {
      const fields = proc(`${id}/stat`).split(') ')[1]?.split(' ') ?? []
      return [11, 12, 13, 14].reduce((sum, at) => sum + Number(fields[at] ?? 0), 0) / 100
    },
    excluded,
  )

/** Returns the memory of a process and its descendants in megabytes, shared pages in proportion (PSS). */
export const memory = (pid: number): number =>
  Math.round(summed(pid, (id) => Number(/^Pss:\s+(\d+)/m.exec(proc(`${id}/smaps_rollup`))?.[1] ?? 0)) / 1024)

/** Returns how often the threads of processes and their descendants waited and were woken since they started. */
export const wakeUps = (pids: readonly number[]): number => {
  const ofThread = (pid: number, thread: string) =>
    Number(/^voluntary_ctxt_switches:\s+(\d+)/m.exec(proc(`${pid}/task/${thread}/status`))?.[1] ?? 0)
  const ofProcess = (pid: number) => threadsOf(pid).reduce((sum, thread) => sum + ofThread(pid, thread), 0)
  return pids.reduce((sum, pid) => sum + summed(pid, ofProcess), 0)
}

/** Process ids by role. `peer`: counterparts of the platform, such as simulators and receivers. */
export type Processes = {
  readonly node?: readonly number[]
  readonly postgres?: readonly number[]
  readonly peer?: readonly number[]
}

/** Microseconds of CPU per operation by role and in total, and bytes of WAL per operation; NaN if not measured. */
export type Cost = { node: number; postgres: number; peer: number; cpu: number; wal: number }

/** Returns the position at which the database inserts WAL, bytes. */
const walPosition = async (sql: Sql): Promise<number> =>
  Number((await sql.one<{ bytes: string }>`select pg_current_wal_insert_lsn() - '0/0' as bytes`).bytes)

/**
 * Starts to measure CPU time and WAL. Each process counts for the role that lists it or its closest ancestor.
 * @param sql absent without a database
 * @returns a function from the number of operations to the cost of each
 */
export const startMeter = async (processes: Processes, sql?: Sql): Promise<(operations: number) => Promise<Cost>> => {
  const listed = new Set(Object.values(processes).flat())
  const usedBy = (role: keyof Processes): number =>
    (processes[role] ?? []).reduce((sum, pid) => sum + cpuSeconds(pid, listed), 0)
  const snapshot = () => ({ node: usedBy('node'), postgres: usedBy('postgres'), peer: usedBy('peer') })
  const wal = sql ? await walPosition(sql) : 0
  const before = snapshot()
  return async (operations) => {
    const after = snapshot()
    const each = (role: keyof Processes) => ((after[role] - before[role]) * 1e6) / operations
    const cost = { node: each('node'), postgres: each('postgres'), peer: each('peer') }
    const cpu = cost.node + cost.postgres + cost.peer
    const isMeasured = (role: keyof Processes) => (processes[role]?.length ?? 0) > 0
    return {
      node: isMeasured('node') ? cost.node : Number.NaN,
      postgres: isMeasured('postgres') ? cost.postgres : Number.NaN,
      peer: isMeasured('peer') ? cost.peer : Number.NaN,
      cpu,
      wal: sql ? ((await walPosition(sql)) - wal) / operations : Number.NaN,
    }
  }
}

/**
 * Starts to count statements of a database, nested ones included.
 * @param url of the superuser, with pg_stat_statements loaded; absent: nothing is counted
 * @returns a function that returns the number since then, once; NaN if not counted
 */
export const statementCounter = async (url: string | undefined): Promise<() => Promise<number>> => {
  if (url === undefined) return async () => Number.NaN
  const db = connect({ url, connections: 1 })
  const count = async () =>
    Number(
      (await db.one<{ calls: string }>`select coalesce(sum(calls), 0)::text as calls from pg_stat_statements`).calls,
    )
  const before = await count()
  return async () => {
    const after = await count()
    await db.end()
    return after - before
  }
}

/** Returns a cost as figures of a bench, such as `cost.node`. */
export const prefixed = (key: string, cost: Cost): { [key: string]: number } =>
  Object.fromEntries(Object.entries(cost).map(([name, value]) => [`${key}.${name}`, value]))
