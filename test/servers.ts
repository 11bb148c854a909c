import { spawn } from 'node:child_process'
import { chmodSync, existsSync, mkdtempSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startEmbedded } from '../src/platform/db/embedded.ts'
import { migrate } from '../src/platform/db/migrate.ts'
import { connect } from '../src/platform/db/sql.ts'

/**
 * A server for tests. Its address names the template: a database migrated once, of which every test file gets a copy.
 */
export type Server = { url: string; stop(): Promise<void> }

const quiet = { info: () => {}, warn: () => {}, error: (text: unknown) => console.error(text) }

/**
 * Removes the folder when this process has exited, killed or not, and PostgreSQL has stopped writing to it. A shell
 * waits for the end of a pipe, because no handler of ours runs after `kill -9`.
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

/** A new temporary folder, removed when the process exits, however it ends. */
export const temporaryFolder = (name = 'trunkline-test-'): string => {
  const folder = mkdtempSync(join(tmpdir(), name))
  // PostgreSQL drops to another account when root runs the tests, and 15 must be able to enter the folder.
  if (process.getuid?.() === 0) chmodSync(folder, 0o711)
  removeAfterwards(folder)
  return folder
}

/**
 * Starts a server with a migrated template.
 * @param options binaries instead of the npm package's; not durable, where a test needs no durability
 */
export const startServer = async (options: { binaries?: string; durable?: boolean } = {}): Promise<Server> => {
  const home = temporaryFolder()
  const server = await startEmbedded({ home, log: quiet, connections: 500, ...options })
  const db = connect({ url: server.url, connections: 2, unlimited: true })
  const stop = async () => {
    await server.stop()
    await rm(home, { recursive: true, force: true })
  }
  try {
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
