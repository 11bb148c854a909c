import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Logger } from 'pino'
import { printSid } from '../lib/sid.ts'
import {
  type Account,
  type AccountKey,
  type Auth,
  blockedRefusal,
  keyRefusal,
  type OperatorKey,
  scopeRefusal,
  type VoiceUser,
} from './auth.ts'
import { type AuthThrottle, type KeyStore, lookUp } from './auth-throttle.ts'
import {
  checkProof,
  enterAccount,
  enterInstallationRights,
  openingRefusal,
  requireSession,
  type SessionAuthDeps,
  sessionTokenUnlessKey,
} from './authenticate-session.ts'
import type { Capability } from './capability.ts'
import { type Contract, isMetered, needsOperator } from './endpoint.ts'
import type { Problem } from './problem.ts'
import { isForwarded, isFromThisMachine } from './proxy-trust.ts'
import type { RateLimiter } from './rate-limiter.ts'
import { refusals } from './refusals.ts'

export type AuthDeps = SessionAuthDeps & {
  auth: Auth
  rateLimiter: RateLimiter
  authThrottle: AuthThrottle
  tokens: {
    /** Returns the user of a token; null if the token is foreign, damaged or expired. */
    bearer(token: string, issuer: string): Promise<VoiceUser | null>
  }
  readonly config: { readonly isSandboxExplicit: boolean }
  /** Accounts that use the compatible interface; absent: none. */
  readonly compatAccounts?: CompatAccounts | undefined
  /** Reports whether an account is a sandbox account. */
  readonly sandboxAccounts: { has(account: string): boolean }
  readonly log: Pick<Logger, 'warn'>
}

/** The accounts that made credentials for the compatible interface. It is off for all others. */
export type CompatAccounts = { isOn(account: string): boolean | Promise<boolean> }

export type AuthHook = (request: FastifyRequest, reply: FastifyReply, done: (error?: Error) => void) => void

/** Decides whether a request has sandbox effects. A sandbox that is on by default ignores requests through a proxy. */
const makeSandboxRule = ({ config, sandboxAccounts, log }: AuthDeps) => {
  let isWarned = false
  return (account: Account, request: FastifyRequest, isNeeded: boolean): Problem | null => {
    if (!sandboxAccounts.has(account.id)) return isNeeded ? refusals.notSandboxAccount() : null
    if (!config.isSandboxExplicit && isForwarded(request)) {
      if (!isWarned) log.warn('sandbox: a request came through a proxy; set TRUNKLINE_SANDBOX to true or false')
      isWarned = true
      return isNeeded ? refusals.sandboxBehindProxy() : null
    }
    request.isSandbox = true
    return null
  }
}

/** Admits an account: first its rate limit and quota (429, 402). Then 403 if it is blocked, if the key lacks the scope,
 *  or if the sandbox is required and not available to it. */
const admitAccount = (parts: AuthDeps, contract: Contract) => {
  const { rateLimiter } = parts
  const metered = isMetered(contract)
  const isSandboxNeeded = contract.url.startsWith('/sandbox/')
  const sandboxFault = makeSandboxRule(parts)
  return (
    account: Account,
    request: FastifyRequest,
    reply: FastifyReply,
    done: (error?: Error) => void,
    needs: Capability | null = null,
  ) => {
    const admit = () => {
      if (account.blocked) return done(blockedRefusal(account))
      const lacking = needs && request.accountKey && scopeRefusal(request.accountKey, needs, contract.orNeeds)
      if (lacking && needs) return done(request.session ? refusals.sessionLacks(needs) : lacking)
      const fault = sandboxFault(account, request, isSandboxNeeded)
      if (fault) return done(fault)
      request.account = account
      if (contract.proof && request.session) checkProof(parts, request.session).then(() => done(), done)
      else done()
    }
    const paced = (rate: string) => {
      reply.header('ratelimit', rate).header('ratelimit-policy', rateLimiter.policy(account))
      admit()
    }
    if (!metered) return admit()
    // A blocked account is rate-limited, but its quota is not checked: it is refused as blocked.
    const rate = rateLimiter.take(account.blocked ? { ...account, maxApiRequests: null } : account)
    if (typeof rate === 'string') paced(rate)
    else rate.then(paced, done)
  }
}

/** Passes the owner of a key to `take`: at once if this process has the key cached, else after a database query. Wrong
 *  keys are counted and throttled by address. */
const resolveKey = <T>(
  { authThrottle }: AuthDeps,
  request: FastifyRequest,
  key: string,
  keys: KeyStore<T>,
  wrong: () => Problem,
  take: (known: T) => void,
  done: (error: Error) => void,
) => {
  const known = keys.cached(key)
  if (known !== null) take(known)
  else lookUp(authThrottle, request.ip, key, keys, wrong).then(take, done)
}

/** Returns the token of a request's session, and reports a request that has a key too. */
const sessionToken = (
  request: FastifyRequest,
  header: string,
  done: (error: Error) => void,
): string | null | undefined => {
  try {
    return sessionTokenUnlessKey(request, header)
  } catch (error) {
    done(error instanceof Error ? error : new Error(String(error)))
    return undefined
  }
}

/** Returns the hook that requires the API key of an account or a session: else 400, 401, 429, 402 or 403. */
const requireAccountKey = (parts: AuthDeps, contract: Contract, needs: Capability): AuthHook => {
  const enter = admitAccount(parts, contract)
  return (request, reply, done) => {
    if (request.headers.cookie !== undefined) {
      const token = sessionToken(request, 'X-User-API-Key', done)
      if (token === undefined) return
      if (token !== null) {
        enterAccount(parts, request, token).then(({ account }) => enter(account, request, reply, done, needs), done)
        return
      }
    }
    const key = request.headers['x-user-api-key']
    if (typeof key !== 'string' || key === '') return done(refusals.missingKey())
    const known = (found: AccountKey) => {
      request.accountKey = found
      const refusal = keyRefusal(found, request)
      if (refusal) return done(refusal)
      enter(found.account, request, reply, done, needs)
    }
    resolveKey(parts, request, key, parts.auth.accounts, refusals.wrongKey, known, done)
  }
}

/** Returns the user and the password of HTTP Basic (RFC 7617); null for another or a malformed header. */
const basicCredentials = (header: string | undefined): { readonly user: string; readonly password: string } | null => {
  const encoded = /^Basic +([A-Za-z0-9+/_-]{1,2000}={0,2})$/i.exec(header ?? '')?.[1]
  if (encoded === undefined) return null
  const text = Buffer.from(encoded, 'base64').toString()
  const colon = text.indexOf(':')
  return colon < 1 || colon === text.length - 1 ? null : { user: text.slice(0, colon), password: text.slice(colon + 1) }
}

/**
 * Returns the hook that requires HTTP Basic: the SID of the account, or of the key, and a token or key of the account.
 * The account in the path must be the same one: else 401, whether or not there is such an account.
 */
const requireBasic = (parts: AuthDeps, contract: Contract, needs: Capability): AuthHook => {
  const enter = admitAccount(parts, contract)
  const isOn = (account: string) => parts.compatAccounts?.isOn(account) ?? false
  return (request, reply, done) => {
    const credentials = basicCredentials(request.headers.authorization)
    if (!credentials) return done(refusals.wrongBasic())
    const known = (found: AccountKey) => {
      const sid = printSid('AC', found.account.id)
      const inPath: unknown = Object(request.params).AccountSid
      const isNamed = credentials.user === sid || credentials.user === printSid('SK', found.id)
      if (!isNamed || (inPath !== undefined && inPath !== sid)) return done(refusals.wrongBasic())
      request.accountKey = found
      const refusal = keyRefusal(found, request)
      if (refusal) return done(refusal)
      // After the rate limit: of an account that does not use the interface, each request reads the database.
      const admit = (error?: Error) => {
        if (error) return done(error)
        const check = (on: boolean) => done(on ? undefined : refusals.wrongBasic())
        const on = isOn(found.account.id)
        if (typeof on === 'boolean') check(on)
        else on.then(check, done)
      }
      enter(found.account, request, reply, admit, needs)
    }
    resolveKey(parts, request, credentials.password, parts.auth.accounts, refusals.wrongBasic, known, done)
  }
}

/** Returns the hook that requires a token of a voice client: else 401. */
const requireUserToken = (parts: AuthDeps, contract: Contract): AuthHook => {
  const enter = admitAccount(parts, contract)
  const known = async (token: string): Promise<{ person: VoiceUser; account: Account } | null> => {
    const person = await parts.tokens.bearer(token, parts.publicUrl())
    const account = person && (await parts.auth.accountOf(person))
    return account && { person, account }
  }
  return (request, reply, done) => {
    const token = /^Bearer +([\w.~+/=-]{1,4000})$/i.exec(request.headers.authorization ?? '')?.[1]
    if (token === undefined) return done(refusals.wrongToken())
    known(token).then((found) => {
      if (!found) {
        // The signature is checked before the throttle: wrong tokens from one address never block a valid one.
        const refusal = parts.authThrottle.refusal(request.ip)
        if (!refusal) parts.authThrottle.failed(request.ip)
        return done(refusal ?? refusals.wrongToken())
      }
      request.person = found.person
      enter(found.account, request, reply, done)
    }, done)
  }
}

/** Requires HTTPS, except from this machine. */
const requireHttps: AuthHook = (request, _reply, done) => {
  if (isFromThisMachine(request.raw) || request.protocol === 'https') return done()
  done(refusals.httpsRequired())
}

/** Returns the hook that requires an operator key or a session with its rights: 401 without, 403 without the role. */
const requireOperatorKey = (parts: AuthDeps, contract: Contract): AuthHook => {
  const isRestricted = needsOperator(contract)
  return (request, _reply, done) => {
    if (request.headers.cookie !== undefined) {
      const token = sessionToken(request, 'X-Operator-Key', done)
      if (token === undefined) return
      if (token !== null) {
        enterInstallationRights(parts, contract, request, token).then(() => done(), done)
        return
      }
    }
    const key = request.headers['x-operator-key']
    if (typeof key !== 'string' || key === '') return done(refusals.wrongOperatorKey())
    const known = (operator: OperatorKey) => {
      // Known to the audit trail, also if it is refused.
      request.operator = operator
      done(isRestricted && operator.role !== 'operator' ? refusals.wrongRole() : undefined)
    }
    resolveKey(parts, request, key, parts.auth.operators, refusals.wrongOperatorKey, known, done)
  }
}

/** Returns the hooks that run before the body is read: 401, the account's rate limit, 403. */
export const authHooks = (parts: AuthDeps, contract: Contract): AuthHook[] => {
  const credentialHook = (): AuthHook | null => {
    switch (contract.auth) {
      case 'account':
        return contract.scheme === 'basic'
          ? requireBasic(parts, contract, contract.needs)
          : requireAccountKey(parts, contract, contract.needs)
      case 'voice':
        return requireUserToken(parts, contract)
      case 'operator':
        return requireOperatorKey(parts, contract)
      case 'session':
        return (request, _reply, done) => void requireSession(parts, contract, request).then(() => done(), done)
      case 'none':
        return contract.opensSession
          ? (request, _reply, done) => done(openingRefusal(parts, request) ?? undefined)
          : null
    }
  }
  const admit = credentialHook()
  return [...(admit ? [admit] : []), ...(contract.secure ? [requireHttps] : [])]
}
