import type { FastifyRequest } from 'fastify'
import { keyRefusal } from './auth.ts'
import { type AuthThrottle, lookUp } from './auth-throttle.ts'
import { type Contract, needsOperator } from './endpoint.ts'
import { proofMs } from './limits.ts'
import type { Problem } from './problem.ts'
import { refusals } from './refusals.ts'
import type { Session, SessionAccount, Sessions } from './session.ts'
import {
  crossSiteRefusal,
  type OwnOriginDeps,
  sessionTokenOf,
  signInRefusal,
  transportRefusal,
} from './session-cookie.ts'

export type SessionAuthDeps = OwnOriginDeps & {
  readonly sessions: Sessions
  readonly authThrottle: AuthThrottle
}

/**
 * Returns the token of a request that uses a session; null for one with a key, and for one with neither.
 * @param header of the key @throws Problem 400 for both
 */
export const sessionTokenUnlessKey = (request: FastifyRequest, header: string): string | null => {
  const token = sessionTokenOf(request.raw)
  if (token === null) return null
  if (request.headers[header.toLowerCase()] === undefined) return token
  throw refusals.twoCredentials(header)
}

/** Returns the session of a request. @throws Problem 401, 403, 429 */
export const findSession = async (parts: SessionAuthDeps, request: FastifyRequest, token: string): Promise<Session> => {
  const refusal = transportRefusal(parts, request.raw) ?? crossSiteRefusal(parts, request.raw)
  if (refusal) throw refusal
  const { sessions, authThrottle } = parts
  const { tokens } = sessions
  const session =
    tokens.cached(token) ?? (await lookUp(authThrottle, request.ip, token, tokens, refusals.sessionExpired))
  request.session = session
  return session
}

/** Checks that the password or key was given within 15 minutes. @throws Problem 403 */
export const checkProof = async (
  { sessions }: Pick<SessionAuthDeps, 'sessions'>,
  { id, provedAt }: Session,
): Promise<void> => {
  if (Date.now() - provedAt < proofMs) return
  // Another process may have accepted a proof a moment ago.
  const fresh = await sessions.reload(id)
  if (!fresh || Date.now() - fresh.provedAt >= proofMs) throw refusals.reauthenticationRequired()
}

/** Returns the account that a session's request acts for. @throws Problem 400, 401, 403 */
export const enterAccount = async (
  parts: SessionAuthDeps,
  request: FastifyRequest,
  token: string,
): Promise<SessionAccount> => {
  const session = await findSession(parts, request, token)
  const printed = request.headers['x-account']
  const entered = await parts.sessions.accountOf(session, Array.isArray(printed) ? printed[0] : printed)
  const refusal = keyRefusal(entered.key, request)
  if (refusal) throw refusal
  request.sessionAccount = entered
  request.accountKey = entered.key
  return entered
}

/** Admits a session to an operator's contract. @throws Problem 401, 403 */
export const enterInstallationRights = async (
  parts: SessionAuthDeps,
  contract: Contract,
  request: FastifyRequest,
  token: string,
): Promise<void> => {
  const session = await findSession(parts, request, token)
  if (!session.operator) throw refusals.sessionNoOperator()
  if (needsOperator(contract) && session.operator.role !== 'operator') throw refusals.sessionObserver()
  if (contract.proof) await checkProof(parts, session)
  request.operator = session.operator
}

/** Returns the refusal of a session whose key expired, or may not be used from this address; null for any other. */
export const sessionKeyRefusal = ({ kind, accounts }: Session, from: { readonly ip: string }): Problem | null => {
  const [only] = accounts
  return kind === 'account-key' && only ? keyRefusal(only.key, from) : null
}

/** Admits a request with a session of any kind. @throws Problem 401, 403 */
export const requireSession = async (
  parts: SessionAuthDeps,
  contract: Contract,
  request: FastifyRequest,
): Promise<void> => {
  const token = sessionTokenOf(request.raw)
  if (token === null) throw refusals.missingSession()
  const session = await findSession(parts, request, token)
  const refusal = sessionKeyRefusal(session, request)
  if (refusal) throw refusal
  if (contract.proof) await checkProof(parts, session)
}

/** Returns the refusal of a request that would open a session; null for one that may. */
export const openingRefusal = (parts: OwnOriginDeps, request: FastifyRequest): Problem | null =>
  transportRefusal(parts, request.raw) ?? signInRefusal(parts, request.raw)
