import type { Tx } from '../../platform/db/sql.ts'
import type { KeyLimits } from '../../platform/http/auth.ts'
import { type Capability, capabilities } from '../../platform/http/capability.ts'
import { forbidden, invalid } from '../../platform/http/problem.ts'
import { isNetwork, makeAddressList } from '../../platform/lib/address-list.ts'
import { iso } from '../../platform/lib/clock.ts'
import { issueKey } from './ops.ts'
import * as store from './store.ts'

/** Limits of unrevoked keys per account, and of keys created within 24 hours. Each revocation clears the key cache of
 *  every process. */
const maxKeys = 100
const maxKeysPerDay = 1_000

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
  return end > Date.now() ? new Date(end) : invalid('expires_at must be in the future')
}

/** Parses the limits of a key. @param own defaults for omitted limits @throws Problem 400 */
const parseLimits = (wish: KeyRequest, own: KeyLimits | null): KeyLimits => {
  const strange = wish.allowed_addresses?.find((text) => !isNetwork(text))
  if (strange !== undefined)
    invalid(`allowed_addresses: ${strange} is neither an address nor a network such as 192.0.2.0/24 or 2001:db8::/32`)
  return {
    scopes: wish.scopes ? [...new Set(wish.scopes)] : (own?.scopes ?? null),
    expires_at: wish.expires_at === undefined ? (own?.expires_at ?? null) : parseExpiry(wish.expires_at),
    allowed_addresses: wish.allowed_addresses ?? own?.allowed_addresses ?? null,
  }
}

/** Returns a scope of another key that this one lacks, or null. A key without a scope list has all scopes. */
const missingScope = (other: KeyLimits['scopes'], own: KeyLimits['scopes']): string | null => {
  if (!own) return null
  return (other ?? capabilities).find((scope) => !own.includes(scope)) ?? null
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

/** Checks that a key may revoke another one. @throws Problem 403 if the revoking key lacks a scope of the other */
export const assertRevocable = (target: Pick<KeyLimits, 'scopes'>, own: KeyLimits): void => {
  const more = missingScope(target.scopes, own.scopes)
  if (more)
    forbidden(
      `The key has scope ${more}, which yours lacks. Revoke it with a key that has all of its scopes`,
      'exceeds_own_key',
    )
}

/** Creates a key of an account. @param own limits of the creating key; null for the operator
 *  @throws Problem 400, 403 */
export const createKey = async (tx: Tx, account: string, wish: KeyRequest, own: KeyLimits | null) => {
  const limits = parseLimits(wish, own)
  const exceeded = own && exceededLimit(limits, own)
  if (exceeded) forbidden(`The new key must not exceed yours. ${exceeded}`, 'exceeds_own_key')
  const { kept, recent } = await store.countKeys(tx, account)
  if (kept >= maxKeys)
    forbidden(`The account has ${kept} keys; at most ${maxKeys} are allowed. Revoke an unused one`, 'too_many_keys')
  if (recent >= maxKeysPerDay)
    forbidden(`The account has created ${recent} keys within 24 hours, which is the limit. Use those`, 'too_many_keys')
  return { ...(await issueKey(tx, account, wish.label, undefined, limits)), ...presentLimits(limits) }
}
