import type { InvalidationBus } from '../../platform/db/invalidation-bus.ts'
import type { Db } from '../../platform/db/sql.ts'
import { makeNewestRead } from '../../platform/lib/newest-read.ts'
import { maxExcludedAccounts } from './limits.ts'
import * as store from './store.ts'

/** In-memory set of the accounts that the sandbox affects: those marked for it, while it is on. */
export type SandboxAccounts = {
  has(account: string): boolean
  /** Excludes an account in this process at once. Other processes follow the topic `accounts` within half a second. */
  exclude(account: string): void
}

/**
 * Caches the accounts that are not marked, because installations with a sandbox have few of them.
 * @param isOn whether this process runs with the sandbox
 */
export const makeSandboxAccounts = async (
  db: Db,
  changes: InvalidationBus,
  isOn: boolean,
  onError: (error: unknown) => void,
): Promise<SandboxAccounts> => {
  if (!isOn) return { has: () => false, exclude: () => {} }
  let excluded = new Set<string>()
  const list = makeNewestRead(
    () => store.outsideSandbox(db, maxExcludedAccounts + 1),
    (rows) => {
      excluded = new Set(rows.map(({ id }) => id))
    },
  )
  changes.on('accounts', () => void list.reload().catch(onError))
  await list.reload()
  return {
    has: (account) => excluded.size <= maxExcludedAccounts && !excluded.has(account),
    exclude: (account) => {
      excluded.add(account)
      // A concurrent read may have begun before the change.
      list.discard()
    },
  }
}
