import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { chmod, lstat, mkdir, readdir, readFile, readlink, rm, symlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { findBinaries } from './binaries.ts'
import { databaseName, openCluster, ownerName, ownerPasswordIn } from './cluster.ts'
import { endOrphan } from './orphan.ts'
import { osAccountFor } from './os-account.ts'
import { ensureOwner } from './owner-role.ts'
import { DataStillInUse, type LaunchOptions, type Log, launch, type Postmaster } from './postmaster.ts'

export type EmbeddedOptions = LaunchOptions & {
  /** The folder of the installation; the database is in `postgres/<major>` of it. The caller holds it: see data-directory.ts. */
  home: string
  log: Log
  /** A folder with `postgres` and `initdb` (15 or newer), instead of the npm package's. */
  binaries?: string
  /** Folder for a copy of the binaries if they cannot be used in place. */
  runtime?: string
  /** The account of the operating system to drop to when root starts the process. */
  account?: string
}

export type EmbeddedDatabase = {
  /**
   * Address for connect() and psql: the owner of the database, without superuser rights, with a random password over a
   * socket. Nothing listens on the network.
   */
  url: string
  /** Address of the same database for the superuser, for tests and benches that configure the server. */
  superuserUrl: string
  /** The server's version, such as 18.4. */
  version: string
  /** The process id of the current server. */
  pid(): number
  stop(): Promise<void>
}

// sun_path holds 108 bytes on Linux and 104 on macOS, including the terminating zero.
const maxSocketPath = 103

/**
 * Creates a short name for a folder whose socket path would be too long for a client: a link in a folder of our own.
 */
const shortName = async (data: string): Promise<{ path: string; remove: () => Promise<void> }> => {
  if (Buffer.byteLength(join(data, '.s.PGSQL.5432')) <= maxSocketPath) return { path: data, remove: async () => {} }
  const hash = createHash('sha256').update(data).digest('hex').slice(0, 16)
  const folder = join(tmpdir(), `trunkline-${process.getuid?.()}-${hash}`)
  await mkdir(folder, { mode: 0o700 }).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'EEXIST') throw error
  })
  const found = await lstat(folder)
  if (!found.isDirectory() || found.uid !== process.getuid?.())
    throw new Error(`${folder} belongs to another user; a shorter TRUNKLINE_HOME does not need it.`)
  await chmod(folder, 0o700)
  const link = join(folder, 'data')
  if ((await readlink(link).catch(() => null)) !== data) {
    await rm(link, { force: true })
    await symlink(data, link)
  }
  return { path: link, remove: () => rm(folder, { recursive: true, force: true }) }
}

const urlOf = (socket: string, role: string, password: string, database: string): string =>
  `postgresql://${role}:${password}@localhost/${database}?host=${encodeURIComponent(socket)}`

/** Returns the address of the database of a home that another process runs; null when the home has no database. */
export const runningUrl = async (folder: string): Promise<string | null> => {
  const parent = join(resolve(folder), 'postgres')
  const names = await readdir(parent).catch(() => [])
  const [major] = names.filter((name) => /^\d+$/.test(name))
  if (major === undefined) return null
  const socket = await shortName(join(parent, major, 'data'))
  const ownerFile = ownerPasswordIn(join(parent, major))
  // A process of an earlier version knows only the superuser.
  const [role, file] = existsSync(ownerFile) ? [ownerName, ownerFile] : [databaseName, join(parent, major, 'password')]
  return urlOf(socket.path, role, (await readFile(file, 'utf8')).trim(), databaseName)
}

/**
 * Ends the servers of a home that outlived their process. The caller holds the home.
 * @throws Error when one does not end
 */
export const endOrphanedServers = async (folder: string, log: Log): Promise<void> => {
  const parent = join(resolve(folder), 'postgres')
  for (const name of await readdir(parent))
    if (existsSync(join(parent, name, 'data'))) await endOrphan(join(parent, name, 'data'), log)
}

/**
 * Starts a real PostgreSQL in the home: created on the first start, recovered after a crash, restarted if it dies.
 * Measured: the first start 0.8 s, later ones 0.05 s, 23 MB at rest.
 * @throws Error with the reason and the remedy
 */
export const startEmbedded = async ({ log, ...options }: EmbeddedOptions): Promise<EmbeddedDatabase> => {
  const home = resolve(options.home)
  const parent = join(home, 'postgres')
  await mkdir(parent, { recursive: true, mode: 0o711 })

  const account = osAccountFor(parent, options.account)
  const places = [options.runtime ?? parent, ...(account ? ['/var/lib/trunkline'] : [])]
  const binaries = findBinaries({ account, folder: options.binaries, places })
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
        if (!(error instanceof DataStillInUse) || Date.now() > end) throw error
        await pause(100)
      }
    }
  }

  let running = await launchPatiently()
  let stopping = false

  // The kernel may kill the server when memory is short. Clients see broken connections, and reconnect.
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
    // The stop was requested while a new server was starting.
    await running.stop()
  }
  const watching = watch()

  const socket = await shortName(cluster.data)
  const address = (role: string, database: string) =>
    urlOf(socket.path, role, role === ownerName ? cluster.ownerPassword : cluster.password, database)
  const stop = async () => {
    stopping = true
    await running.stop()
    await watching
    await socket.remove()
  }
  try {
    await ensureOwner(address, cluster.ownerPassword, cluster.isNew)
  } catch (error) {
    await stop()
    throw error
  }
  const took = `${Math.round(performance.now() - began)} ms`
  log.info(`PostgreSQL ${binaries.version} ${cluster.isNew.cluster ? 'made and started' : 'started'} in ${took}`)
  return {
    url: address(ownerName, databaseName),
    superuserUrl: address(databaseName, databaseName),
    version: binaries.version,
    pid: () => running.pid,
    stop,
  }
}
