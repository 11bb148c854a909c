import type { FastifyRequest } from 'fastify'
import { keyRefusal } from '../../../platform/http/auth.ts'
import { type KeyStore, lookUp } from '../../../platform/http/auth-throttle.ts'
import { ok, route, routeWithoutTransaction } from '../../../platform/http/endpoint.ts'
import { Problem, refuse } from '../../../platform/http/problem.ts'
import type { Session } from '../../../platform/http/session.ts'
import { clearSessionCookie } from '../../../platform/http/session-cookie.ts'
import { iso } from '../../../platform/lib/clock.ts'
import { makeFairLimiter } from '../../../platform/lib/fair-limiter.ts'
import { parse, print } from '../../../platform/lib/id.ts'
import { keyHash } from '../../../platform/lib/secret.ts'
import type { Services } from '../../../services.ts'
import { attemptPassword, candidatesOf, chosenOf } from '../candidates.ts'
import { claimWith } from '../invitations/accept.ts'
import { rememberPerson } from '../known-browser.ts'
import { maxListedSessions } from '../limits.ts'
import { noticeSignIn } from '../notices.ts'
import type { AssertionJson } from '../passkeys/passkey-credentials.ts'
import { acceptAssertion } from '../passkeys/verify.ts'
import { hashPassword, isOutdated, verifyPassword } from '../password.ts'
import { refusals } from '../refusals.ts'
import { checkSecondFactor, type SecondFactor } from '../second-factor/check.ts'
import type { SignInGate } from '../sign-in-gate.ts'
import * as persons from '../store.ts'
import {
  bootOf,
  endAccess,
  enter,
  type Opener,
  openSession,
  ownerOfSession,
  recordRefusal,
  recordVisit,
  visitorOf,
  visitorOfSession,
} from '../visit.ts'
import * as c from './contract.ts'
import * as store from './store.ts'

const openerId = (opener: Opener): string => {
  if (opener.kind === 'person') return opener.person.id
  return opener.kind === 'account-key' ? opener.key.id : opener.operator.id
}

/** Keys of either kind, which open sessions. */
const makeOpeners = ({ auth: { accounts, operators }, db }: Services): KeyStore<Opener> => ({
  cached: () => null,
  find: async (text) => {
    const key = accounts.cached(text) ?? (await accounts.find(text))
    if (key) {
      const { label } = await db.one<{ label: string }>`select label from api_keys where hash = ${keyHash(text)}`
      return { kind: 'account-key', key, label, lastFour: text.slice(-4) }
    }
    const operator = operators.cached(text) ?? (await operators.find(text))
    return operator && { kind: 'operator-key', operator }
  },
  exists: async (address, text) => (await accounts.exists(address, text)) || (await operators.exists(address, text)),
})

type SignInDeps = {
  readonly services: Services
  readonly gate: SignInGate
  readonly openers: KeyStore<Opener>
}

type PasswordFields = {
  readonly email: string
  readonly password: string
  readonly code?: string | undefined
  readonly account?: string | undefined
}

type ProofFields = { readonly password?: string; readonly key?: string; readonly passkey?: AssertionJson | undefined }

const openByPassword = async (
  { services, gate }: SignInDeps,
  request: FastifyRequest,
  { email, password, code, account }: PasswordFields,
): Promise<Opener> => {
  let candidates: persons.CandidateRow[] = []
  let person: persons.PersonRow | null = null
  let second: SecondFactor = 'passed'
  const look = async () => {
    candidates = await candidatesOf(services.db, email, account === undefined ? null : parse('ACC', account))
    return candidates
  }
  const isRight = await attemptPassword(services, gate, request, { email, password, look }, async (found, visitor) => {
    person = await chosenOf(
      services.db,
      found.filter(({ suspended_at }) => suspended_at === null),
    )
    if (!person) return false
    // A wrong code counts like a wrong password.
    second = await checkSecondFactor(services, gate, visitor, person.id, code)
    return second === 'passed'
  })
  // TypeScript does not see the assignment in the closure.
  const found = person as persons.PersonRow | null
  if (!isRight || !found) {
    await recordRefusal(services, request, candidates)
    throw (second as SecondFactor) === 'wrong' ? refusals.wrongCode() : refusals.wrongPassword()
  }
  if (found.password_hash && isOutdated(found.password_hash))
    await persons.setPassword(
      services.db,
      found.id,
      await hashPassword(password, gate.turnOf(visitorOf(services, request, email, found))),
    )
  return { kind: 'person', person: found }
}

const openByKey = async (
  { services, gate, openers }: SignInDeps,
  request: FastifyRequest,
  text: string,
): Promise<Opener> => {
  const found = await lookUp(services.authThrottle, request.ip, text, openers, refusals.wrongKey).catch(
    async (error) => {
      if (!(error instanceof Problem) || error.status !== 401) throw error
      gate.failed(request.ip)
      await recordRefusal(services, request, null)
      throw error
    },
  )
  const refusal = found.kind === 'account-key' ? keyRefusal(found.key, request) : null
  if (refusal) throw refusal
  return found
}

/** A passkey verified its user: it counts as password and second factor. */
const openByPasskey = async (
  { services, gate }: SignInDeps,
  request: FastifyRequest,
  response: AssertionJson,
): Promise<Opener> => {
  const passkey = await services.authThrottle.runInTurn(request.ip, () => acceptAssertion(services, response))
  const found = passkey && (await persons.find(services.db, passkey.person_id))
  if (found?.suspended_at !== null) {
    gate.failed(request.ip)
    await recordRefusal(services, request, found)
    throw refusals.refusedPasskey()
  }
  return { kind: 'person', person: found }
}

/** Whether a key is the one that opened the session. */
const isKeyOf = async (
  { services, openers }: SignInDeps,
  session: Session,
  request: FastifyRequest,
  text: string,
): Promise<boolean> => {
  const found = await services.authThrottle.runInTurn(request.ip, () => openers.find(text))
  if (!found || found.kind === 'person') return false
  const id = found.kind === 'account-key' ? found.key.id : found.operator.id
  return id === ownerOfSession(session).key
}

const isProof = async (
  deps: SignInDeps,
  request: FastifyRequest,
  session: Session,
  { password, key, passkey }: ProofFields,
): Promise<boolean> => {
  const { services, gate } = deps
  const { person } = session
  const visitor = visitorOfSession(request, session)
  if (person && passkey)
    return gate.attempt(visitor, async () => (await acceptAssertion(services, passkey))?.person_id === person.id)
  const secret = person ? password : key
  if (secret === undefined) throw refusals.proofFields(person ? 'password' : 'key')
  return gate.attempt(visitor, async (turn) => {
    if (!person) return isKeyOf(deps, session, request, secret)
    const row = await persons.find(services.db, person.id)
    return verifyPassword(secret, row?.password_hash ?? null, turn)
  })
}

/** Claim, sign-in, proof and sign-out. */
const signInRoutes = (services: Services, gate: SignInGate) => {
  const { db, changes } = services
  const deps = { services, gate, openers: makeOpeners(services) }
  // One claim at a time: the others then see that the installation is claimed, before they derive a hash.
  const claims = makeFairLimiter({ perKey: 1, total: 1 })

  return [
    route(c.showClaim, async () => ok({ claimed: await persons.isClaimed(db), smtp: services.mail.isConfigured })),

    routeWithoutTransaction(c.claimInstallation, ({ body, request, reply }) =>
      claims.run('claim', async () => enter(services, request, reply, await claimWith(services, gate, request, body))),
    ),

    routeWithoutTransaction(c.signIn, async ({ body, request, reply }) => {
      const { email, password, code, account, key, passkey } = body
      const opener = passkey
        ? await openByPasskey(deps, request, passkey)
        : key !== undefined
          ? await openByKey(deps, request, key)
          : email !== undefined && password !== undefined
            ? await openByPassword(deps, request, { email, password, code, account })
            : refuse(refusals.signInFields())
      gate.admit(openerId(opener))
      const token = await db.begin(async (tx) => {
        if (opener.kind === 'person') await noticeSignIn(tx, services, request, opener.person)
        return await openSession(tx, services, request, opener, 'signIn')
      })
      return await enter(services, request, reply, token)
    }),

    route(c.showSession, ({ session }) => bootOf(services, session)),

    route(c.signOut, async ({ session, request, reply, tx }) => {
      await store.revoke(tx, ownerOfSession(session), session.id)
      await recordVisit(tx, request, session, 'signOut')
      await changes.invalidate(tx, 'sessions')
      clearSessionCookie(request, reply)
      return ok({})
    }),

    routeWithoutTransaction(c.proveSession, async ({ session, body, request }) => {
      if (!(await isProof(deps, request, session, body))) {
        await recordRefusal(services, request, session.person, 'proofRefused')
        throw refusals.wrongProof()
      }
      return await db.begin(async (tx) => {
        const { proved_at } = await store.prove(tx, session.id)
        await recordVisit(tx, request, session, 'proveSession')
        await changes.invalidate(tx, 'sessions')
        return ok({ proved_at: iso(proved_at) })
      })
    }),
  ]
}

/** The open sessions of a person or key. */
const openSessionRoutes = (services: Services) => {
  const { db, config, changes } = services
  const idleSeconds = config.sessionIdleHours * 3_600
  return [
    route(c.listSessions, async ({ session }) => {
      const rows = await store.ofOwner(db, ownerOfSession(session), idleSeconds, maxListedSessions)
      return ok({
        sessions: rows.map(({ id, address, user_agent, created_at, seen_at }) => ({
          uuid: print('SES', id),
          current: id === session.id,
          address,
          user_agent,
          created_at: iso(created_at),
          seen_at: iso(seen_at),
        })),
      })
    }),

    route(c.endOtherSessions, async ({ session, request, reply, tx }) => {
      const endOthers = async ({ person }: Session): Promise<number> => {
        if (!person) return await store.revokeAll(tx, ownerOfSession(session), session.id)
        const { ended, person: changed } = await endAccess(tx, services, person.id, session.id)
        rememberPerson(services, request, reply, changed)
        return ended
      }
      const ended = await endOthers(session)
      await recordVisit(tx, request, session, 'endOtherSessions', { after: { ended } })
      await changes.invalidate(tx, 'sessions')
      return ok({ ended })
    }),

    route(c.endSession, async ({ session, params, request, tx }) => {
      const id = parse('SES', params.session_uuid)
      if (!id || !(await store.revoke(tx, ownerOfSession(session), id)))
        throw refusals.unknownSession(params.session_uuid)
      await recordVisit(tx, request, session, 'endSession', { target: print('SES', id) })
      await changes.invalidate(tx, 'sessions')
      return ok({})
    }),
  ]
}

export const sessionRoutes = (services: Services, gate: SignInGate) => [
  ...signInRoutes(services, gate),
  ...openSessionRoutes(services),
]
