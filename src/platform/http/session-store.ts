import type { InvalidationBus } from '../db/invalidation-bus.ts'
import type { Db } from '../db/sql.ts'
import { makeGenerationCache } from '../lib/generation-cache.ts'
import { parse } from '../lib/id.ts'
import { keyDigest, keyHash } from '../lib/secret.ts'
import { type Account, type AccountKey, type AuthRow, accountKeyOfRow, accountOfRow, type KeyLimits } from './auth.ts'
import { type AuthThrottle, lookUp, makeExistenceCheck } from './auth-throttle.ts'
import { type Capability, maskOf } from './capability.ts'
import { maxCachedKeys, maxCachedSessions, maxSessionAccounts } from './limits.ts'
import type { ProxyTrust } from './proxy-trust.ts'
import { refusals } from './refusals.ts'
import { type Role, roleCapabilities } from './role.ts'
import type { Session, SessionAccount, SessionKind, Sessions, SessionWatcher } from './session.ts'
import { sessionTokenOf, transportRefusal, upgradeOriginRefusal } from './session-cookie.ts'

type SessionRow = {
  id: string
  kind: SessionKind
  key_id: string | null
  seen_at: Date
  proved_at: Date
  expires_at: Date
  person_id: string | null
  email: string
  name: string
  operator: 'operator' | 'observer' | null
  operator_label: string | null
  operator_last_four: string
  operator_role: 'operator' | 'observer'
}

/** A cached session. `seenAt` is its last use in this process, in Unix milliseconds. */
type Entry = { readonly session: Session; seenAt: number }

const unlimited = { expires_at: null, allowed_addresses: null }

const noKeyLimits = { expiresAt: Number.POSITIVE_INFINITY, addresses: null }

type MemberRow = AuthRow & {
  user_id: string
  role: Role
  agents_see_log: boolean
  agents_see_all: boolean
  lacks_factor: boolean
}

/** Returns the capabilities of a member: those of the role, and what the account gives its agents. */
const capabilitiesOf = ({ role, agents_see_log, agents_see_all }: MemberRow): readonly Capability[] | null => {
  const own = roleCapabilities[role]
  // The log shows all conversations.
  return role === 'agent' && agents_see_log && agents_see_all && own ? [...own, 'read_only'] : own
}

const memberAccount = (row: MemberRow, person: string): SessionAccount => {
  const account = accountOfRow(row)
  const scopes = capabilitiesOf(row)
  const key: AccountKey = {
    id: person,
    account,
    limits: { scopes, ...unlimited },
    scopes: maskOf(scopes),
    ...noKeyLimits,
  }
  return { account, key, role: row.role, userId: row.user_id, isOperator: false, lacksFactor: row.lacks_factor }
}

/** Returns the rights of an operator who enters an account: all. */
const enteredAccount = (account: Account, id: string): SessionAccount => ({
  account,
  key: { id, account, limits: { scopes: null, ...unlimited }, scopes: -1, ...noKeyLimits },
  role: null,
  userId: null,
  isOperator: true,
  lacksFactor: false,
})

/** Returns the rights of a session as text, for comparison. */
const rightsOf = ({ operator, accounts }: Session): string =>
  JSON.stringify([
    operator?.role,
    accounts.map(({ account, key, role, lacksFactor }) => [account.id, account.blocked, key.scopes, role, lacksFactor]),
  ])

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

/**
 * Caches sessions by the SHA-256 of their token. Any change of a session, account, key or user clears the cache, so that
 * every process refuses a revoked session within half a second.
 */
export const makeSessions = (deps: SessionDeps): Sessions => {
  const { db, changes, authThrottle, idleSeconds, onError } = deps
  const entries = makeGenerationCache<Entry>(maxCachedSessions)
  const accounts = makeGenerationCache<Account>(maxCachedKeys)
  const used = new Set<string>()
  const watched = new Map<string, { session: Session; readonly watchers: Set<SessionWatcher> }>()

  const accountsOf = async (row: SessionRow): Promise<SessionAccount[] | null> => {
    if (row.kind === 'person') {
      const rows = await db.many<MemberRow>`
        select u.id as user_id, u.role, a.agents_see_log, a.agents_see_all, a.id, a.name, a.on_trial, a.blocked, a.block_reason, a.closed_at,
          a.requests_per_minute, a.max_api_requests, a.a2p_us, a.quotas,
          a.second_factor_required and not has_second_factor(u.person_id) as lacks_factor
        from users u join accounts a on a.id = u.account_id
        where u.person_id = ${row.person_id} and u.status = 'ACTIVE'
        order by u.created_at, u.id limit ${maxSessionAccounts}`
      return rows.map((one) => memberAccount(one, row.person_id ?? ''))
    }
    if (row.kind === 'operator-key') return row.operator_label === null ? null : []
    const key = await db.maybe<AuthRow & KeyLimits & { key_id: string }>`
      select k.id as key_id, k.scopes, k.expires_at, k.allowed_addresses, a.id, a.name, a.on_trial, a.blocked,
        a.block_reason, a.closed_at, a.requests_per_minute, a.max_api_requests, a.a2p_us, a.quotas
      from api_keys k join accounts a on a.id = k.account_id
      where k.id = ${row.key_id} and (k.revoked_at is null or k.revoked_at >= a.closed_at)`
    if (!key) return null
    const made = accountKeyOfRow(key)
    return [{ account: made.account, key: made, role: null, userId: null, isOperator: false, lacksFactor: false }]
  }

  const operatorOf = (row: SessionRow): Session['operator'] => {
    if (row.kind === 'operator-key')
      return {
        id: row.key_id ?? '',
        label: row.operator_label ?? '',
        lastFour: row.operator_last_four,
        role: row.operator_role,
      }
    return row.operator && { id: row.person_id ?? '', label: row.name, lastFour: '', role: row.operator }
  }

  const completed = async (row: SessionRow | null): Promise<Entry | null> => {
    const found = row && (await accountsOf(row))
    if (!row || !found) return null
    const session: Session = {
      id: row.id,
      kind: row.kind,
      person: row.person_id === null ? null : { id: row.person_id, email: row.email, name: row.name },
      operator: operatorOf(row),
      accounts: found,
      provedAt: row.proved_at.getTime(),
      expiresAt: row.expires_at.getTime(),
    }
    return { session, seenAt: Date.now() }
  }

  /** Reads a session by the hash of its token, or by its id. */
  const read = async (hash: Buffer | null, id: string | null): Promise<Entry | null> =>
    completed(
      await db.maybe<SessionRow>`
        select s.id, s.kind, s.key_id, s.seen_at, s.proved_at, s.expires_at, s.person_id, p.email, p.name, p.operator,
          o.label as operator_label, o.last_four as operator_last_four, o.role as operator_role
        from sessions s
        left join persons p on p.id = s.person_id
        left join operator_keys o on s.kind = 'operator-key' and o.id = s.key_id and o.revoked_at is null
        where (s.token_hash = ${hash}::bytea or s.id = ${id}::uuid) and s.revoked_at is null
          and s.expires_at > clock_timestamp()
          and s.seen_at > clock_timestamp() - make_interval(secs => ${idleSeconds})
          and p.suspended_at is null`,
    )

  const isCurrent = ({ session, seenAt }: Entry, now: number): boolean =>
    session.expiresAt > now && now - seenAt < idleSeconds * 1_000

  /** Ends a watched session, or reports its new rights. */
  const update = (id: string, fresh: Session | null) => {
    const found = watched.get(id)
    if (!found) return
    const isSame = fresh !== null && rightsOf(fresh) === rightsOf(found.session)
    if (fresh === null) watched.delete(id)
    else found.session = fresh
    if (isSame) return
    for (const watcher of found.watchers)
      if (fresh === null) watcher.onEnd()
      else watcher.onChange(fresh)
  }

  let isChecking = false
  let isStale = false
  const checkWatched = async (): Promise<void> => {
    isChecking = true
    try {
      while (isStale) {
        isStale = false
        for (const id of [...watched.keys()]) update(id, (await read(null, id))?.session ?? null)
      }
    } finally {
      isChecking = false
    }
  }
  const check = () => {
    entries.clear()
    accounts.clear()
    if (watched.size === 0) return
    isStale = true
    if (!isChecking) checkWatched().catch(onError)
  }
  for (const topic of ['sessions', 'accounts', 'users'] as const) changes.on(topic, check)

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
      const entry = await entries.load(keyDigest(token), () => read(keyHash(token), null))
      if (entry) used.add(entry.session.id)
      return entry?.session ?? null
    },
    exists: makeExistenceCheck(
      (hashes) => db.many<{ hash: Buffer }>`
        select token_hash as hash from sessions where token_hash = any(${hashes}::bytea[]) and revoked_at is null`,
    ),
  }

  const enter = async ({ operator }: Session, id: string): Promise<SessionAccount> => {
    const account =
      accounts.get(id) ??
      (await accounts.load(id, async () => {
        const row = await db.maybe<AuthRow>`
          select id, name, on_trial, blocked, block_reason, closed_at, requests_per_minute, max_api_requests, a2p_us,
            quotas
          from accounts where id = ${id}`
        return row && accountOfRow(row)
      }))
    if (!account || !operator) throw refusals.notOwnAccount()
    return enteredAccount(account, operator.id)
  }

  const admitted = (own: SessionAccount): SessionAccount => {
    if (own.lacksFactor) throw refusals.secondFactorMissing()
    return own
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
    reload: async (id) => (await read(null, id))?.session ?? null,
    watch: (session, watcher) => {
      const found = watched.get(session.id) ?? { session, watchers: new Set() }
      watched.set(session.id, found)
      found.watchers.add(watcher)
      return () => {
        found.watchers.delete(watcher)
        if (found.watchers.size === 0 && watched.get(session.id) === found) watched.delete(session.id)
      }
    },
    flush: async () => {
      const ids = [...used]
      used.clear()
      if (ids.length > 0) await db.run`update sessions set seen_at = clock_timestamp() where id = any(${ids}::uuid[])`
      const now = new Set(watched.keys())
      if (now.size === 0) return
      const rows = await db.many<{ id: string }>`
        select id from sessions
        where id = any(${[...now]}::uuid[]) and revoked_at is null and expires_at > clock_timestamp()
          and seen_at > clock_timestamp() - make_interval(secs => ${idleSeconds})`
      for (const { id } of rows) now.delete(id)
      for (const id of now) update(id, null)
    },
  }
}
