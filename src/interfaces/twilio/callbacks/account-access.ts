import type { RequestShare } from '../../../platform/jobs/request-share.ts'
import type { Services } from '../../../services.ts'
import { tokenPlace } from '../credentials.ts'
import * as store from '../store.ts'
import type { RequestDeps } from './program-request.ts'

export type AccessDeps = Pick<Services, 'db' | 'config' | 'seal' | 'outbound' | 'sandboxAccounts' | 'version'>

/** Signs and sends requests to the program of an account. */
type AccountSigner = Pick<RequestDeps, 'outbound' | 'agent' | 'token'> & { readonly a2pUs: boolean }

/** Returns the signer; null for an account that has no token any more, or is closed or blocked, and if the interface is off. */
export const signerOf = async (
  { db, config, seal, outbound, sandboxAccounts, version }: AccessDeps,
  account: string,
): Promise<AccountSigner | null> => {
  if (config.compat === 'off') return null
  const [active, [token]] = await Promise.all([store.activeAccount(db, account), store.tokens(db, account)])
  if (!active || !token) return null
  return {
    a2pUs: active.a2pUs,
    outbound: outbound.of(sandboxAccounts.has(account)),
    agent: `Trunkline/${version}`,
    token: String(seal.openBytes(token.sealed_token, tokenPlace(token.key_id))),
  }
}

/** Data that requests to the program of an account need. */
type AccountAccess = { readonly a2pUs: boolean; readonly deps: RequestDeps }

/** Returns the data; null as `signerOf`. */
export const accessOf = async (
  deps: AccessDeps,
  account: string,
  share: RequestShare,
  signal: AbortSignal,
): Promise<AccountAccess | null> => {
  const signer = await signerOf(deps, account)
  if (!signer) return null
  const { a2pUs, ...sender } = signer
  return { a2pUs, deps: { ...sender, signal, enter: (url) => share.enter(account, url, signal) } }
}
