import type { InvalidationBus } from '../../platform/db/invalidation-bus.ts'
import type { Db } from '../../platform/db/sql.ts'
import type { CompatAccounts as AuthAccounts } from '../../platform/http/authenticate.ts'
import { makeGenerationCache } from '../../platform/lib/generation-cache.ts'
import { maxKnownAccounts } from './limits.ts'
import * as store from './store.ts'

/** The accounts that use the interface. */
export type CompatAccounts = AuthAccounts & {
  /** Like `isOn`, as known to this process: another process may have made the first token half a second ago. */
  wasOn(account: string): boolean | Promise<boolean>
}

/** Caches which accounts use the interface, until a key or an account changes. */
export const makeCompatAccounts = (db: Db, changes: InvalidationBus): CompatAccounts => {
  const known = makeGenerationCache<boolean>(maxKnownAccounts)
  changes.on('accounts', known.clear)
  const read = (account: string) => known.load(account, () => store.isOn(db, account))
  return {
    // An account that does not use it is looked up again, so that its first token works at once in every process.
    isOn: (account) => known.get(account) || read(account),
    wasOn: (account) => known.get(account) ?? read(account),
  }
}
