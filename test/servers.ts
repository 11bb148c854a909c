import { execFileSync, spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  chmodSync,
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statfsSync,
} from 'node:fs'
import { rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Writable } from 'node:stream'
import { startEmbedded } from '../src/platform/db/embedded.ts'
import { migrate } from '../src/platform/db/migrate.ts'
import { connect } from '../src/platform/db/sql.ts'

/**
 * A server for tests. Its address names the template: a database migrated once, of which every test file gets a copy.
 */
export type Server = { url: string; stop(): Promise<void> }

const quiet = { info: () => {}, warn: () => {}, error: (text: unknown) => console.error(text) }

/** Removes the folders in its input when the input closes and PostgreSQL has stopped writing to them. */
const removalScript = `while read -r folder; do set -- "$@" "$folder"; done
  for folder; do
    i=0
    while [ $i -lt 100 ] && find "$folder" -name postmaster.pid 2>/dev/null | grep -q .; do i=$((i + 1)); sleep 0.1; done
    rm -rf -- "$folder"
  done`

let removals: Writable | null = null

/**
 * Removes the folder when this process has exited, killed or not. A shell waits for the end of a pipe, because no
 * handler of ours runs after `kill -9`.
 */
const removeAfterwards = (folder: string) => {
  if (removals === null) {
    const child = spawn('/bin/sh', ['-c', removalScript, 'remove-folders'], {
      detached: true,
      cwd: '/',
      stdio: ['pipe', 'ignore', 'ignore'],
    })
    child.unref()
    child.stdin.on('error', () => {})
    if ('unref' in child.stdin && typeof child.stdin.unref === 'function') child.stdin.unref()
    removals = child.stdin
  }
  removals.write(`${folder}\n`)
}

const makeFolder = (parent: string, name: string): string => {
  const folder = mkdtempSync(join(parent, name))
  // PostgreSQL drops to another account when root runs the tests, and 15 must be able to enter the folder.
  if (process.getuid?.() === 0) chmodSync(folder, 0o711)
  removeAfterwards(folder)
  return folder
}

/** A new temporary folder, removed when the process exits, however it ends. */
export const temporaryFolder = (name = 'trunkline-test-'): string => makeFolder(tmpdir(), name)

/** Free bytes that a folder in memory requires: a run needs at most 3 GiB at a time. */
const enoughMemory = 8 * 1024 ** 3

/** Whether /dev/shm has room, and programs in it may run: a platform copies those of PostgreSQL to its home. */
const hasFreeMemory = (): boolean => {
  try {
    const { bavail, bsize } = statfsSync('/dev/shm')
    const mount = readFileSync('/proc/mounts', 'utf8')
      .split('\n')
      .findLast((line) => line.includes(' /dev/shm '))
    const isFree = Math.min(bavail * bsize, process.availableMemory()) >= enoughMemory
    return isFree && mount !== undefined && !mount.includes('noexec')
  } catch {
    return false
  }
}

/**
 * A temporary folder in memory, if at least 8 GiB are free there, for databases of tests that do not test durability.
 * PostgreSQL then waits for no disk.
 */
export const memoryFolder = (): string => makeFolder(hasFreeMemory() ? '/dev/shm' : tmpdir(), 'trunkline-test-')

/**
 * Grants the database's owner what tests and benches need beyond the platform: databases, rows without triggers, and
 * checkpoints.
 */
export const grantForTests = async (superuserUrl: string): Promise<void> => {
  const superuser = connect({ url: superuserUrl, connections: 1, unlimited: true })
  try {
    await superuser.raw(`alter role trunkline_owner createdb;
      grant set on parameter session_replication_role to trunkline_owner;
      grant pg_checkpoint to trunkline_owner`)
  } finally {
    await superuser.end()
  }
}

const root = join(import.meta.dirname, '..')
const cache = join(root, 'node_modules/.cache')

/** Where the home of a migrated server is kept: its name has the schema, the server and the account that started it. */
const keptHome = (): string => {
  const sources = globSync(['src/platform/db/**/*.{ts,sql}', 'test/servers.ts', 'package-lock.json'], { cwd: root })
  const hash = createHash('sha256').update(String(process.getuid?.()))
  for (const file of sources.sort()) hash.update(file).update(readFileSync(join(root, file)))
  return join(cache, `test-server-${hash.digest('hex').slice(0, 16)}`)
}

/** Keeps a copy of a stopped server's home for later runs, in the place of older ones. */
const keepHome = (home: string, kept: string) => {
  mkdirSync(cache, { recursive: true })
  for (const name of readdirSync(cache))
    if (name.startsWith('test-server-')) rmSync(join(cache, name), { recursive: true, force: true })
  const part = `${kept}.${process.pid}`
  execFileSync('cp', ['-a', home, part])
  // Another run may have kept its copy meanwhile.
  if (existsSync(kept)) rmSync(part, { recursive: true, force: true })
  else renameSync(part, kept)
}

/**
 * Starts a server of one run with a migrated template. The first run keeps the home of its server: a later start takes
 * 0.3 s of processor time instead of 2.
 */
export const startRunServer = async (): Promise<Server> => {
  const kept = keptHome()
  if (!existsSync(kept)) {
    const home = memoryFolder()
    const first = await startServer({ durable: false, home })
    await first.stop()
    keepHome(home, kept)
  }
  const home = memoryFolder()
  execFileSync('cp', ['-a', `${kept}/.`, home])
  const server = await startEmbedded({ home, log: quiet, connections: 500, durable: false })
  return { url: server.url, stop: server.stop }
}

/**
 * Starts a server with a migrated template.
 * @param options binaries instead of the npm package's; not durable, where a test needs no durability; home, which stays
 */
export const startServer = async (
  options: { binaries?: string; durable?: boolean; home?: string } = {},
): Promise<Server> => {
  const home = options.home ?? (options.durable === false ? memoryFolder() : temporaryFolder())
  const server = await startEmbedded({ log: quiet, connections: 500, ...options, home })
  const db = connect({ url: server.url, connections: 2, unlimited: true })
  const stop = async () => {
    await server.stop()
    if (options.home === undefined) await rm(home, { recursive: true, force: true })
  }
  try {
    await grantForTests(server.superuserUrl)
    await migrate(db)
  } catch (error) {
    await stop()
    throw error
  } finally {
    // PostgreSQL cannot copy a database with an open connection.
    await db.end()
  }
  return { url: server.url, stop }
}

/** The folder of PostgreSQL 15, the oldest supported version, on Debian and Ubuntu; null where it is not installed. */
export const oldest = ['/usr/lib/postgresql/15/bin'].find((folder) => existsSync(join(folder, 'initdb'))) ?? null

/**
 * Environment variables that pass prepared things of a run to the test processes: the addresses of its servers, and a
 * home (see setup.ts).
 */
export const variables = {
  newest: 'TRUNKLINE_TEST_DATABASE',
  oldest: 'TRUNKLINE_TEST_DATABASE_15',
  home: 'TRUNKLINE_TEST_HOME',
} as const
