import type { Changes } from '../db/changes.ts'
import type { Db } from '../db/sql.ts'
import * as store from './store.ts'

/** Which accounts the sandbox has effects for: those marked for it, while it is on. Answers from memory. */
export type SandboxAccounts = {
  has(account: string): boolean
  /** Takes an account out in this process at once; other processes follow the topic `accounts` within half a second. */
  exclude(account: string): void
}

/** Beyond so many accounts that are not marked, no account counts as one of the sandbox. */
const mostExcluded = 10_000

/**
 * Remembers the accounts that are not marked, because installations with a sandbox have few of them.
 * @param isOn whether this process runs with the sandbox
 */
export const makeSandboxAccounts = async (
  db: Db,
  changes: Changes,
  isOn: boolean,
  onError: (error: unknown) => void,
): Promise<SandboxAccounts> => {
  if (!isOn) return { has: () => false, exclude: () => {} }
  let excluded = new Set<string>()
  let turn = 0

  const read = async () => {
    const mine = ++turn
    const rows = await store.outsideSandbox(db, mostExcluded + 1)
    if (mine === turn) excluded = new Set(rows.map(({ id }) => id))
  }

  changes.on('accounts', () => void read().catch(onError))
  await read()
  return {
    has: (account) => excluded.size <= mostExcluded && !excluded.has(account),
    exclude: (account) => {
      excluded.add(account)
      // A reading under way may have begun before.
      turn++
    },
  }
}
