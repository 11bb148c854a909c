import type { Tx } from '../../../platform/db/sql.ts'
import type { KeyLimits } from '../../../platform/http/auth.ts'
import type { Capability } from '../../../platform/http/capability.ts'
import { refuse } from '../../../platform/http/problem.ts'
import { isNetwork, makeAddressList } from '../../../platform/lib/address-list.ts'
import { iso } from '../../../platform/lib/clock.ts'
import { maxKeys, maxKeysPerDay } from '../limits.ts'
import { issueKey, missingScope } from '../ops.ts'
import { refusals } from '../refusals.ts'
import * as store from '../store.ts'

/** Requested limits of a key. */
type KeyRequest = {
  readonly label: string
  readonly scopes?: readonly Capability[]
  readonly expires_at?: string
  readonly allowed_addresses?: readonly string[]
}

export const presentLimits = ({ scopes, expires_at, allowed_addresses }: KeyLimits) => ({
  ...(scopes ? { scopes: [...scopes] } : {}),
  ...(expires_at ? { expires_at: iso(expires_at) } : {}),
  ...(allowed_addresses ? { allowed_addresses: [...allowed_addresses] } : {}),
})

/** Parses the expiry of a key, in whole seconds as shown. @throws Problem 400 */
const parseExpiry = (text: string): Date => {
  const end = Math.floor(Date.parse(text) / 1_000) * 1_000
  return end > Date.now() ? new Date(end) : refuse(refusals.expiryNotInFuture())
}

/** Parses the limits of a key. @param own defaults for omitted limits @throws Problem 400 */
const parseLimits = (wish: KeyRequest, own: KeyLimits | null): KeyLimits => {
  const strange = wish.allowed_addresses?.find((text) => !isNetwork(text))
  if (strange !== undefined) throw refusals.badAllowedAddress(strange)
  return {
    scopes: wish.scopes ? [...new Set(wish.scopes)] : (own?.scopes ?? null),
    expires_at: wish.expires_at === undefined ? (own?.expires_at ?? null) : parseExpiry(wish.expires_at),
    allowed_addresses: wish.allowed_addresses ?? own?.allowed_addresses ?? null,
  }
}

/** Returns the limit by which a key would exceed its creator, or null. */
const exceededLimit = (wished: KeyLimits, own: KeyLimits): string | null => {
  const { scopes, expires_at: end, allowed_addresses: addresses } = own
  const more = missingScope(wished.scopes, scopes)
  if (more) return `scopes: your key lacks ${more}`
  if (end && (wished.expires_at ?? end) > end) return `expires_at: your key ends at ${iso(end)}`
  const list = addresses && makeAddressList(addresses)
  const outside = list && wished.allowed_addresses?.find((network) => !list.covers(network))
  return outside ? `allowed_addresses: ${outside} is not within one of those of your key` : null
}

/** Creates a key of an account. @param own limits of the creating key; null for the operator
 *  @param madeBy bare uuid of the user who makes it in the console @throws Problem 400, 403 */
export const createKey = async (
  tx: Tx,
  account: string,
  wish: KeyRequest,
  own: KeyLimits | null,
  madeBy: string | null,
) => {
  const limits = parseLimits(wish, own)
  const exceeded = own && exceededLimit(limits, own)
  if (exceeded) throw refusals.newKeyExceedsYours(exceeded)
  const { kept, recent } = await store.countKeys(tx, account)
  if (kept >= maxKeys) throw refusals.tooManyKeys(kept, maxKeys)
  if (recent >= maxKeysPerDay) throw refusals.tooManyRecentKeys(recent)
  return { ...(await issueKey(tx, account, wish.label, undefined, limits, madeBy)), ...presentLimits(limits) }
}
