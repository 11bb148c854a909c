import { spawn } from 'node:child_process'
import { chmodSync, existsSync, mkdtempSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startEmbedded } from '../src/db/embedded.ts'
import { migrate } from '../src/db/migrate.ts'
import { connect } from '../src/db/sql.ts'

/** A server for tests: its address names the template, a database migrated once, of which every test file gets a copy. */
export type Server = { url: string; stop(): Promise<void> }

const quiet = { info: () => {}, warn: () => {}, error: (text: unknown) => console.error(text) }

/**
 * Removes the folder when this process is gone, killed or not, and PostgreSQL has stopped writing to it. A shell that
 * waits for the end of a pipe: nothing of ours can run after `kill -9`.
 */
const removeAfterwards = (folder: string) => {
  const script = `read -r _; i=0
    while [ $i -lt 100 ] && find "$0" -name postmaster.pid | grep -q .; do i=$((i + 1)); sleep 0.1; done
    rm -rf -- "$0"`
  const child = spawn('/bin/sh', ['-c', script, folder], {
    detached: true,
    cwd: '/',
    stdio: ['pipe', 'ignore', 'ignore'],
  })
  child.unref()
  child.stdin.on('error', () => {})
  if ('unref' in child.stdin && typeof child.stdin.unref === 'function') child.stdin.unref()
}

/** A new temporary folder that goes with the process, however that ends. */
export const temporaryFolder = (name = 'trunkline-test-'): string => {
  const folder = mkdtempSync(join(tmpdir(), name))
  // PostgreSQL drops to another account when root runs the tests, and 15 must be able to walk in.
  if (process.getuid?.() === 0) chmodSync(folder, 0o711)
  removeAfterwards(folder)
  return folder
}

/**
 * Starts a server with a migrated template.
 * @param options binaries instead of the npm package's; not durable, where nothing is asked of the disk
 */
export const startServer = async (options: { binaries?: string; durable?: boolean } = {}): Promise<Server> => {
  const home = temporaryFolder()
  const server = await startEmbedded({ home, log: quiet, connections: 500, ...options })
  const db = connect({ url: server.url, connections: 2, patient: true })
  const stop = async () => {
    await server.stop()
    await rm(home, { recursive: true, force: true })
  }
  try {
    await migrate(db, { gaps: true })
  } catch (error) {
    await stop()
    throw error
  } finally {
    // A database with a connection to it cannot be copied.
    await db.end()
  }
  return { url: server.url, stop }
}

/** Where Debian and Ubuntu put PostgreSQL 15, the oldest that we support; null where it is not installed. */
export const oldest = ['/usr/lib/postgresql/15/bin'].find((folder) => existsSync(join(folder, 'initdb'))) ?? null

/** Names under which what a run prepared reaches the test processes: the addresses of its servers, and a home (see setup.ts). */
export const variables = {
  newest: 'TRUNKLINE_TEST_DATABASE',
  oldest: 'TRUNKLINE_TEST_DATABASE_15',
  home: 'TRUNKLINE_TEST_HOME',
} as const
