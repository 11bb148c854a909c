import type { Services } from '../../../services.ts'
import { tokenPlace } from '../credentials.ts'
import * as store from '../store.ts'
import type { ProgramDeps } from './program-request.ts'
import type { ProgramShare } from './program-share.ts'

/** Data that requests to the program of an account need. */
type AccountAccess = { readonly a2pUs: boolean; readonly deps: ProgramDeps }

/** Returns the data; null for an account that has no token any more, or is closed or blocked, and if the interface is off. */
export const accessOf = async (
  { db, config, seal, outbound, sandboxAccounts, version }: Services,
  account: string,
  share: ProgramShare,
  signal: AbortSignal,
): Promise<AccountAccess | null> => {
  if (config.compat === 'off') return null
  const [active, [token]] = await Promise.all([store.activeAccount(db, account), store.tokens(db, account)])
  if (!active || !token) return null
  return {
    a2pUs: active.a2pUs,
    deps: {
      outbound: outbound.of(sandboxAccounts.has(account)),
      agent: `Trunkline/${version}`,
      token: String(seal.openBytes(token.sealed_token, tokenPlace(token.key_id))),
      signal,
      enter: (url) => share.enter(account, url, signal),
    },
  }
}
