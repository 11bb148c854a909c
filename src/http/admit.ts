import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Logger } from 'pino'
import {
  type Account,
  type AccountKey,
  type Auth,
  blocked,
  keyRefusal,
  missingKey,
  type OperatorKey,
  type Person,
  scopeRefusal,
  wrongKey,
  wrongOperatorKey,
  wrongRole,
  wrongToken,
} from './auth.ts'
import { type AuthThrottle, type Keys, lookUp } from './auth-throttle.ts'
import type { Capability } from './capability.ts'
import { type Contract, isMetered, needsOperator } from './endpoint.ts'
import type { Meter } from './limit.ts'
import { Problem } from './problem.ts'

export type AdmitParts = {
  auth: Auth
  meter: Meter
  throttle: AuthThrottle
  tokens: {
    /** Who a token was given to; null for one that is none of ours, spoilt or expired. */
    bearer(token: string, issuer: string): Promise<Person | null>
  }
  publicUrl(): string
  readonly config: { readonly isSandboxExplicit: boolean }
  /** Whether the sandbox has effects for an account. */
  readonly sandboxAccounts: { has(account: string): boolean }
  readonly log: Pick<Logger, 'warn'>
}

type Admit = (request: FastifyRequest, reply: FastifyReply, done: (error?: Error) => void) => void

const notSandbox = () =>
  new Problem(
    'forbidden',
    'The account is not a sandbox account: an operator can mark it with PATCH /operator/accounts/{uuid} {"sandbox": true}',
    'not_sandbox_account',
  )

const behindProxy = () =>
  new Problem(
    'forbidden',
    'The request came through a proxy, and the sandbox is on by default only: set TRUNKLINE_SANDBOX to true or false',
    'sandbox_behind_proxy',
  )

/** Headers that proxies add (RFC 7239, RFC 9110 7.6.3, and those in use before). */
const forwarding = ['forwarded', 'x-forwarded-for', 'x-forwarded-host', 'x-forwarded-proto', 'x-real-ip', 'via']

const isForwarded = ({ headers }: FastifyRequest): boolean => forwarding.some((name) => headers[name] !== undefined)

/** Decides what the sandbox is to a request of an account. A sandbox that nobody asked for ends where a proxy begins. */
const makeSandboxRule = ({ config, sandboxAccounts, log }: AdmitParts) => {
  let isWarned = false
  return (account: Account, request: FastifyRequest, isNeeded: boolean): Problem | null => {
    if (!sandboxAccounts.has(account.id)) return isNeeded ? notSandbox() : null
    if (!config.isSandboxExplicit && isForwarded(request)) {
      if (!isWarned) log.warn('sandbox: a request came through a proxy; set TRUNKLINE_SANDBOX to true or false')
      isWarned = true
      return isNeeded ? behindProxy() : null
    }
    request.isSandbox = true
    return null
  }
}

/** Lets an account in: its pace (429, 402), then 403 when it is blocked, when the key lacks the scope, or when the sandbox is
 *  not for it. */
const entry = (parts: AdmitParts, contract: Contract) => {
  const { meter } = parts
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
      if (account.blocked) return done(blocked(account))
      const lacking = needs && request.accountKey && scopeRefusal(request.accountKey, needs)
      if (lacking) return done(lacking)
      const fault = sandboxFault(account, request, isSandboxNeeded)
      if (fault) return done(fault)
      request.account = account
      done()
    }
    const paced = (rate: string) => {
      reply.header('ratelimit', rate).header('ratelimit-policy', meter.policy(account))
      admit()
    }
    if (!metered) return admit()
    // A blocked account is held to its pace, but its quota is not what it is refused for.
    const rate = meter.take(account.blocked ? { ...account, maxApiRequests: null } : account)
    if (typeof rate === 'string') paced(rate)
    else rate.then(paced, done)
  }
}

/** Hands over whose key it is: at once when this process knows it, else after the database was asked. Wrong keys are
 *  counted by address, and slowed down. */
const identify = <T>(
  { throttle }: AdmitParts,
  request: FastifyRequest,
  key: string,
  keys: Keys<T>,
  wrong: () => Problem,
  take: (known: T) => void,
  done: (error: Error) => void,
) => {
  const known = keys.known(key)
  if (known !== null) take(known)
  else lookUp(throttle, request.ip, key, keys, wrong).then(take, done)
}

/** Admits a request with an account's key: else 401, 429 or 403. */
const admitAccount = (parts: AdmitParts, contract: Contract, needs: Capability): Admit => {
  const enter = entry(parts, contract)
  return (request, reply, done) => {
    const key = request.headers['x-user-api-key']
    if (typeof key !== 'string' || key === '') return done(missingKey())
    const known = (found: AccountKey) => {
      const refusal = keyRefusal(found, request)
      if (refusal) return done(refusal)
      request.accountKey = found
      enter(found.account, request, reply, done, needs)
    }
    identify(parts, request, key, parts.auth.accounts, wrongKey, known, done)
  }
}

/** Admits a request with a token of a voice client, or 401. */
const admitPerson = (parts: AdmitParts, contract: Contract): Admit => {
  const enter = entry(parts, contract)
  const known = async (token: string): Promise<{ person: Person; account: Account } | null> => {
    const person = await parts.tokens.bearer(token, parts.publicUrl())
    const account = person && (await parts.auth.accountOf(person))
    return account && { person, account }
  }
  return (request, reply, done) => {
    const token = /^Bearer +([\w.~+/=-]{1,4000})$/i.exec(request.headers.authorization ?? '')?.[1]
    if (token === undefined) return done(wrongToken())
    known(token).then((found) => {
      if (!found) {
        // The signature was checked first: a right token is never refused for the wrong ones of its neighbours.
        const refusal = parts.throttle.refusal(request.ip, null)
        if (!refusal) parts.throttle.failed(request.ip, token)
        return done(refusal ?? wrongToken())
      }
      request.person = found.person
      enter(found.account, request, reply, done)
    }, done)
  }
}

const loopback = /^(?:127\.|::1$|::ffff:127\.)/

/** Admits what came over HTTPS, or from this machine itself. */
const admitSecure: Admit = (request, _reply, done) => {
  const own = request.headers['x-forwarded-for'] === undefined && loopback.test(request.raw.socket.remoteAddress ?? '')
  if (own || request.protocol === 'https') return done()
  done(new Problem('forbidden', 'Tokens travel over HTTPS only: call this endpoint over https', 'https_required'))
}

/** Admits a request with an operator key. Answers 401 without a valid key, 403 without the role. */
const admitOperator = (parts: AdmitParts, contract: Contract): Admit => {
  const isRestricted = needsOperator(contract)
  return (request, _reply, done) => {
    const key = request.headers['x-operator-key']
    if (typeof key !== 'string' || key === '') return done(wrongOperatorKey())
    const known = (operator: OperatorKey) => {
      if (isRestricted && operator.role !== 'operator') return done(wrongRole())
      request.operator = operator
      done()
    }
    identify(parts, request, key, parts.auth.operators, wrongOperatorKey, known, done)
  }
}

/** What a request has to pass before its body is read: 401, the account's pace, 403. */
export const admissions = (parts: AdmitParts, contract: Contract): Admit[] => {
  const way = (): Admit | null => {
    switch (contract.auth) {
      case 'account':
        return admitAccount(parts, contract, contract.needs)
      case 'voice':
        return admitPerson(parts, contract)
      case 'operator':
        return admitOperator(parts, contract)
      case 'none':
        return null
    }
  }
  const admit = way()
  return [...(admit ? [admit] : []), ...(contract.secure ? [admitSecure] : [])]
}
