import type { Changes } from '../db/changes.ts'
import type { Db } from '../db/sql.ts'
import { makeFairLimiter } from '../lib/fair-limiter.ts'
import { isFalseKey, keyDigest, keyHash } from '../lib/secret.ts'
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
}

/** The user behind a token of a voice client: uuids without prefix. */
export type Person = {
  readonly account: string
  readonly user: string
  readonly label: string | null
  readonly expiresAt: Date
}

export type Auth = {
  /** The account of a key: at once when it is known here, else a promise. Null for a key that is none. */
  account(key: string, from?: { readonly ip: string }): Account | null | Promise<Account | null>
  /** The account of an id, as it is at this moment; null when there is none. */
  accountBy(id: string): Promise<Account | null>
  operator(key: string, from?: { readonly ip: string }): boolean | Promise<boolean>
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
})

const limit = 10_000

/** Keys that are looked up at a time, by the address that sent them and in all: wrong keys cost no more connections. */
const lookups = { perKey: 2, total: 3, queue: { perKey: 200, total: 5_000 } }

const tooManyLookups = () =>
  new Problem(
    'unavailable',
    'Too many keys of this address wait to be checked: try again in a second',
    'too_many_keys',
    {
      'retry-after': '1',
    },
  )

/**
 * Keys that were seen are remembered by their SHA-256, never as text, and forgotten as soon as any account or key
 * changes (topic `accounts`), so that a revoked key is refused within a second on every process.
 */
export const makeAuth = (db: Db, changes: Changes): Auth => {
  const accounts = new Map<string, { account: Account; keyId: string }>()
  const operators = new Set<string>()
  const used = new Set<string>()
  const looks = makeFairLimiter({ ...lookups, full: tooManyLookups })
  let generation = 0

  changes.on('accounts', () => {
    generation++
    accounts.clear()
    operators.clear()
  })

  const look = async (key: string, digest: string): Promise<Account | null> => {
    const before = generation
    const row = await db.maybe<Row & { key_id: string }>`
      select k.id as key_id, a.id, a.name, a.on_trial, a.blocked, a.block_reason, a.requests_per_minute,
             a.max_api_requests, a.a2p_us
      from api_keys k join accounts a on a.id = k.account_id
      where k.hash = ${keyHash(key)} and k.revoked_at is null`
    if (!row) return null
    const account = accountOf(row)
    // What was read before a change must not be remembered after it.
    if (before === generation) {
      // The oldest go first: Maps are walked in the order in which they were filled.
      if (accounts.size >= limit) for (const oldest of accounts.keys().take(limit / 10)) accounts.delete(oldest)
      accounts.set(digest, { account, keyId: row.key_id })
    }
    used.add(row.key_id)
    return account
  }

  return {
    account: (key, from) => {
      const digest = keyDigest(key)
      const known = accounts.get(digest)
      if (known) {
        used.add(known.keyId)
        return known.account
      }
      return isFalseKey(key) ? null : looks.run(from?.ip ?? '', () => look(key, digest))
    },
    accountBy: async (id) => {
      const row = await db.maybe<Row>`
        select id, name, on_trial, blocked, block_reason, requests_per_minute, max_api_requests, a2p_us
        from accounts where id = ${id}`
      return row && accountOf(row)
    },
    operator: (key, from) => {
      const digest = keyDigest(key)
      if (operators.has(digest)) return true
      if (isFalseKey(key)) return false
      const before = generation
      const find = () => db.maybe`select 1 from operator_keys where hash = ${keyHash(key)} and revoked_at is null`
      return looks.run(from?.ip ?? '', find).then((row) => {
        if (row && before === generation) operators.add(digest)
        return row !== null
      })
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
export const wrongOperatorKey = () =>
  new Problem('unauthorized', 'The header X-Operator-Key is missing or holds no valid operator key')
export const wrongToken = () =>
  new Problem(
    'unauthorized',
    'The header Authorization must be Bearer and a token of POST /open/sdk/access-token that has not expired',
    'token_invalid',
  )
export const blocked = (account: Account) =>
  new Problem(
    'forbidden',
    `The account is blocked${account.blockReason ? `: ${account.blockReason}` : ''}`,
    'account_blocked',
  )
