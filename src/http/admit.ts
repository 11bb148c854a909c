import type { FastifyReply, FastifyRequest } from 'fastify'
import {
  type Account,
  type Auth,
  blocked,
  missingKey,
  type Person,
  wrongKey,
  wrongOperatorKey,
  wrongToken,
} from './auth.ts'
import { type Contract, isMetered } from './endpoint.ts'
import type { Meter } from './limit.ts'
import { Problem } from './problem.ts'

export type AdmitParts = {
  auth: Auth
  meter: Meter
  tokens: {
    /** Who a token was given to; null for one that is none of ours, spoilt or expired. */
    bearer(token: string, issuer: string): Promise<Person | null>
  }
  publicUrl(): string
}

type Admit = (request: FastifyRequest, reply: FastifyReply, done: (error?: Error) => void) => void

/** Lets an account in: its pace (429, 402), then 403 when it is blocked. */
const entry = ({ meter }: AdmitParts, contract: Contract) => {
  const metered = isMetered(contract)
  return (account: Account, request: FastifyRequest, reply: FastifyReply, done: (error?: Error) => void) => {
    const admit = () => {
      if (account.blocked) return done(blocked(account))
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

/** Admits a request with an account's key, or 401. */
const admitAccount = (parts: AdmitParts, contract: Contract): Admit => {
  const enter = entry(parts, contract)
  return (request, reply, done) => {
    const key = request.headers['x-user-api-key']
    if (typeof key !== 'string' || key === '') return done(missingKey())
    const known = (account: Account | null) => (account ? enter(account, request, reply, done) : done(wrongKey()))
    const account = parts.auth.account(key, request)
    if (account instanceof Promise) account.then(known, done)
    else known(account)
  }
}

/** Admits a request with a token of a voice client, or 401. */
const admitPerson = (parts: AdmitParts, contract: Contract): Admit => {
  const enter = entry(parts, contract)
  const known = async (token: string): Promise<{ person: Person; account: Account } | null> => {
    const person = await parts.tokens.bearer(token, parts.publicUrl())
    const account = person && (await parts.auth.accountBy(person.account))
    return account && { person, account }
  }
  return (request, reply, done) => {
    const token = /^Bearer +([\w.~+/=-]{1,4000})$/i.exec(request.headers.authorization ?? '')?.[1]
    if (token === undefined) return done(wrongToken())
    known(token).then((found) => {
      if (!found) return done(wrongToken())
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

const admitOperator =
  ({ auth }: AdmitParts): Admit =>
  (request, _reply, done) => {
    const key = request.headers['x-operator-key']
    if (typeof key !== 'string' || key === '') return done(wrongOperatorKey())
    const known = (valid: boolean) => done(valid ? undefined : wrongOperatorKey())
    const valid = auth.operator(key, request)
    if (valid instanceof Promise) valid.then(known, done)
    else known(valid)
  }

/** What a request has to pass before its body is read: 401, the account's pace, 403. */
export const admissions = (parts: AdmitParts, contract: Contract): Admit[] => {
  const ways: Record<Contract['auth'], (() => Admit) | null> = {
    account: () => admitAccount(parts, contract),
    voice: () => admitPerson(parts, contract),
    operator: () => admitOperator(parts),
    none: null,
  }
  const way = ways[contract.auth]
  return [...(way ? [way()] : []), ...(contract.secure ? [admitSecure] : [])]
}
