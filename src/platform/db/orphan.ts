import { spawnSync } from 'node:child_process'
import { readFileSync, readlinkSync, realpathSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { isAlive } from './is-alive.ts'
import type { Log } from './postmaster.ts'

const pidFile = (data: string) => join(data, 'postmaster.pid')

const readOr = <T>(read: () => T, otherwise: T): T => {
  try {
    return read()
  } catch {
    return otherwise
  }
}

/**
 * Returns whether the process is a PostgreSQL server on this folder: process ids are reused, especially in containers.
 */
const isServerOn = (pid: number, data: string): boolean => {
  if (process.platform === 'linux')
    return (
      readOr(() => readFileSync(`/proc/${pid}/comm`, 'utf8').trim(), '') === 'postgres' &&
      readOr(() => readlinkSync(`/proc/${pid}/cwd`), '') === realpathSync(data)
    )
  const { stdout } = spawnSync('ps', ['-o', 'command=', '-p', String(pid)], { encoding: 'utf8' })
  return stdout.includes('postgres') && stdout.includes(data)
}

const hasEnded = async (pid: number, data: string, patience: number): Promise<boolean> => {
  const end = Date.now() + patience
  while (isServerOn(pid, data)) {
    if (Date.now() > end) return false
    await pause(10)
  }
  return true
}

/**
 * Replaces the process id of a stranger or a zombie by ours: PostgreSQL would refuse to start, but treats its parent's
 * id as stale. The file is not deleted, as it also names the shared memory. By that memory PostgreSQL then detects
 * surviving processes of a killed server.
 */
const replaceProcessId = (path: string) => {
  const [first = '', ...others] = readOr(() => readFileSync(path, 'utf8'), '').split('\n')
  const pid = Number.parseInt(first, 10)
  if (pid && isAlive(pid)) writeFileSync(path, [process.pid, ...others].join('\n'), { flag: 'r+' })
}

/**
 * Ends a server that outlived the process which started it: its dead-man's switch is gone or still working. The caller
 * holds the home, so no other process uses the server. Stopped rather than adopted, so that the next one has current
 * settings, a log and a switch.
 * @throws Error when it does not end
 */
export const endOrphan = async (data: string, log: Log): Promise<void> => {
  const pid = Number.parseInt(
    readOr(() => readFileSync(pidFile(data), 'utf8'), ''),
    10,
  )
  if (pid && isServerOn(pid, data)) {
    log.warn(`a PostgreSQL of an earlier start (process ${pid}) still runs on ${data}: stopping it`)
    process.kill(pid, 'SIGINT')
    if (!(await hasEnded(pid, data, 30_000))) process.kill(pid, 'SIGQUIT')
    if (!(await hasEnded(pid, data, 5_000)))
      throw new Error(
        `The PostgreSQL of an earlier start (process ${pid}) on ${data} does not end. Kill it, then start again.`,
      )
  }
  replaceProcessId(pidFile(data))
  replaceProcessId(join(data, '.s.PGSQL.5432.lock'))
}
