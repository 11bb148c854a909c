import type { InvalidationBus } from '../db/invalidation-bus.ts'
import type { Db, Sql } from '../db/sql.ts'
import type { Account } from './auth.ts'
import { tokenLeaseMs } from './limits.ts'
import { refusals } from './refusals.ts'

/** Requests that this process may answer without a further database query. */
type Lease = { left: number; bucket: number; until: number; policy: string }

/** Counts the requests of every account, and enforces its rate limit and quota. */
export type RateLimiter = {
  /** Takes one request. Returns the ratelimit header at once if the lease has requests left, else a promise.
   *  @throws Problem 429 or 402 */
  take(account: Account): string | Promise<string>
  /**
   * Takes further requests for one that does the work of several: all, or none.
   * @param sql the transaction of the request, if it has one: what it takes returns when that rolls back
   * @throws Problem 429 or 402
   */
  takeMore(sql: Sql, account: Account, count: number): Promise<void>
  policy(account: Account): string
  /** Returns the number of leased requests that are not used yet. */
  unused(account: string): number
  /** Returns unused leased requests to the database. */
  flush(): Promise<void>
}

/**
 * Keeps a token bucket for each account in PostgreSQL, which all processes share. A process leases tokens in small lots
 * (the tokens of 0.1 s, at least one), so that the common request costs no query. Leased tokens count as calls; unused
 * ones are returned.
 */
export const makeRateLimiter = (
  db: Db,
  changes: InvalidationBus,
  now: () => number = () => performance.now(),
): RateLimiter => {
  const leases = new Map<string, Lease>()
  const pending = new Map<string, Promise<void>>()
  changes.on('accounts', () => void flush().catch(() => {})) // an error only leaves some tokens counted

  const policy = (account: Account) => `"requests";q=${account.requestsPerMinute};w=60`

  const header = (lease: Lease, account: Account) => {
    const remaining = lease.left + lease.bucket
    const wait = Math.ceil(((account.requestsPerMinute - remaining) * 60) / account.requestsPerMinute)
    return `"requests";r=${remaining};t=${Math.max(0, wait)}`
  }

  const refill = async (account: Account) => {
    const rate = account.requestsPerMinute
    const batch = Math.max(1, Math.floor(rate / 600))
    const before = leases.get(account.id)
    leases.delete(account.id)
    const back = before?.left ?? 0
    const row = await db.one<{ granted: number; tokens: number; calls: number }>`
      with bucket as (
        select m.account_id, m.api_requests - ${back}::bigint as calls,
          least(${rate}::float8, m.tokens + ${back}::float8
            + ${rate}::float8 / 60 * extract(epoch from clock_timestamp() - m.refilled_at)::float8) as tokens
        from rate_limit_usage m where m.account_id = ${account.id} for update
      ), grant_ as (
        select account_id, calls, tokens,
          greatest(0, least(floor(tokens), ${batch}::float8,
            coalesce(${account.maxApiRequests}::bigint - calls, ${batch}::bigint)))::bigint as granted
        from bucket
      )
      update rate_limit_usage m set tokens = g.tokens - g.granted, api_requests = g.calls + g.granted, refilled_at = clock_timestamp()
      from grant_ g where m.account_id = g.account_id
      returning g.granted, m.tokens, g.calls`
    if (row.granted === 0 && account.maxApiRequests !== null && row.calls >= account.maxApiRequests)
      throw refusals.apiCallsUsedUp(account.maxApiRequests)
    if (row.granted === 0) {
      const wait = Math.max(1, Math.ceil(((1 - row.tokens) * 60) / rate))
      throw refusals.tooManyRequests(rate, wait, policy(account))
    }
    leases.set(account.id, {
      left: row.granted,
      bucket: Math.floor(row.tokens),
      until: now() + tokenLeaseMs,
      policy: policy(account),
    })
  }

  /** Takes one request of the lease. Returns the ratelimit header, or null if the lease has none left. */
  const takeLeased = (account: Account): string | null => {
    const lease = leases.get(account.id)
    if (!lease || lease.left <= 0 || lease.until <= now()) return null
    lease.left--
    return header(lease, account)
  }

  const takeAfterRefill = async (account: Account): Promise<string> => {
    for (;;) {
      const leased = takeLeased(account)
      if (leased !== null) return leased
      const running = pending.get(account.id)
      if (running) {
        await running.catch(() => {}) // the request that started it handles the error; this one retries
        continue
      }
      const refilling = refill(account).finally(() => pending.delete(account.id))
      pending.set(account.id, refilling)
      await refilling
    }
  }

  const takeMore: RateLimiter['takeMore'] = async (sql, account, count) => {
    if (count === 0) return
    const rate = account.requestsPerMinute
    const row = await sql.one<{ granted: boolean; tokens: number; calls: number }>`
      with bucket as (
        select account_id, api_requests as calls,
          least(${rate}::float8, tokens
            + ${rate}::float8 / 60 * extract(epoch from clock_timestamp() - refilled_at)::float8) as tokens
        from rate_limit_usage where account_id = ${account.id} for update
      ), grant_ as (
        select account_id, calls, tokens, tokens >= ${count}::float8
            and calls + ${count}::bigint <= coalesce(${account.maxApiRequests}::bigint, calls + ${count}::bigint) as granted
        from bucket
      )
      update rate_limit_usage m set tokens = g.tokens - case when g.granted then ${count}::float8 else 0 end,
        api_requests = g.calls + case when g.granted then ${count}::bigint else 0 end, refilled_at = clock_timestamp()
      from grant_ g where m.account_id = g.account_id
      returning g.granted, m.tokens, g.calls`
    if (row.granted) return
    if (account.maxApiRequests !== null && row.calls + count > account.maxApiRequests)
      throw refusals.apiCallsUsedUp(account.maxApiRequests)
    const wait = Math.max(1, Math.ceil(((count - row.tokens) * 60) / rate))
    throw refusals.tooManyRequests(rate, wait, policy(account))
  }

  const flush = async () => {
    const idle = [...leases].filter(([, lease]) => lease.left > 0)
    leases.clear()
    if (idle.length === 0) return
    await db.run`
      update rate_limit_usage m set tokens = m.tokens + u.left_, api_requests = m.api_requests - u.left_
      from unnest(${idle.map(([id]) => id)}::uuid[], ${idle.map(([, lease]) => lease.left)}::bigint[]) as u (id, left_)
      where m.account_id = u.id`
  }

  return {
    take: (account) => takeLeased(account) ?? takeAfterRefill(account),
    takeMore,
    policy,
    unused: (account) => leases.get(account)?.left ?? 0,
    flush,
  }
}
