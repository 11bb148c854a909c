import type { Tx } from '../db/sql.ts'
import type { KeyLimits } from '../http/auth.ts'
import type { Capability } from '../http/capability.ts'
import { forbidden, invalid } from '../http/problem.ts'
import { isNetwork, makeAddressList } from '../lib/address-list.ts'
import { iso } from '../lib/clock.ts'
import { issueKey } from './ops.ts'
import * as store from './store.ts'

/** Keys of an account that are not revoked, and keys made within 24 hours: each revocation makes every process forget its
 *  known keys. */
const mostKeys = 100
const mostKeysADay = 1_000

/** The limits of a key as they are wished. */
type Wish = {
  readonly label: string
  readonly scopes?: readonly Capability[]
  readonly expires_at?: string
  readonly allowed_addresses?: readonly string[]
}

export const shownLimits = ({ scopes, expires_at, allowed_addresses }: KeyLimits) => ({
  ...(scopes ? { scopes: [...scopes] } : {}),
  ...(expires_at ? { expires_at: iso(expires_at) } : {}),
  ...(allowed_addresses ? { allowed_addresses: [...allowed_addresses] } : {}),
})

/** The end of a key: whole seconds, as it is shown. @throws Problem 400 */
const readEnd = (text: string): Date => {
  const end = Math.floor(Date.parse(text) / 1_000) * 1_000
  return end > Date.now() ? new Date(end) : invalid('expires_at must be in the future')
}

/** @param own what is not wished is as there @throws Problem 400 */
const readLimits = (wish: Wish, own: KeyLimits | null): KeyLimits => {
  const strange = wish.allowed_addresses?.find((text) => !isNetwork(text))
  if (strange !== undefined)
    invalid(`allowed_addresses: ${strange} is neither an address nor a network such as 192.0.2.0/24 or 2001:db8::/32`)
  return {
    scopes: wish.scopes ? [...new Set(wish.scopes)] : (own?.scopes ?? null),
    expires_at: wish.expires_at === undefined ? (own?.expires_at ?? null) : readEnd(wish.expires_at),
    allowed_addresses: wish.allowed_addresses ?? own?.allowed_addresses ?? null,
  }
}

/** The field by which a key would exceed the one that makes it; null when it would not. */
const excess = (wished: KeyLimits, own: KeyLimits): string | null => {
  const { scopes, expires_at: end, allowed_addresses: addresses } = own
  const more = scopes && wished.scopes?.find((scope) => !scopes.includes(scope))
  if (more) return `scopes: your key lacks ${more}`
  if (end && (wished.expires_at ?? end) > end) return `expires_at: your key ends at ${iso(end)}`
  const list = addresses && makeAddressList(addresses)
  const outside = list && wished.allowed_addresses?.find((network) => !list.covers(network))
  return outside ? `allowed_addresses: ${outside} is not within one of those of your key` : null
}

/** Makes a key of an account. @param own the limits of the key that makes it; null for the operator @throws Problem 400, 403 */
export const createKey = async (tx: Tx, account: string, wish: Wish, own: KeyLimits | null) => {
  const limits = readLimits(wish, own)
  const exceeded = own && excess(limits, own)
  if (exceeded) forbidden(`The new key may do no more than yours. ${exceeded}`, 'exceeds_own_key')
  const { kept, recent } = await store.countKeys(tx, account)
  if (kept >= mostKeys)
    forbidden(`The account has ${kept} keys, and may have ${mostKeys}: revoke one that is not used`, 'too_many_keys')
  if (recent >= mostKeysADay)
    forbidden(`The account has made ${recent} keys within 24 hours, which is the most: use those`, 'too_many_keys')
  return { ...(await issueKey(tx, account, wish.label, undefined, limits)), ...shownLimits(limits) }
}
