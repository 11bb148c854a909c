import type { FastifyRequest } from 'fastify'
import type { Tx } from '../../../platform/db/sql.ts'
import type { KeyLimits } from '../../../platform/http/auth.ts'
import type { Capability } from '../../../platform/http/capability.ts'
import { assertMayMake } from '../../../platform/http/credential-strength.ts'
import { refuse } from '../../../platform/http/problem.ts'
import { isNetwork } from '../../../platform/lib/address-list.ts'
import { iso } from '../../../platform/lib/clock.ts'
import { decimal, micros } from '../../../platform/lib/money.ts'
import { maxKeys, maxKeysPerDay, maxLimitedMakers } from '../limits.ts'
import { issueKey } from '../ops.ts'
import { refusals } from '../refusals.ts'
import * as store from '../store.ts'

/** Requested limits of a key. */
type KeyRequest = {
  readonly label: string
  readonly scopes?: readonly Capability[]
  readonly expires_at?: string
  readonly allowed_addresses?: readonly string[]
  readonly spend_per_day?: string
}

export const presentLimits = ({ scopes, expires_at, allowed_addresses, spend_per_day }: KeyLimits) => ({
  ...(scopes ? { scopes: [...scopes] } : {}),
  ...(expires_at ? { expires_at: iso(expires_at) } : {}),
  ...(allowed_addresses ? { allowed_addresses: [...allowed_addresses] } : {}),
  ...(spend_per_day === null ? {} : { spend_per_day: decimal(micros(spend_per_day) ?? 0) }),
})

/** Parses the expiry of a key, in whole seconds as shown. @throws Problem 400 */
const parseExpiry = (text: string): Date => {
  const end = Math.floor(Date.parse(text) / 1_000) * 1_000
  return end > Date.now() ? new Date(end) : refuse(refusals.expiryNotInFuture())
}

/** Parses the limits of a key. @param own defaults for omitted limits @throws Problem 400 */
const parseLimits = (requested: KeyRequest, own: KeyLimits | null): KeyLimits => {
  const strange = requested.allowed_addresses?.find((text) => !isNetwork(text))
  if (strange !== undefined) throw refusals.badAllowedAddress(strange)
  return {
    scopes: requested.scopes ? [...new Set(requested.scopes)] : (own?.scopes ?? null),
    expires_at: requested.expires_at === undefined ? (own?.expires_at ?? null) : parseExpiry(requested.expires_at),
    allowed_addresses: requested.allowed_addresses ?? own?.allowed_addresses ?? null,
    spend_per_day: requested.spend_per_day ?? own?.spend_per_day ?? null,
  }
}

/** Creates a key of an account. @param own limits of the creating key; null for the operator
 *  @param madeBy bare uuid of the user who makes it, in the console or by a key of the console
 *  @param secret the key itself. Default: a new one @throws Problem 400, 403 */
export const createKey = async (
  tx: Tx,
  request: FastifyRequest,
  account: string,
  requested: KeyRequest,
  own: KeyLimits | null,
  madeBy: string | null,
  secret?: string,
) => {
  const limits = parseLimits(requested, own)
  assertMayMake(request, { kind: 'api-key', limits })
  const { valid, recent } = await store.countKeys(tx, account)
  if (valid >= maxKeys) throw refusals.tooManyKeys(valid, maxKeys)
  if (recent >= maxKeysPerDay) throw refusals.tooManyRecentKeys(recent)
  const countedBy = request.accountKey?.account.limitedKeys ?? []
  if (countedBy.length >= maxLimitedMakers) throw refusals.tooManyLimitedMakers(maxLimitedMakers)
  const issued = await issueKey(tx, account, requested.label, secret, limits, madeBy, countedBy)
  return { ...issued, ...presentLimits(limits) }
}
