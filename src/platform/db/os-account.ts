import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'

/** The account of the operating system under which PostgreSQL runs: PostgreSQL refuses to run as root. */
export type OsAccount = { readonly name: string; readonly uid: number; readonly gid: number }

/**
 * Accounts to use when root starts the process, in order of preference. The account must exist: initdb looks its name
 * up.
 */
const candidates = ['trunkline', 'postgres', '_postgres', 'nobody']

const osAccounts = (): OsAccount[] =>
  readFileSync('/etc/passwd', 'utf8')
    .split('\n')
    .flatMap((line) => {
      const [name, , uid, gid] = line.split(':')
      // macOS writes nobody as -2; the kernel needs it unsigned.
      return name && uid && gid ? [{ name, uid: Number(uid) >>> 0, gid: Number(gid) >>> 0 }] : []
    })

/**
 * Returns the account to drop to; null when this process is not root and PostgreSQL runs under the same user.
 * @param parent the folder of the databases: the owner of an existing one is preserved, whatever the default is now
 * @param configured the account's name, instead of the first that exists of trunkline, postgres and nobody
 * @throws Error when there is no such account
 */
export const osAccountFor = (parent: string, configured?: string): OsAccount | null => {
  if (process.getuid?.() !== 0) return null
  const known = osAccounts()
  if (configured !== undefined) {
    const found = known.find(({ name }) => name === configured)
    if (!found || found.uid === 0)
      throw new Error(`There is no unprivileged account ${configured} to run PostgreSQL as.`)
    return found
  }
  const existing = readdirSync(parent).find((name) => /^\d+$/.test(name))
  const owner = existing ? statSync(join(parent, existing)) : null
  if (owner && owner.uid !== 0) {
    const name = known.find(({ uid }) => uid === owner.uid)?.name ?? String(owner.uid)
    return { name, uid: owner.uid, gid: owner.gid }
  }
  for (const name of candidates) {
    const found = known.find((account) => account.name === name && account.uid !== 0)
    if (found) return found
  }
  throw new Error(
    'PostgreSQL refuses to run as root, and the system has no account nobody to run it as. Start as a plain user, or set DATABASE_URL.',
  )
}

/** Returns the options of spawn() that run a program as the account. */
export const spawnOptionsFor = (account: OsAccount | null): { uid?: number; gid?: number } =>
  account ? { uid: account.uid, gid: account.gid } : {}

/** Returns the environment of PostgreSQL's programs without ours, so that no PGDATA, PGPORT or locale leaks in. */
export const plainEnvironment = (): NodeJS.ProcessEnv => ({
  PATH: process.env.PATH ?? '/usr/bin:/bin',
  LC_ALL: 'C',
  TZ: 'UTC',
})
