import { spawn } from 'node:child_process'
import { Socket } from 'node:net'
import { join } from 'node:path'
import type { Logger } from 'pino'
import type { Binaries } from './binaries.ts'
import type { Cluster } from './cluster.ts'
import { type OsAccount, plainEnvironment, spawnOptionsFor } from './os-account.ts'

export type Log = Pick<Logger, 'info' | 'warn' | 'error'>

/** A running server. */
export type Postmaster = {
  readonly pid: number
  /** Fulfilled with the exit code or the signal, whatever ended it. */
  readonly exited: Promise<number | NodeJS.Signals | null>
  /**
   * Ends the server: SIGINT rolls back open transactions and writes a checkpoint; SIGQUIT after `patience` ms leaves
   * recovery to the next start.
   */
  stop(patience?: number): Promise<void>
}

/** Options of the caller; the others are fixed. */
export type LaunchOptions = {
  /** Connections that the server accepts. Default: 100. */
  connections?: number
  /**
   * False: a commit survives the server's death, but not the machine's. Only for tests, which create and drop hundreds
   * of databases: on a busy disk the checkpoint of each took 0.3 to 1.7 s.
   */
  durable?: boolean
  /** Called when the server's process has begun, before it accepts connections. */
  onLaunch?: () => void
}

/** Passed on the command line, so that no file of the data folder can turn durability off. */
const settings = (
  major: number,
  { connections = 100, durable = true }: LaunchOptions,
): Record<string, string | number> => ({
  fsync: durable ? 'on' : 'off',
  synchronous_commit: 'on',
  full_page_writes: durable ? 'on' : 'off',
  // A socket in the data folder (0700), named from inside it: its path is never too long for the server.
  listen_addresses: '',
  unix_socket_directories: '.',
  unix_socket_permissions: '0700',
  max_connections: connections,
  superuser_reserved_connections: 3,
  // Mapped, but touched only as it fills: at rest it costs next to nothing.
  shared_buffers: '128MB',
  huge_pages: 'off',
  // Bounds the disk and the time of recovery. A larger one saves almost no log: bench/notes/sms.md.
  max_wal_size: '1GB',
  // Files of the log are kept and used again. A new one holds up every commit while its 16 MB are written: bench/notes/sms.md.
  min_wal_size: '512MB',
  checkpoint_timeout: '15min',
  wal_compression: 'pglz',
  jit: 'off',
  // The embedded server has no standby, no subscription and no parallel plan: each would cost processes or memory.
  max_wal_senders: 0,
  max_logical_replication_workers: 0,
  max_parallel_workers_per_gather: 0,
  max_parallel_maintenance_workers: 0,
  // No transaction is serializable. The server touches this table at its start: 1.2 MB less.
  max_pred_locks_per_transaction: 10,
  autovacuum_max_workers: 2,
  // Saves three worker processes; the file system's cache holds the data.
  ...(major >= 18 ? { io_method: 'sync', io_max_concurrency: 4, autovacuum_worker_slots: 2 } : {}),
  timezone: 'UTC',
  log_timezone: 'UTC',
  // Callers log errors of statements themselves, with our own context and without customers' data.
  log_min_messages: 'log',
  log_min_error_statement: 'panic',
  log_statement: 'none',
  log_duration: 'off',
  log_min_duration_statement: -1,
  log_min_duration_sample: -1,
  log_transaction_sample_rate: 0,
  log_lock_waits: 'off',
  log_parameter_max_length: 0,
  log_parameter_max_length_on_error: 0,
  debug_print_parse: 'off',
  debug_print_rewritten: 'off',
  debug_print_plan: 'off',
  log_checkpoints: 'off',
  log_line_prefix: '',
  log_destination: 'stderr',
  logging_collector: 'off',
})

/**
 * The dead-man's switch. A grandchild waits on descriptor 3, whose other end only this process holds. When this process
 * dies, by whatever means, the grandchild reads the end of the file and stops the server. The server has replaced the
 * shell and so has its process id, `$$`. A line means that the server has already ended. It is a grandchild because
 * PostgreSQL would treat the end of an unknown child as a crash.
 */
const guardedCommand = '(( read -r _ <&3 || kill -INT $$ ) >/dev/null 2>&1 & ); exec "$@" 3<&-'

const ready = /^LOG: {2}database system is ready to accept connections/

/** Routine messages of PostgreSQL; its other messages are for the operator. */
const routineMessages =
  /^(LOG: {2}(starting PostgreSQL|listening on|database system (is|was) (ready|shut down)|received (fast|immediate)|aborting any|shutting down)|FATAL: {2}(terminating connection due to administrator command|the database system is (starting up|shutting down)))/

const write = (log: Log, line: string) => {
  const text = `postgresql: ${line}`
  if (routineMessages.test(line)) return
  if (/^(FATAL|PANIC|ERROR)/.test(line)) log.error(text)
  else if (/^WARNING/.test(line)) log.warn(text)
  else log.info(text)
}

/** Refused while the last processes of a killed server are still ending. */
export class DataStillInUse extends Error {}

/**
 * Starts the server and waits until it accepts connections, including recovery from a crash. The server has a process
 * group of its own: Ctrl-C must reach us, not it.
 * @throws DataStillInUse when remains of an earlier server hold the data; Error with PostgreSQL's own words otherwise
 */
export const launch = async (
  { folder, major }: Binaries,
  { data, serverPath }: Cluster,
  account: OsAccount | null,
  log: Log,
  launchOptions: LaunchOptions = {},
): Promise<Postmaster> => {
  const options = Object.entries(settings(major, launchOptions)).flatMap(([name, value]) => ['-c', `${name}=${value}`])
  const child = spawn(
    '/bin/sh',
    ['-c', guardedCommand, 'trunkline', join(folder, 'postgres'), '-D', serverPath, ...options],
    {
      ...spawnOptionsFor(account),
      cwd: data,
      env: plainEnvironment(),
      detached: true,
      stdio: ['ignore', 'ignore', 'pipe', 'pipe'],
    },
  )
  launchOptions.onLaunch?.()
  const [, , stderr, switchEnd] = child.stdio
  if (!(stderr instanceof Socket) || !(switchEnd instanceof Socket)) throw new Error('spawn() gave no pipes')
  // After this process's own death no one reads the error.
  switchEnd.on('error', () => {})

  const exited = new Promise<number | NodeJS.Signals | null>((resolve) => {
    child.on('exit', (code, signal) => {
      switchEnd.end('over\n')
      resolve(signal ?? code)
    })
  })

  const said: string[] = []
  await new Promise<void>((resolve, reject) => {
    let rest = ''
    child.on('error', reject)
    stderr.setEncoding('utf8').on('data', (chunk: string) => {
      const lines = (rest + chunk).split('\n')
      rest = lines.pop() ?? ''
      for (const line of lines) {
        if (ready.test(line)) resolve()
        if (said.push(line) > 20) said.shift()
        write(log, line)
      }
    })
    child.on('close', (code) => {
      const words = said.join('\n')
      const Kind = /still in use|lock file "postmaster.pid" already exists/.test(words) ? DataStillInUse : Error
      reject(new Kind(`PostgreSQL did not start (exit ${code}):\n${words}`))
    })
  })

  // An idle server must not keep this process alive; it ends with it.
  child.unref()
  stderr.unref()
  switchEnd.unref()

  return {
    pid: child.pid ?? 0,
    exited,
    stop: async (patience = 25_000) => {
      child.ref()
      const late = setTimeout(() => child.kill('SIGQUIT'), patience)
      child.kill('SIGINT')
      await exited
      clearTimeout(late)
    },
  }
}
