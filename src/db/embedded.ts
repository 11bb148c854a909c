import { createHash } from 'node:crypto'
import { chmod, lstat, mkdir, readlink, rm, symlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import pg from 'pg'
import { accountFor } from './account.ts'
import { findBinaries } from './binaries.ts'
import { openCluster, owner } from './cluster.ts'
import { endOrphan } from './orphan.ts'
import { type Log, launch, type Postmaster, StillInUse, type Wishes } from './postmaster.ts'
import { sqlState } from './sql.ts'

export type EmbeddedOptions = Wishes & {
  /** The folder of the installation; the database lies in `postgres/<major>` of it. The caller holds it: see home.ts. */
  home: string
  log: Log
  /** A folder with `postgres` and `initdb` (15 or newer), instead of the npm package's. */
  binaries?: string
  /** Where a copy of the binaries goes if they cannot be used in place. */
  runtime?: string
  /** The account of the operating system to drop to when root starts us. */
  account?: string
}

export type Embedded = {
  /** For connect(), and for psql: a superuser by a random password over a socket; nothing listens on the network. */
  url: string
  /** The server's version, such as 18.4. */
  version: string
  /** The process id of the server as it is now. */
  pid(): number
  stop(): Promise<void>
}

// sun_path holds 108 bytes on Linux and 104 on macOS, the zero at the end included.
const longest = 103

/** A short name for a folder whose socket path would be too long for a client: a link in a folder of our own. */
const shortName = async (data: string): Promise<{ path: string; remove: () => Promise<void> }> => {
  if (Buffer.byteLength(join(data, '.s.PGSQL.5432')) <= longest) return { path: data, remove: async () => {} }
  const hash = createHash('sha256').update(data).digest('hex').slice(0, 16)
  const folder = join(tmpdir(), `trunkline-${process.getuid?.()}-${hash}`)
  await mkdir(folder, { mode: 0o700 }).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'EEXIST') throw error
  })
  const found = await lstat(folder)
  if (!found.isDirectory() || found.uid !== process.getuid?.())
    throw new Error(`${folder} belongs to somebody else; a shorter TRUNKLINE_HOME does without it.`)
  await chmod(folder, 0o700)
  const link = join(folder, 'data')
  if ((await readlink(link).catch(() => null)) !== data) {
    await rm(link, { force: true })
    await symlink(data, link)
  }
  return { path: link, remove: () => rm(folder, { recursive: true, force: true }) }
}

/** Connects once, which proves the password, and names our database, also where an interrupted first start did not come to it. */
const ensureDatabase = async (url: (database: string) => string, fresh: boolean): Promise<void> => {
  const tryOnce = async (database: string, statement: string) => {
    const client = new pg.Client({ connectionString: url(database), connectionTimeoutMillis: 30_000 })
    // The rejected query says what went wrong; the event besides it must not end the process.
    client.on('error', () => {})
    await client.connect()
    await client.query(statement).finally(() => client.end())
  }
  // initdb's own empty database takes our name: `create database` would copy it, which takes 0.2 to 0.4 s.
  const rename = () => tryOnce('template1', `alter database postgres rename to ${owner}`)
  if (fresh) return rename()
  await tryOnce(owner, 'select').catch(async (error: unknown) => {
    // 3D000: the database does not exist.
    if (sqlState(error) !== '3D000') throw error
    await rename()
  })
}

/**
 * Starts a real PostgreSQL in the home: made on the first start, recovered after a crash, started anew if it dies under us.
 * Measured: the first start 0.8 s, later ones 0.05 s, 23 MB at rest.
 * @throws Error with the reason and what to do about it
 */
export const startEmbedded = async ({ log, ...options }: EmbeddedOptions): Promise<Embedded> => {
  const home = resolve(options.home)
  const parent = join(home, 'postgres')
  await mkdir(parent, { recursive: true, mode: 0o711 })

  const account = accountFor(parent, options.account)
  const places = [options.runtime ?? parent, ...(account ? ['/var/lib/trunkline'] : [])]
  const binaries = findBinaries({ account, given: options.binaries, places })
  if (binaries.major < 15) throw new Error(`PostgreSQL ${binaries.version} is too old; 15 or newer is needed.`)

  const began = performance.now()
  const cluster = await openCluster(join(parent, String(binaries.major)), binaries, account)
  const launchPatiently = async (): Promise<Postmaster> => {
    const end = Date.now() + 15_000
    for (;;) {
      await endOrphan(cluster.data, log)
      try {
        return await launch(binaries, cluster, account, log, options)
      } catch (error) {
        if (!(error instanceof StillInUse) || Date.now() > end) throw error
        await pause(100)
      }
    }
  }

  let running = await launchPatiently()
  let stopping = false

  // The kernel may kill the server for want of memory. Clients see broken connections, and find it back.
  const watch = async (): Promise<void> => {
    let wait = 100
    while (!stopping) {
      const how = await running.exited
      if (stopping) return
      log.error(`PostgreSQL ended by itself (${how}): starting it again`)
      try {
        running = await launchPatiently()
        wait = 100
      } catch (error) {
        log.error(error instanceof Error ? error.message : String(error))
        await pause(wait)
        wait = Math.min(wait * 2, 5_000)
      }
    }
    // The stop came while another server was on its way.
    await running.stop()
  }
  const watching = watch()

  const socket = await shortName(cluster.data)
  const url = (database: string) =>
    `postgresql://${owner}:${cluster.password}@localhost/${database}?host=${encodeURIComponent(socket.path)}`
  const stop = async () => {
    stopping = true
    await running.stop()
    await watching
    await socket.remove()
  }
  try {
    await ensureDatabase(url, cluster.fresh)
  } catch (error) {
    await stop()
    throw error
  }
  const took = `${Math.round(performance.now() - began)} ms`
  log.info(`PostgreSQL ${binaries.version} ${cluster.fresh ? 'made and started' : 'started'} in ${took}`)
  return { url: url(owner), version: binaries.version, pid: () => running.pid, stop }
}
