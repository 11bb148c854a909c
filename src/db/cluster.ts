import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { chown, mkdir, mkdtemp, open, readdir, readFile, rename, rm, stat } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { type Account, as, plainEnvironment } from './account.ts'
import type { Binaries } from './binaries.ts'

/** The name of the superuser and of the database. */
export const owner = 'trunkline'

/** A data folder and the password beside it, both in one folder named by the major version. */
export type Cluster = {
  readonly data: string
  /** The data folder as the server is told it: from inside when its path is closed to the server's account. */
  readonly seenAs: string
  readonly password: string
}

const flush = async (path: string) => {
  const handle = await open(path, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}

/** Runs a program to its end. @throws Error with what it said */
const run = (program: string, args: string[], cwd: string, account: Account | null) =>
  new Promise<void>((resolve, reject) => {
    const child = spawn(program, args, {
      ...as(account),
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

/** Whether the account can walk to the folder; asked of the system itself, so that ACLs count too. */
const isReachable = async (folder: string, account: Account | null): Promise<boolean> => {
  if (!account) return true
  return await run('/bin/sh', ['-c', 'test -x "$0"', folder], '/', account).then(
    () => true,
    () => false,
  )
}

/**
 * How the server is told its data folder. Every program of ours starts *in* that folder, so that one which lies behind a
 * closed door (root's 0700 home, a 0700 temporary folder) is still open to it as /proc/self/cwd.
 */
const seenAs = async (data: string, account: Account | null, major: number): Promise<string> => {
  if (await isReachable(data, account)) return data
  // PostgreSQL 15 resolves its own path by walking back to where it started, which is closed to it.
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

const chownTree = async (path: string, { uid, gid }: Account) => {
  await chown(path, uid, gid)
  for (const entry of await readdir(path, { withFileTypes: true, recursive: true }))
    await chown(join(entry.parentPath, entry.name), uid, gid)
}

/** Made beside its place and moved there when whole: what stands under the name is always a complete database. */
const create = async (folder: string, binaries: Binaries, account: Account | null): Promise<void> => {
  const parent = dirname(folder)
  const making = await mkdtemp(`${folder}.new-`)
  const data = join(making, 'data')
  await mkdir(data, { mode: 0o700 })
  const file = await open(join(making, 'password'), 'wx', 0o600)
  await file.writeFile(`${randomBytes(24).toString('base64url')}\n`)
  await file.sync()
  await file.close()
  if (account) await chownTree(making, account)
  const options = [`--username=${owner}`, '--pwfile=../password', '--encoding=UTF8', ...locale(binaries.major)]
  const safety = ['--data-checksums', '--auth-local=scram-sha-256', '--auth-host=reject']
  const where = ['-D', await seenAs(data, account, binaries.major)]
  await run(join(binaries.folder, 'initdb'), [...where, ...options, ...safety, '--no-instructions'], data, account)
  await flush(making)
  await rename(making, folder)
  await flush(parent)
}

/** A database of another major version would seem to be lost beside a new, empty one. */
const refuseOthers = async (folder: string, { version }: Binaries) => {
  const others = (await readdir(dirname(folder))).filter((name) => /^\d+$/.test(name))
  if (others.length)
    throw new Error(
      `${dirname(folder)} has a database of PostgreSQL ${others.join(', ')}, and this is PostgreSQL ${version}, which cannot read it. Move its data over (pg_dump), or move that folder away to begin anew.`,
    )
}

/** What an interrupted first start left. The caller holds the home, so nobody is still at it. */
const sweep = async (folder: string) => {
  const unfinished = `${basename(folder)}.new-`
  // initdb outlives a start that was killed, and still writes for a moment.
  for (const name of await readdir(dirname(folder)))
    if (name.startsWith(unfinished))
      await rm(join(dirname(folder), name), { recursive: true, force: true, maxRetries: 20 })
}

/**
 * Opens the database of the folder, and makes it on the first start.
 * @throws Error when it belongs to somebody else, or initdb fails
 */
export const openCluster = async (
  folder: string,
  binaries: Binaries,
  account: Account | null,
): Promise<Cluster & { fresh: boolean }> => {
  const data = join(folder, 'data')
  await sweep(folder)
  const found = await stat(folder).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return null
    throw error
  })
  if (!found) {
    await refuseOthers(folder, binaries)
    await create(folder, binaries, account)
  } else if (account && found.uid !== account.uid) await chownTree(folder, account)
  else if (!account && found.uid !== process.getuid?.())
    throw new Error(
      `${folder} belongs to the account ${found.uid}: it was started as root or as another user before. Start as that user again, or give it to yourself: chown -R ${process.getuid?.()} ${folder}`,
    )
  const password = (await readFile(join(folder, 'password'), 'utf8')).trim()
  return { data, seenAs: await seenAs(data, account, binaries.major), password, fresh: !found }
}
