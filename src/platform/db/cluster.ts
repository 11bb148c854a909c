import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { chown, mkdir, mkdtemp, open, readdir, readFile, rename, rm, stat } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import type { Binaries } from './binaries.ts'
import { type OsAccount, plainEnvironment, spawnOptionsFor } from './os-account.ts'

/** The name of the superuser and of the database. */
export const databaseName = 'trunkline'
/** The role that owns the database, without superuser rights: see owner-role.ts. */
export const ownerName = 'trunkline_owner'

/** A data folder and its password files, in one folder named by the major version. */
export type Cluster = {
  readonly data: string
  /**
   * The path of the data folder as the server gets it: relative to its inside when the account cannot reach the path.
   */
  readonly serverPath: string
  /** Passwords of the superuser and of the database's owner. */
  readonly password: string
  readonly ownerPassword: string
}

const flush = async (path: string) => {
  const handle = await open(path, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}

/** Runs a program to its end. @throws Error with its output */
const runProgram = (program: string, args: string[], cwd: string, account: OsAccount | null) =>
  new Promise<void>((resolve, reject) => {
    const child = spawn(program, args, {
      ...spawnOptionsFor(account),
      cwd,
      env: plainEnvironment(),
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    let said = ''
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding('utf8').on('data', (text: string) => {
        said = (said + text).slice(-2_000)
      })
    child.on('error', reject)
    child.on('close', (code) =>
      code === 0 ? resolve() : reject(new Error(`${basename(program)} failed (exit ${code}): ${said.trim()}`)),
    )
  })

/** Returns whether the account can reach the folder. The system itself checks it, so that ACLs count too. */
const isReachable = async (folder: string, account: OsAccount | null): Promise<boolean> => {
  if (!account) return true
  return await runProgram('/bin/sh', ['-c', 'test -x "$0"', folder], '/', account).then(
    () => true,
    () => false,
  )
}

/**
 * Returns the data folder's path for the server. Every program starts *in* that folder, so an inaccessible one (root's
 * 0700 home, a 0700 temporary folder) is still reachable as /proc/self/cwd.
 */
const serverPathOf = async (data: string, account: OsAccount | null, major: number): Promise<string> => {
  if (await isReachable(data, account)) return data
  // PostgreSQL 15 resolves its own path by walking back to its start folder, which it cannot access.
  if (process.platform === 'linux' && major >= 16) return '/proc/self/cwd'
  throw new Error(
    `PostgreSQL ${major} runs as ${account?.name}, who cannot enter ${data}. Open the folders above it (chmod o+x), choose another TRUNKLINE_HOME, or start as a plain user.`,
  )
}

/** Collation by code point on every system, so that indexes survive an upgrade of the system's locales. */
const locale = (major: number) =>
  major >= 17
    ? ['--locale=C', '--locale-provider=builtin', '--builtin-locale=C.UTF-8']
    : ['--locale=C', '--lc-ctype=C.UTF-8']

const chownTree = async (path: string, { uid, gid }: OsAccount) => {
  await chown(path, uid, gid)
  for (const entry of await readdir(path, { withFileTypes: true, recursive: true }))
    await chown(join(entry.parentPath, entry.name), uid, gid)
}

/** The file with the password of the database's owner, in the folder of a cluster. */
export const ownerPasswordIn = (folder: string): string => join(folder, 'owner-password')

const writePassword = async (path: string): Promise<void> => {
  const file = await open(path, 'w', 0o600)
  await file.writeFile(`${randomBytes(24).toString('base64url')}\n`)
  await file.sync()
  await file.close()
}

/** Writes the password file that a database of an earlier version lacks. */
const addOwnerPassword = async (folder: string, account: OsAccount | null): Promise<void> => {
  const path = ownerPasswordIn(folder)
  await writePassword(`${path}.new`)
  if (account) await chown(`${path}.new`, account.uid, account.gid)
  await rename(`${path}.new`, path)
  await flush(folder)
}

/**
 * Creates the database next to its place and moves it there when complete: the final name always holds a complete
 * database.
 */
const createCluster = async (folder: string, binaries: Binaries, account: OsAccount | null): Promise<void> => {
  const parent = dirname(folder)
  const making = await mkdtemp(`${folder}.new-`)
  const data = join(making, 'data')
  await mkdir(data, { mode: 0o700 })
  await writePassword(join(making, 'password'))
  await writePassword(ownerPasswordIn(making))
  if (account) await chownTree(making, account)
  const options = [`--username=${databaseName}`, '--pwfile=../password', '--encoding=UTF8', ...locale(binaries.major)]
  const safety = ['--data-checksums', '--auth-local=scram-sha-256', '--auth-host=reject']
  const where = ['-D', await serverPathOf(data, account, binaries.major)]
  await runProgram(
    join(binaries.folder, 'initdb'),
    [...where, ...options, ...safety, '--no-instructions'],
    data,
    account,
  )
  await flush(making)
  await rename(making, folder)
  await flush(parent)
}

/** A database of another major version would seem lost next to a new, empty one. */
const refuseOtherVersions = async (folder: string, { version }: Binaries) => {
  const others = (await readdir(dirname(folder))).filter((name) => /^\d+$/.test(name))
  if (others.length)
    throw new Error(
      `${dirname(folder)} has a database of PostgreSQL ${others.join(', ')}, and this is PostgreSQL ${version}, which cannot read it. Move its data over (pg_dump), or move that folder away to start with an empty database.`,
    )
}

/** Removes the remains of an interrupted first start. The caller holds the home, so no other process uses it. */
const removeLeftovers = async (folder: string) => {
  const unfinished = `${basename(folder)}.new-`
  // initdb outlives a killed start, and still writes for a moment.
  for (const name of await readdir(dirname(folder)))
    if (name.startsWith(unfinished))
      await rm(join(dirname(folder), name), { recursive: true, force: true, maxRetries: 20 })
}

/**
 * Opens the database of the folder, and creates it on the first start.
 * @throws Error when it belongs to another user, or initdb fails
 */
export const openCluster = async (
  folder: string,
  binaries: Binaries,
  account: OsAccount | null,
): Promise<Cluster & { readonly isNew: { readonly cluster: boolean; readonly owner: boolean } }> => {
  const data = join(folder, 'data')
  await removeLeftovers(folder)
  const found = await stat(folder).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return null
    throw error
  })
  if (!found) {
    await refuseOtherVersions(folder, binaries)
    await createCluster(folder, binaries, account)
  } else if (account && found.uid !== account.uid) await chownTree(folder, account)
  else if (!account && found.uid !== process.getuid?.())
    throw new Error(
      `${folder} belongs to the account ${found.uid}: it was started as root or as another user before. Start as that user again, or give it to yourself: chown -R ${process.getuid?.()} ${folder}`,
    )
  const hasOwner = existsSync(ownerPasswordIn(folder))
  if (!hasOwner) await addOwnerPassword(folder, account)
  const passwordIn = async (path: string) => (await readFile(path, 'utf8')).trim()
  return {
    data,
    serverPath: await serverPathOf(data, account, binaries.major),
    password: await passwordIn(join(folder, 'password')),
    ownerPassword: await passwordIn(ownerPasswordIn(folder)),
    isNew: { cluster: !found, owner: !found || !hasOwner },
  }
}
