import type { Changes } from '../db/changes.ts'
import type { Db } from '../db/sql.ts'
import { type AddressList, makeAddressList } from '../lib/address-list.ts'
import { iso } from '../lib/clock.ts'
import type { QuotaValues } from '../lib/quotas.ts'
import { keyDigest, keyHash } from '../lib/secret.ts'
import type { Keys } from './auth-throttle.ts'
import { bitOf, type Capability, maskOf } from './capability.ts'
import { Problem } from './problem.ts'

/** The account behind a request, as far as every request needs it. */
export type Account = {
  readonly id: string
  readonly name: string
  readonly onTrial: boolean
  readonly blocked: boolean
  readonly blockReason: string | null
  readonly requestsPerMinute: number
  readonly maxApiRequests: number | null
  readonly a2pUs: boolean
  /** What an operator changed of its quotas. */
  readonly quotas: QuotaValues
}

/** The operator key behind a request. */
export type OperatorKey = {
  readonly id: string
  readonly label: string
  readonly lastFour: string
  readonly role: 'operator' | 'observer'
}

/** What an API key is limited to; null for no limit. */
export type KeyLimits = {
  readonly scopes: readonly Capability[] | null
  readonly expires_at: Date | null
  readonly allowed_addresses: readonly string[] | null
}

/** An API key, as every request needs it. */
export type AccountKey = {
  readonly id: string
  readonly account: Account
  readonly limits: KeyLimits
  /** The mask of its capabilities. */
  readonly scopes: number
  /** Unix milliseconds of the machine's clock, which the sandbox does not move; Infinity for never. */
  readonly expiresAt: number
  readonly addresses: AddressList | null
}

/** The user behind a token of a voice client: uuids without prefix. */
export type Person = {
  readonly account: string
  readonly user: string
  readonly label: string | null
  readonly expiresAt: Date
  /** How often all tokens of the user had been revoked when this one was minted. */
  readonly epoch: number
}

export type Auth = {
  /** API keys, also those that have expired. */
  readonly accounts: Keys<AccountKey>
  readonly operators: Keys<OperatorKey>
  /** The account of a token's user, as it is at this moment; null when the token was revoked. */
  accountOf(person: Person): Promise<Account | null>
  /** Writes down which keys were used since the last call. */
  flush(): Promise<void>
}

type Row = {
  id: string
  name: string
  on_trial: boolean
  blocked: boolean
  block_reason: string | null
  requests_per_minute: number
  max_api_requests: number | null
  a2p_us: boolean
  quotas: QuotaValues
}

const accountOf = (row: Row): Account => ({
  id: row.id,
  name: row.name,
  onTrial: row.on_trial,
  blocked: row.blocked,
  blockReason: row.block_reason,
  requestsPerMinute: row.requests_per_minute,
  maxApiRequests: row.max_api_requests,
  a2pUs: row.a2p_us,
  quotas: row.quotas,
})

const keyOf = (row: Row & KeyLimits & { key_id: string }): AccountKey => {
  const { key_id: id, scopes, expires_at, allowed_addresses } = row
  return {
    id,
    account: accountOf(row),
    limits: { scopes, expires_at, allowed_addresses },
    scopes: maskOf(scopes),
    expiresAt: expires_at?.getTime() ?? Number.POSITIVE_INFINITY,
    addresses: allowed_addresses && makeAddressList(allowed_addresses),
  }
}

const limit = 10_000

/**
 * Keys that were seen are remembered by their SHA-256, never as text, and forgotten as soon as any account or key
 * changes (topic `accounts`), so that a revoked key is refused within a second on every process.
 */
export const makeAuth = (db: Db, changes: Changes): Auth => {
  const accounts = new Map<string, AccountKey>()
  const operators = new Map<string, OperatorKey>()
  const used = new Set<string>()
  let generation = 0

  changes.on('accounts', () => {
    generation++
    accounts.clear()
    operators.clear()
  })

  const find = async (key: string): Promise<AccountKey | null> => {
    const before = generation
    const row = await db.maybe<Row & KeyLimits & { key_id: string }>`
      select k.id as key_id, k.scopes, k.expires_at, k.allowed_addresses, a.id, a.name, a.on_trial, a.blocked,
             a.block_reason, a.requests_per_minute, a.max_api_requests, a.a2p_us, a.quotas
      from api_keys k join accounts a on a.id = k.account_id
      where k.hash = ${keyHash(key)} and k.revoked_at is null`
    if (!row) return null
    const found = keyOf(row)
    // What was read before a change must not be remembered after it.
    if (before === generation) {
      // The oldest go first: Maps are walked in the order in which they were filled.
      if (accounts.size >= limit) for (const oldest of accounts.keys().take(limit / 10)) accounts.delete(oldest)
      accounts.set(keyDigest(key), found)
    }
    used.add(found.id)
    return found
  }

  return {
    accounts: {
      known: (key) => {
        const known = accounts.get(keyDigest(key))
        if (!known) return null
        used.add(known.id)
        return known
      },
      find,
    },
    accountOf: async ({ account, user, expiresAt, epoch }) => {
      const row = await db.maybe<Row>`
        select id, name, on_trial, blocked, block_reason, requests_per_minute, max_api_requests, a2p_us, quotas
        from accounts a
        where id = ${account}
          and not exists (
            select 1 from revoked_tokens r
            where r.account_id = a.id and r.user_id = ${user} and r.expires_at = ${expiresAt}::timestamptz)
          and not exists (
            select 1 from token_epochs e where e.account_id = a.id and e.user_id = ${user} and e.epoch <> ${epoch})`
      return row && accountOf(row)
    },
    operators: {
      known: (key) => operators.get(keyDigest(key)) ?? null,
      find: async (key) => {
        const before = generation
        const found = await db.maybe<OperatorKey>`
          select id, label, last_four as "lastFour", role from operator_keys
          where hash = ${keyHash(key)} and revoked_at is null`
        if (found && before === generation) {
          if (operators.size >= limit) operators.clear()
          operators.set(keyDigest(key), found)
        }
        return found
      },
    },
    flush: async () => {
      if (used.size === 0) return
      const ids = [...used]
      used.clear()
      await db.run`update api_keys set last_used_at = app_now() where id = any(${ids}::uuid[])`
    },
  }
}

export const missingKey = () =>
  new Problem('unauthorized', 'The header X-User-API-Key is missing: send the API key of your account in it')
export const wrongKey = () => new Problem('unauthorized', 'The API key is not valid, or was revoked')
/** Why a right key must not be used for this, from there, now; null when it may.
 *  @param from asked for its address only where the key has a list */
export const keyRefusal = (key: AccountKey, from: { readonly ip: string }): Problem | null => {
  if (key.expiresAt <= Date.now())
    return new Problem(
      'unauthorized',
      `The API key expired at ${iso(key.expiresAt)}: use another one, or make one with POST /open/keys`,
      'key_expired',
    )
  if (key.addresses === null || key.addresses.contains(from.ip)) return null
  return new Problem(
    'forbidden',
    `The API key may not be used from the address ${from.ip}: use it from its allowed_addresses, or another key here`,
    'address_not_allowed',
  )
}

/** Why a right key may not do this; null when it may. */
export const scopeRefusal = (key: AccountKey, needs: Capability): Problem | null =>
  (key.scopes & bitOf(needs)) !== 0
    ? null
    : new Problem(
        'forbidden',
        `The API key lacks the scope ${needs}: use a key that has it, or have one made with POST /open/keys or by the operator`,
        'scope_missing',
      )
export const wrongOperatorKey = () =>
  new Problem('unauthorized', 'The header X-Operator-Key is missing or holds no valid operator key')
export const wrongRole = () =>
  new Problem(
    'forbidden',
    'This operator key has the role observer, and this request needs the role operator: use a key with that role',
    'role',
  )
export const wrongToken = () =>
  new Problem(
    'unauthorized',
    'The header Authorization must be Bearer and a token of POST /open/sdk/access-token that has neither expired nor been revoked',
    'token_invalid',
  )
export const blocked = (account: Account) =>
  new Problem(
    'forbidden',
    `The account is blocked${account.blockReason ? `: ${account.blockReason}` : ''}`,
    'account_blocked',
  )
