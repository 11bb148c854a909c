import type { InvalidationBus } from '../db/invalidation-bus.ts'
import type { Db } from '../db/sql.ts'
import { type AddressList, makeAddressList } from '../lib/address-list.ts'
import { iso } from '../lib/clock.ts'
import { makeGenerationCache } from '../lib/generation-cache.ts'
import type { QuotaValues } from '../lib/quota-definitions.ts'
import { keyDigest, keyHash } from '../lib/secret.ts'
import { type KeyStore, makeExistenceCheck } from './auth-throttle.ts'
import { bitOf, type Capability, maskOf } from './capability.ts'
import { maxCachedKeys } from './limits.ts'
import type { Problem } from './problem.ts'
import { refusals } from './refusals.ts'

/** Fields of the authenticated account that every request needs. */
export type Account = {
  readonly id: string
  readonly name: string
  readonly onTrial: boolean
  readonly blocked: boolean
  /** True if the account is permanently closed; `blocked` is then true too. */
  readonly closed: boolean
  readonly blockReason: string | null
  readonly requestsPerMinute: number
  readonly maxApiRequests: number | null
  readonly a2pUs: boolean
  /** Quotas that an operator changed. */
  readonly quotas: QuotaValues
  /** Keys with a daily spend limit that count what the request spends: its key and those that this one was made with. Null:
   *  none. */
  readonly limitedKeys: readonly string[] | null
}

/** The operator key of a request. */
export type OperatorKey = {
  readonly id: string
  readonly label: string
  readonly lastFour: string
  readonly role: 'operator' | 'observer'
}

/** Restrictions of an API key; null for none. */
export type KeyLimits = {
  readonly scopes: readonly Capability[] | null
  readonly expires_at: Date | null
  readonly allowed_addresses: readonly string[] | null
  /** USD per day (UTC), decimal. */
  readonly spend_per_day: string | null
}

/** An authenticated API key. */
export type AccountKey = {
  readonly id: string
  readonly account: Account
  readonly limits: KeyLimits
  /** Bit mask of capabilities. */
  readonly scopes: number
  /** Unix milliseconds by the machine's clock, which the sandbox does not move; Infinity for no expiry. */
  readonly expiresAt: number
  readonly addresses: AddressList | null
}

/** The user of a voice client's token. Uuids have no prefix. */
export type VoiceUser = {
  readonly account: string
  readonly user: string
  readonly label: string | null
  readonly expiresAt: Date
  /** Number of times that all tokens of the user had been revoked when this one was issued. */
  readonly epoch: number
}

export type Auth = {
  /** API keys, including expired ones. */
  readonly accounts: KeyStore<AccountKey>
  readonly operators: KeyStore<OperatorKey>
  /** Returns the current account of a token's user; null if the token was revoked. */
  accountOf(person: VoiceUser): Promise<Account | null>
  /** Stores the time of use for all keys used since the last call. */
  flush(): Promise<void>
}

export type AuthRow = {
  id: string
  name: string
  on_trial: boolean
  blocked: boolean
  block_reason: string | null
  closed_at: Date | null
  requests_per_minute: number
  max_api_requests: number | null
  a2p_us: boolean
  quotas: QuotaValues
}

export const accountOfRow = (row: AuthRow, limitedKeys: Account['limitedKeys'] = null): Account => ({
  id: row.id,
  name: row.name,
  onTrial: row.on_trial,
  blocked: row.blocked,
  closed: row.closed_at !== null,
  blockReason: row.block_reason,
  requestsPerMinute: row.requests_per_minute,
  maxApiRequests: row.max_api_requests,
  a2pUs: row.a2p_us,
  quotas: row.quotas,
  limitedKeys,
})

/** An API key with its account. */
export type KeyAuthRow = AuthRow & KeyLimits & { key_id: string; limited_keys: string[] | null }

export const accountKeyOfRow = (row: KeyAuthRow): AccountKey => {
  const { key_id: id, scopes, expires_at, allowed_addresses, spend_per_day, limited_keys } = row
  return {
    id,
    account: accountOfRow(row, limited_keys),
    limits: { scopes, expires_at, allowed_addresses, spend_per_day },
    scopes: maskOf(scopes),
    expiresAt: expires_at?.getTime() ?? Number.POSITIVE_INFINITY,
    addresses: allowed_addresses && makeAddressList(allowed_addresses),
  }
}

/**
 * Caches keys by their SHA-256, never in plain text. Any change of an account or key (topic `accounts`) clears the
 * cache, so that every process refuses a revoked key within a second.
 */
export const makeAuth = (db: Db, changes: InvalidationBus): Auth => {
  const accounts = makeGenerationCache<AccountKey>(maxCachedKeys)
  const operators = makeGenerationCache<OperatorKey>(maxCachedKeys)
  const used = new Set<string>()

  changes.on('accounts', () => {
    accounts.clear()
    operators.clear()
  })

  const read = async (key: string): Promise<AccountKey | null> => {
    const row = await db.maybe<KeyAuthRow>`
      select k.id as key_id, k.scopes, k.expires_at, k.allowed_addresses, k.spend_per_day, k.limited_keys,
             a.id, a.name, a.on_trial, a.blocked, a.block_reason, a.closed_at, a.requests_per_minute, a.max_api_requests, a.a2p_us, a.quotas
      from api_keys k join accounts a on a.id = k.account_id
      where k.hash = ${keyHash(key)} and (k.revoked_at is null or k.revoked_at >= a.closed_at)`
    return row && accountKeyOfRow(row)
  }

  return {
    accounts: {
      cached: (key) => {
        const known = accounts.get(keyDigest(key))
        if (!known) return null
        used.add(known.id)
        return known
      },
      find: async (key) => {
        const found = await accounts.load(keyDigest(key), () => read(key))
        if (found) used.add(found.id)
        return found
      },
      exists: makeExistenceCheck(
        (hashes) => db.many<{ hash: Buffer }>`
          select k.hash from api_keys k join accounts a on a.id = k.account_id
          where k.hash = any(${hashes}::bytea[]) and (k.revoked_at is null or k.revoked_at >= a.closed_at)`,
      ),
    },
    accountOf: async ({ account, user, expiresAt, epoch }) => {
      const row = await db.maybe<AuthRow>`
        select id, name, on_trial, blocked, block_reason, closed_at, requests_per_minute, max_api_requests, a2p_us,
          quotas
        from accounts a
        where id = ${account}
          and (a.closed_at is not null or not exists (
            select 1 from revoked_tokens r
            where r.account_id = a.id and r.user_id = ${user} and r.expires_at = ${expiresAt}::timestamptz)
          and not exists (
            select 1 from token_epochs e where e.account_id = a.id and e.user_id = ${user} and e.epoch <> ${epoch}))`
      return row && accountOfRow(row)
    },
    operators: {
      cached: (key) => operators.get(keyDigest(key)) ?? null,
      find: (key) =>
        operators.load(
          keyDigest(key),
          () => db.maybe<OperatorKey>`
            select id, label, last_four as "lastFour", role from operator_keys
            where hash = ${keyHash(key)} and revoked_at is null`,
        ),
      exists: makeExistenceCheck(
        (hashes) => db.many<{ hash: Buffer }>`
          select hash from operator_keys where hash = any(${hashes}::bytea[]) and revoked_at is null`,
      ),
    },
    flush: async () => {
      if (used.size === 0) return
      const ids = [...used]
      used.clear()
      await db.run`update api_keys set last_used_at = app_now() where id = any(${ids}::uuid[])`
    },
  }
}
/** Returns the refusal of an expired key, or of a key used from a disallowed address; null if the key may be used.
 *  @param from its address is read only if the key has an address list */
export const keyRefusal = (key: AccountKey, from: { readonly ip: string }): Problem | null => {
  if (key.expiresAt <= Date.now()) return refusals.keyExpired(iso(key.expiresAt))
  if (key.addresses === null || key.addresses.contains(from.ip)) return null
  return refusals.addressNotAllowed(from.ip)
}

/** Returns the refusal of a key without a scope; null if the key has it. */
export const scopeRefusal = (key: AccountKey, needs: Capability, orNeeds: Capability = needs): Problem | null =>
  (key.scopes & (bitOf(needs) | bitOf(orNeeds))) !== 0 ? null : refusals.scopeMissing(needs)

/** Returns the refusal of a blocked or closed account. */
export const blockedRefusal = (account: Account) =>
  account.closed ? refusals.accountClosed() : refusals.accountBlocked(account.blockReason)
