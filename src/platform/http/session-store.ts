import type { InvalidationBus } from '../db/invalidation-bus.ts'
import type { Db } from '../db/sql.ts'
import { makeGenerationCache } from '../lib/generation-cache.ts'
import { parse } from '../lib/id.ts'
import { keyDigest, keyHash } from '../lib/secret.ts'
import type { Account } from './auth.ts'
import { type AuthThrottle, lookUp, makeExistenceCheck } from './auth-throttle.ts'
import { maxCachedKeys, maxCachedSessions } from './limits.ts'
import type { ProxyTrust } from './proxy-trust.ts'
import { refusals } from './refusals.ts'
import type { Session, SessionAccount, Sessions } from './session.ts'
import { sessionTokenOf, transportRefusal, upgradeOriginRefusal } from './session-cookie.ts'
import { enteredAccount, readAccount, readSession } from './session-reader.ts'
import { makeSessionWatch } from './session-watch.ts'

/** A cached session. `seenAt` is its last use in this process, in Unix milliseconds. */
type Entry = { readonly session: Session; seenAt: number }

type SessionDeps = {
  readonly db: Db
  readonly changes: InvalidationBus
  readonly authThrottle: AuthThrottle
  readonly publicUrl: () => string
  readonly proxies: ProxyTrust
  /** Seconds without a request after which a session ends. */
  readonly idleSeconds: number
  readonly onError: (error: unknown) => void
}

/** @throws Problem if a member lacks the second factor that the account requires */
const admitted = (own: SessionAccount): SessionAccount => {
  if (own.lacksFactor) throw refusals.secondFactorMissing()
  return own
}

/**
 * Caches sessions by the SHA-256 of their token. Any change of a session, account, key or user clears the cache, so that
 * every process refuses a revoked session within half a second.
 */
export const makeSessions = (deps: SessionDeps): Sessions => {
  const { db, changes, authThrottle, idleSeconds, onError } = deps
  const entries = makeGenerationCache<Entry>(maxCachedSessions)
  const accounts = makeGenerationCache<Account>(maxCachedKeys)
  const used = new Set<string>()
  const reload = (id: string) => readSession(db, idleSeconds, { id })
  const watches = makeSessionWatch(reload, onError)

  const isCurrent = ({ session, seenAt }: Entry, now: number): boolean =>
    session.expiresAt > now && now - seenAt < idleSeconds * 1_000

  for (const topic of ['sessions', 'accounts', 'users'] as const)
    changes.on(topic, () => {
      entries.clear()
      accounts.clear()
      watches.check()
    })

  const readEntry = async (token: string): Promise<Entry | null> => {
    const session = await readSession(db, idleSeconds, { hash: keyHash(token) })
    return session && { session, seenAt: Date.now() }
  }

  const tokens: Sessions['tokens'] = {
    cached: (token) => {
      const entry = entries.get(keyDigest(token))
      const now = Date.now()
      if (!entry || !isCurrent(entry, now)) return null
      entry.seenAt = now
      used.add(entry.session.id)
      return entry.session
    },
    find: async (token) => {
      const entry = await entries.load(keyDigest(token), () => readEntry(token))
      if (entry) used.add(entry.session.id)
      return entry?.session ?? null
    },
    exists: makeExistenceCheck(
      (hashes) => db.many<{ hash: Buffer }>`
        select token_hash as hash from sessions where token_hash = any(${hashes}::bytea[]) and revoked_at is null`,
    ),
  }

  /** @throws Problem unless the session is of an operator, and the account exists */
  const enter = async ({ operator }: Session, id: string): Promise<SessionAccount> => {
    const account = accounts.get(id) ?? (await accounts.load(id, () => readAccount(db, id)))
    if (!account || !operator) throw refusals.notOwnAccount()
    return enteredAccount(account, operator.id)
  }

  return {
    tokens,
    ofUpgrade: async (request, address) => {
      const refusal = transportRefusal(deps, request) ?? upgradeOriginRefusal(deps, request)
      if (refusal) throw refusal
      const token = sessionTokenOf(request)
      if (token === null) throw refusals.missingSession()
      return tokens.cached(token) ?? (await lookUp(authThrottle, address, token, tokens, refusals.sessionExpired))
    },
    accountOf: (session, printed) => {
      const [only, ...others] = session.accounts
      if (printed === undefined || printed === '') {
        if (only && others.length === 0) return admitted(only)
        throw refusals.accountRequired()
      }
      const id = parse('ACC', printed)
      const own = session.accounts.find(({ account }) => account.id === id)
      if (own) return admitted(own)
      if (id === null || session.operator?.role !== 'operator') throw refusals.notOwnAccount()
      return enter(session, id)
    },
    reload,
    watch: watches.watch,
    flush: async () => {
      const ids = [...used]
      used.clear()
      if (ids.length > 0) await db.run`update sessions set seen_at = clock_timestamp() where id = any(${ids}::uuid[])`
      const ended = new Set(watches.ids())
      if (ended.size === 0) return
      const rows = await db.many<{ id: string }>`
        select id from sessions
        where id = any(${[...ended]}::uuid[]) and revoked_at is null and expires_at > clock_timestamp()
          and seen_at > clock_timestamp() - make_interval(secs => ${idleSeconds})`
      for (const { id } of rows) ended.delete(id)
      for (const id of ended) watches.end(id)
    },
  }
}
