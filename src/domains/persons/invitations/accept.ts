import type { FastifyRequest } from 'fastify'
import type { Tx } from '../../../platform/db/sql.ts'
import { refuse } from '../../../platform/http/problem.ts'
import { print, uuid } from '../../../platform/lib/id.ts'
import { keyHash } from '../../../platform/lib/secret.ts'
import type { Services } from '../../../services.ts'
import { firstAccount } from '../../accounts/ops.ts'
import { makeOwner, publishMember } from '../../users/ops.ts'
import { assertStrong, hashPassword, verifyPassword } from '../password.ts'
import { refusals } from '../refusals.ts'
import { checkSecondFactor, type SecondFactor } from '../second-factor/check.ts'
import type { SignInGate } from '../sign-in-gate.ts'
import * as persons from '../store.ts'
import { emailKeyOf, endAccess, openSession, recordRefusal, visitorOf } from '../visit.ts'
import * as store from './store.ts'

/** A person who will accept: one who gave the right password, or a new one. */
type Candidate =
  | { readonly person: persons.PersonRow }
  | { readonly person: null; readonly email: string; readonly name: string; readonly passwordHash: string }

/**
 * Returns the person of an e-mail address, who must give the present password, or a new person. Otherwise an invitation
 * would let its maker take over a person of other accounts.
 * @throws Problem 400 for a weak new password, 401 for a wrong present one
 */
const candidateOf = async (
  services: Services,
  gate: SignInGate,
  request: FastifyRequest,
  {
    email,
    name,
    password,
    code,
  }: {
    readonly email: string
    readonly name: string
    readonly password: string
    readonly code: string | undefined
  },
): Promise<Candidate> => {
  const { db } = services
  const visitor = await visitorOf(services, request, email)
  const person = await persons.findByEmail(db, visitor.email)
  if (!person) {
    await assertStrong(password, { email, name })
    return { person: null, email, name, passwordHash: await hashPassword(password, gate.turnOf(visitor)) }
  }
  let second: SecondFactor = 'passed'
  const isRight = await gate.attempt(visitor, async (turn) => {
    const isVerified = await verifyPassword(password, person.password_hash, turn)
    if (!isVerified || person.suspended_at !== null) return false
    second = await checkSecondFactor(services, gate, visitor, person.id, code)
    return second === 'passed'
  })
  if (isRight) return { person }
  await recordRefusal(services, request, person)
  // TypeScript does not see the assignment in the closure.
  throw (second as SecondFactor) === 'wrong' ? refusals.wrongCode() : refusals.wrongPassword()
}

const ensurePerson = async (tx: Tx, candidate: Candidate): Promise<persons.PersonRow> => {
  if (candidate.person) return candidate.person
  const { email, name, passwordHash } = candidate
  const row = { id: uuid(), email: email.trim(), emailKey: emailKeyOf(email), name, passwordHash }
  // A person with the address was made a moment ago, and must give that password.
  return (await persons.create(tx, row)) ?? refuse(refusals.wrongPassword())
}

type Claim = {
  readonly token: string
  readonly name: string
  readonly email: string
  readonly password: string
  readonly code?: string | undefined
}

/** Makes the first person: operator of the installation, and owner of its first account. @returns a session's token */
export const claimWith = async (
  services: Services,
  gate: SignInGate,
  request: FastifyRequest,
  { token, name, email, password, code }: Claim,
): Promise<string> => {
  const { db, changes } = services
  if (await persons.isClaimed(db)) throw refusals.alreadyClaimed()
  const hash = keyHash(token)
  const invitation = await store.find(db, hash)
  if (invitation?.kind !== 'claim') {
    await recordRefusal(services, request, null)
    throw refusals.wrongClaimToken()
  }
  const candidate = await candidateOf(services, gate, request, { email, name, password, code })
  return await db.begin(async (tx) => {
    const person = await ensurePerson(tx, candidate)
    // One of several concurrent claims inserts this row, also if they have several links.
    if (!(await persons.markClaimed(tx, person.id))) throw refusals.alreadyClaimed()
    await store.use(tx, hash)
    await store.deleteUnused(tx, { user: null, person: person.id })
    await persons.setOperator(tx, person.id, 'operator')
    const account = await firstAccount(tx)
    if (account) await makeOwner(tx, account, person)
    await changes.invalidate(tx, 'users')
    const target = print('PRS', person.id)
    const after = { name: person.name, email: person.email, operator: 'operator', role: 'owner' }
    return await openSession(tx, services, request, { kind: 'person', person }, 'claimInstallation', { target, after })
  })
}

/** Returns an unused invitation. @throws Problem 404, 409 */
export const unusedInvitation = async (services: Pick<Services, 'db'>, hash: Buffer): Promise<store.InvitationRow> => {
  const found = await store.find(services.db, hash)
  if (!found || found.kind === 'claim') throw refusals.unknownInvitation()
  if (found.used_at) throw refusals.invitationUsed()
  return found
}

/** Returns the account, address and name of an invitation. @throws Problem 404 if its subject is gone */
export const subjectOf = async ({ db }: Pick<Services, 'db'>, invitation: store.InvitationRow) => {
  const { account_id: account, user_id: user, person_id, email } = invitation
  if (person_id) {
    const person = await persons.find(db, person_id)
    if (!person || person.suspended_at) throw refusals.unknownInvitation()
    return { account_name: 'Trunkline', email: person.email, name: person.name }
  }
  if (!account || !user) return { account_name: 'Trunkline', email: email ?? '', name: '' }
  const found = await store.subject(db, account, user)
  if (!found || found.person_id !== null || !['ACTIVE', 'PENDING_INVITE'].includes(found.status))
    throw refusals.unknownInvitation()
  return { account_name: found.account_name, email: found.email, name: found.name }
}

type Acceptance = { readonly name?: string; readonly password: string; readonly code?: string | undefined }

const setNewPassword = async (
  services: Services,
  gate: SignInGate,
  request: FastifyRequest,
  hash: Buffer,
  id: string,
  { password, code }: Acceptance,
): Promise<string> => {
  const { db } = services
  const person = (await persons.find(db, id)) ?? refuse(refusals.unknownInvitation())
  await assertStrong(password, person)
  const visitor = await visitorOf(services, request, person.email)
  // The link replaces the password, and not the second factor.
  if ((await checkSecondFactor(services, gate, visitor, id, code)) === 'wrong') {
    await recordRefusal(services, request, person)
    throw refusals.wrongCode()
  }
  const passwordHash = await hashPassword(password, gate.turnOf(visitor))
  return await db.begin(async (tx) => {
    await persons.lock(tx, id)
    if (!(await store.use(tx, hash))) throw refusals.invitationUsed()
    await persons.setPassword(tx, id, passwordHash)
    const { ended } = await endAccess(tx, services, id, null)
    const entry = { target: print('PRS', id), after: { ended } }
    return await openSession(tx, services, request, { kind: 'person', person }, 'acceptInvitation', entry)
  })
}

/** Joins the invited person to the account or the installation, or sets a new password. @returns a session's token */
export const acceptWith = async (
  services: Services,
  gate: SignInGate,
  request: FastifyRequest,
  hash: Buffer,
  { name, password, code }: Acceptance,
): Promise<string> => {
  const { db, changes } = services
  const invitation = await unusedInvitation(services, hash)
  const subject = await subjectOf(services, invitation)
  if (invitation.person_id)
    return await setNewPassword(services, gate, request, hash, invitation.person_id, { password, code })
  const fullName = name ?? (subject.name || subject.email)
  const candidate = await candidateOf(services, gate, request, { email: subject.email, name: fullName, password, code })
  return await db.begin(async (tx) => {
    if (candidate.person) await persons.lock(tx, candidate.person.id)
    if (!(await store.use(tx, hash))) throw refusals.invitationUsed()
    const person = await ensurePerson(tx, candidate)
    // An administrator of one account may hold a password link: it must not open what the person gains now.
    await store.deleteUnused(tx, { user: null, person: person.id })
    const { account_id: account, user_id: user, operator } = invitation
    if (account && user)
      await publishMember(tx, 'member.joined', account, await store.joinUser(tx, account, user, person.id))
    if (operator && person.operator !== 'operator') await persons.setOperator(tx, person.id, operator)
    if (operator === 'operator') await persons.markClaimed(tx, person.id)
    await changes.invalidate(tx, 'users')
    const target = user ? print('USR', user) : print('PRS', person.id)
    const after = { name: person.name, email: person.email }
    return await openSession(tx, services, request, { kind: 'person', person }, 'acceptInvitation', { target, after })
  })
}
