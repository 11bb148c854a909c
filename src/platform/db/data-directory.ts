import {
  accessSync,
  chmodSync,
  closeSync,
  constants,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { join, resolve } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { setTimeout as pause } from 'node:timers/promises'
import { isAlive } from './is-alive.ts'
import type { Log } from './postmaster.ts'

/** The right to use a home, until it is released or the process ends. */
export type DataDirectoryLock = {
  /** Tells a start that finds the home in use that waiting is worthwhile. */
  markDraining(): void
  release(): void
}

type Holder = { pid: number; since: string; draining: boolean }

/**
 * Takes a lock of the operating system on a file, which ends with its process and so cannot be stale. Node itself
 * offers none, but its SQLite locks the database file (fcntl) when a transaction begins; nothing is ever written into
 * it.
 * @returns null when another process has it
 */
const tryLock = (path: string): DatabaseSync | null => {
  const file = new DatabaseSync(path, { timeout: 0 })
  try {
    file.exec('begin exclusive')
    return file
  } catch (error) {
    file.close()
    // SQLITE_BUSY (5): locked by another.
    if (error instanceof Error && 'errcode' in error && error.errcode === 5) return null
    throw error
  }
}

/** Returns the holder of the home, as far as known. The lock decides; this is only for the message and the waiting. */
const readHolder = (path: string): Holder | null => {
  try {
    // Parse boundary: the function below writes the file atomically, by rename.
    return JSON.parse(readFileSync(path, 'utf8')) as Holder
  } catch {
    return null
  }
}

/** Returns the folder in a home in which a restore of a backup is running, or was interrupted. */
export const restoreFolderIn = (home: string): string => join(home, 'restoring')

/** Another process has the home. */
export class DataDirectoryInUse extends Error {}

const inUse = (home: string, holder: Holder | null) =>
  new DataDirectoryInUse(
    `${home} is in use by ${holder ? `process ${holder.pid}, started ${holder.since}` : 'another process'}. Stop that one first, or set TRUNKLINE_HOME to another folder.`,
  )

/**
 * Closes a home that others may read: it contains keys, recordings and the database. Root leaves others the right to
 * pass through. PostgreSQL's own account needs that if it cannot start from within (before 16, or without /proc).
 */
const restrictMode = (home: string, log: Log): void => {
  const mode = statSync(home).mode & 0o777
  const closed = mode & (process.getuid?.() === 0 ? 0o711 : 0o700)
  if (closed === mode) return
  try {
    chmodSync(home, closed)
    log.info(`${home}: closed to other users`)
  } catch (error) {
    log.warn(`${home} can be read by other users, and its mode cannot be changed: ${error}`)
  }
}

/**
 * Claims the home for this process, and creates it if necessary. Waits for a draining instance.
 * @param drainTimeoutMs ms to wait for a draining instance
 * @throws Error when it cannot be written, a living instance has it, or it does not finish draining in time
 */
export const lockDataDirectory = async (
  folder: string,
  log: Log,
  drainTimeoutMs = 35_000,
): Promise<DataDirectoryLock> => {
  const home = resolve(folder)
  mkdirSync(home, { recursive: true, mode: 0o700 })
  try {
    accessSync(home, constants.W_OK | constants.X_OK)
  } catch {
    throw new Error(
      `${home} cannot be written by this user. Give it to them (chown -R), or set TRUNKLINE_HOME to another folder.`,
    )
  }
  restrictMode(home, log)
  const [lockPath, holderPath] = [join(home, 'lock'), join(home, 'holder.json')]

  // SQLite gives its journal the mode of this file.
  closeSync(openSync(lockPath, 'a', 0o600))
  chmodSync(lockPath, 0o600)

  const began = Date.now()
  let lock = tryLock(lockPath)
  for (let hasWaited = false; !lock; lock = tryLock(lockPath)) {
    const holder = readHolder(holderPath)
    const waited = Date.now() - began
    // In its first moments the holder has not written its identity, and the file is its predecessor's.
    const known = holder !== null && isAlive(holder.pid)
    if (!holder?.draining && (known || waited > 1_000)) throw inUse(home, holder)
    if (waited > drainTimeoutMs)
      throw new DataDirectoryInUse(
        `${inUse(home, holder).message} It has been draining for ${drainTimeoutMs / 1000} s.`,
      )
    if (holder?.draining && !hasWaited) {
      log.info(`${home}: process ${holder.pid} is still finishing its work; waiting for it`)
      hasWaited = true
    }
    await pause(50)
  }

  const acquired = lock
  const since = new Date().toISOString()
  const tell = (draining: boolean) => {
    const holder: Holder = { pid: process.pid, since, draining }
    writeFileSync(`${holderPath}.new`, JSON.stringify(holder), { mode: 0o600 })
    renameSync(`${holderPath}.new`, holderPath)
  }
  tell(false)
  return {
    markDraining: () => tell(true),
    release: () => {
      // The holder's file stays: without it, a waiting start could not distinguish a new holder from an unknown one.
      if (acquired.isOpen) acquired.close()
    },
  }
}
