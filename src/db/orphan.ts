import { spawnSync } from 'node:child_process'
import { readFileSync, readlinkSync, realpathSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import type { Log } from './postmaster.ts'
import { isAlive } from './process.ts'

const pidFile = (data: string) => join(data, 'postmaster.pid')

const readOr = <T>(read: () => T, otherwise: T): T => {
  try {
    return read()
  } catch {
    return otherwise
  }
}

/** Whether the process is a PostgreSQL server on this folder: process ids are used again, most of all in containers. */
const serves = (pid: number, data: string): boolean => {
  if (process.platform === 'linux')
    return (
      readOr(() => readFileSync(`/proc/${pid}/comm`, 'utf8').trim(), '') === 'postgres' &&
      readOr(() => readlinkSync(`/proc/${pid}/cwd`), '') === realpathSync(data)
    )
  const { stdout } = spawnSync('ps', ['-o', 'command=', '-p', String(pid)], { encoding: 'utf8' })
  return stdout.includes('postgres') && stdout.includes(data)
}

const gone = async (pid: number, data: string, patience: number): Promise<boolean> => {
  const end = Date.now() + patience
  while (serves(pid, data)) {
    if (Date.now() > end) return false
    await pause(10)
  }
  return true
}

/**
 * Puts our own process id in place of a stranger's or a zombie's, at which PostgreSQL would balk; it takes its parent's for
 * stale. The file is not deleted: it also names the shared memory by which PostgreSQL knows that processes of a killed server
 * still use the data, and looks at that next.
 */
const disown = (path: string) => {
  const [first = '', ...others] = readOr(() => readFileSync(path, 'utf8'), '').split('\n')
  const pid = Number.parseInt(first, 10)
  if (pid && isAlive(pid)) writeFileSync(path, [process.pid, ...others].join('\n'), { flag: 'r+' })
}

/**
 * Ends a server that outlived the process which started it: its dead-man's switch is gone or still at work. The caller holds the
 * home, so it is nobody else's. Stopped rather than adopted, so that the one that follows has today's settings, a log and a switch.
 * @throws Error when it does not end
 */
export const endOrphan = async (data: string, log: Log): Promise<void> => {
  const pid = Number.parseInt(
    readOr(() => readFileSync(pidFile(data), 'utf8'), ''),
    10,
  )
  if (pid && serves(pid, data)) {
    log.warn(`a PostgreSQL of an earlier start (process ${pid}) still runs on ${data}: stopping it`)
    process.kill(pid, 'SIGINT')
    if (!(await gone(pid, data, 30_000))) process.kill(pid, 'SIGQUIT')
    if (!(await gone(pid, data, 5_000)))
      throw new Error(
        `The PostgreSQL of an earlier start (process ${pid}) on ${data} does not end. Kill it, then start again.`,
      )
  }
  disown(pidFile(data))
  disown(join(data, '.s.PGSQL.5432.lock'))
}
