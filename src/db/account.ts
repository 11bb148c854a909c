import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'

/** The account of the operating system under which PostgreSQL runs: PostgreSQL refuses to run as root. */
export type Account = { readonly name: string; readonly uid: number; readonly gid: number }

/** Accounts to fall back on when root starts us, the best first. One that exists is needed: initdb looks its name up. */
const candidates = ['trunkline', 'postgres', '_postgres', 'nobody']

const accounts = (): Account[] =>
  readFileSync('/etc/passwd', 'utf8')
    .split('\n')
    .flatMap((line) => {
      const [name, , uid, gid] = line.split(':')
      // macOS writes nobody as -2; the kernel wants it unsigned.
      return name && uid && gid ? [{ name, uid: Number(uid) >>> 0, gid: Number(gid) >>> 0 }] : []
    })

/**
 * The account to drop to, or null when we are not root and PostgreSQL runs as we do.
 * @param parent the folder of the databases: the owner of one that exists is kept, whatever the default has become
 * @param wanted the account's name, instead of the first that exists of trunkline, postgres and nobody
 * @throws Error when there is no such account
 */
export const accountFor = (parent: string, wanted?: string): Account | null => {
  if (process.getuid?.() !== 0) return null
  const known = accounts()
  if (wanted !== undefined) {
    const found = known.find(({ name }) => name === wanted)
    if (!found || found.uid === 0) throw new Error(`There is no unprivileged account ${wanted} to run PostgreSQL as.`)
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

/** The options of spawn() that run a program as the account. */
export const as = (account: Account | null): { uid?: number; gid?: number } =>
  account ? { uid: account.uid, gid: account.gid } : {}

/** The environment of PostgreSQL's programs: nothing of ours, so that no PGDATA, PGPORT or locale leaks in. */
export const plainEnvironment = (): NodeJS.ProcessEnv => ({
  PATH: process.env.PATH ?? '/usr/bin:/bin',
  LC_ALL: 'C',
  TZ: 'UTC',
})
