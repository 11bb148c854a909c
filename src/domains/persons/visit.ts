import { randomBytes } from 'node:crypto'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Tx } from '../../platform/db/sql.ts'
import { type AuditActor, auditVisit } from '../../platform/http/audit.ts'
import type { AuditEntry } from '../../platform/http/audit-entry.ts'
import type { AccountKey, OperatorKey } from '../../platform/http/auth.ts'
import { assertMayMake } from '../../platform/http/credential-strength.ts'
import { ok } from '../../platform/http/endpoint.ts'
import { refuse } from '../../platform/http/problem.ts'
import type { Session } from '../../platform/http/session.ts'
import { setSessionCookie } from '../../platform/http/session-cookie.ts'
import { uuid } from '../../platform/lib/id.ts'
import { keyHash } from '../../platform/lib/secret.ts'
import { storable } from '../../platform/lib/storable.ts'
import type { Services } from '../../services.ts'
import { allowanceOf, rememberPerson } from './known-browser.ts'
import { maxSessions, maxUserAgentLength } from './limits.ts'
import { type BootDeps, presentBoot } from './present.ts'
import { refusals } from './refusals.ts'
import type { SessionOwner } from './sessions/store.ts'
import * as sessions from './sessions/store.ts'
import type { Visitor } from './sign-in-gate.ts'
import * as store from './store.ts'

// A visit: how a request opens a session, what acts of a session are recorded.

/** Returns the form in which e-mail addresses are compared. */
export const emailKeyOf = (email: string): string => email.trim().normalize('NFKC').toLowerCase()

const clientOf = ({ ip, raw }: FastifyRequest) => ({ address: ip, isGone: () => raw.socket.destroyed })

/** Returns who gives a password for a person, or for an e-mail address of which no person is known yet. */
export const visitorOf = (
  services: Pick<Services, 'seal'>,
  request: FastifyRequest,
  email: string,
  person: store.PersonRow | null,
): Visitor => ({
  ...clientOf(request),
  email: emailKeyOf(email),
  known: person && allowanceOf(services, request, person),
})

/** Returns a token of 32 random bytes for a cookie or link. */
export const makeToken = (): string => randomBytes(32).toString('base64url')

/** The person or key that opens a session. */
export type Opener =
  | { readonly kind: 'person'; readonly person: store.PersonRow }
  | { readonly kind: 'account-key'; readonly key: AccountKey; readonly label: string; readonly lastFour: string }
  | { readonly kind: 'operator-key'; readonly operator: OperatorKey }

const actorOf = (opener: Opener): AuditActor => {
  switch (opener.kind) {
    case 'person':
      return { kind: 'person', id: opener.person.id, label: opener.person.name, lastFour: null }
    case 'account-key':
      return { kind: 'api_key', id: opener.key.id, label: opener.label, lastFour: opener.lastFour }
    case 'operator-key':
      return { kind: 'operator', ...opener.operator }
  }
}

const ownerOf = (opener: Opener): SessionOwner => {
  if (opener.kind === 'person') return { person: opener.person.id, key: null }
  return { person: null, key: opener.kind === 'account-key' ? opener.key.id : opener.operator.id }
}

/** Opens a session and records the act. @returns the token of its cookie */
export const openSession = async (
  tx: Tx,
  { config }: Pick<Services, 'config'>,
  request: FastifyRequest,
  opener: Opener,
  action: string,
  entry: Omit<AuditEntry, 'account'> = {},
): Promise<string> => {
  assertMayMake(request, { kind: 'session' })
  const token = makeToken()
  const id = uuid()
  const owner = ownerOf(opener)
  const account = opener.kind === 'account-key' ? opener.key.account.id : null
  await sessions.add(tx, {
    ...owner,
    tokenHash: keyHash(token),
    id,
    kind: opener.kind,
    account,
    address: request.ip,
    userAgent: storable(request.headers['user-agent'] ?? '', maxUserAgentLength),
    days: config.sessionDays,
  })
  await sessions.revokeBeyond(tx, owner, maxSessions)
  const accounts = opener.kind === 'person' ? await store.accountsOf(tx, [opener.person.id]) : account ? [account] : []
  await auditVisit(tx, request, action, actorOf(opener), { ...entry, accounts, session: id })
  return token
}

type RefusedPerson = Pick<store.PersonRow, 'id' | 'email'>

/**
 * Records a refused sign-in, by the same statements for everyone. Measured: rows in 20 accounts take 0.6 ms of 36.
 * @param person those whom the address may mean; null if it is of no person
 */
export const recordRefusal = async (
  { db }: Pick<Services, 'db'>,
  request: FastifyRequest,
  person: RefusedPerson | readonly RefusedPerson[] | null,
  action = 'signInRefused',
): Promise<void> => {
  const people = [person ?? []].flat()
  await db.begin(async (tx) => {
    const accounts = await store.accountsOf(
      tx,
      people.map(({ id }) => id),
    )
    const actor: AuditActor = { kind: 'visitor', id: null, label: people[0]?.email ?? 'unknown', lastFour: null }
    await auditVisit(tx, request, action, actor, { accounts, session: null })
  })
}

/** Records an act of a session on itself or its person. */
export const recordVisit = (
  tx: Tx,
  request: FastifyRequest,
  session: Session,
  action: string,
  entry: Omit<AuditEntry, 'account'> = {},
): Promise<void> => {
  const { person, operator, accounts } = session
  const [only] = accounts
  const actor: AuditActor = person
    ? { kind: 'person', id: person.id, label: person.name, lastFour: null }
    : session.kind === 'operator-key' && operator
      ? { kind: 'operator', ...operator }
      : { kind: 'api_key', id: only?.key.id ?? null, label: 'session', lastFour: null }
  return auditVisit(tx, request, action, actor, {
    ...entry,
    accounts: accounts.map(({ account }) => account.id),
    session: session.id,
  })
}

/** Returns the owner of a session: its person or key. */
export const ownerOfSession = ({ person, operator, accounts, kind }: Session): SessionOwner => {
  if (person) return { person: person.id, key: null }
  return { person: null, key: (kind === 'operator-key' ? operator?.id : accounts[0]?.key.id) ?? null }
}

/** Returns who gives a password, code or key within a session, which has an allowance of its own. */
export const visitorOfSession = (request: FastifyRequest, { id, person }: Session): Visitor => ({
  ...clientOf(request),
  email: emailKeyOf(person?.email ?? ''),
  known: `session ${id}`,
})

/**
 * Ends what was opened before a change of how a person signs in: sessions with their sockets, and the marks of browsers.
 * @param except the id of the session that stays @returns the number of sessions, and the person as changed
 */
export const endAccess = async (
  tx: Tx,
  { changes }: Pick<Services, 'changes'>,
  id: string,
  except: string | null,
): Promise<{ ended: number; person: store.PersonRow }> => {
  const person = await store.nextBrowserEpoch(tx, id)
  const ended = await sessions.revokeAll(tx, { person: id, key: null }, except)
  await changes.invalidate(tx, 'sessions')
  return { ended, person }
}

/** Returns the boot reply of a session. */
export const bootOf = async (services: BootDeps & Pick<Services, 'db'>, session: Session) => {
  const person = session.person && (await store.find(services.db, session.person.id))
  return ok(presentBoot(session, person, services))
}

/** Answers a request that opened a session: sets its cookie, and the one by which the browser knows the person. */
export const enter = async (
  services: BootDeps & Pick<Services, 'db' | 'seal' | 'sessions'>,
  request: FastifyRequest,
  reply: FastifyReply,
  token: string,
) => {
  const session = (await services.sessions.tokens.find(token)) ?? refuse(refusals.wrongPassword())
  setSessionCookie(request, reply, token, services.config.sessionDays * 86_400)
  const person = session.person && (await store.find(services.db, session.person.id))
  if (person) rememberPerson(services, request, reply, person)
  return ok(presentBoot(session, person, services))
}
