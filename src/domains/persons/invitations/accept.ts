import type { FastifyRequest } from 'fastify'
import { refuse } from '../../../platform/http/problem.ts'
import { tidyName } from '../../../platform/lib/full-name.ts'
import { print } from '../../../platform/lib/id.ts'
import { keyHash } from '../../../platform/lib/secret.ts'
import type { Services } from '../../../services.ts'
import { firstAccount } from '../../accounts/ops.ts'
import { makeOwner, nameJoined, publishMember } from '../../users/ops.ts'
import { refusals } from '../refusals.ts'
import { endAccessAndVoice } from '../sessions/end-access.ts'
import type { SignInGate } from '../sign-in-gate.ts'
import * as persons from '../store.ts'
import { openSession, recordRefusal } from '../visit.ts'
import { entrantOf, takePerson } from './entrant.ts'
import { setNewPassword } from './new-password.ts'
import * as store from './store.ts'

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
  { token, ...claim }: Claim,
): Promise<string> => {
  const { db, changes } = services
  if (await persons.isClaimed(db)) throw refusals.alreadyClaimed()
  const hash = keyHash(token)
  const invitation = await store.find(db, hash)
  if (invitation?.kind !== 'claim') {
    await recordRefusal(services, request, null)
    throw refusals.wrongClaimToken()
  }
  const entrant = await entrantOf(services, gate, request, { ...claim, name: tidyName(claim.name), proves: true })
  return await db.begin(async (tx) => {
    const person = await takePerson(tx, services, entrant, true)
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
  if (!found || found.kind === 'claim' || found.kind === 'proof') throw refusals.unknownInvitation()
  if (found.used_at) throw refusals.invitationUsed()
  return found
}

/**
 * Returns the account, address and name of an invitation. A user whose person yielded the address to its owner can be
 * invited once more, by mail.
 * @throws Problem 404 if its subject is gone
 */
export const subjectOf = async ({ db }: Pick<Services, 'db'>, invitation: store.InvitationRow) => {
  const { account_id: account, user_id: user, person_id, email, delivery } = invitation
  if (person_id) {
    const person = await persons.find(db, person_id)
    if (!person || person.suspended_at) throw refusals.unknownInvitation()
    return { account_name: 'Trunkline', email: person.email, name: person.name, formerPerson: null }
  }
  if (!account || !user) return { account_name: 'Trunkline', email: email ?? '', name: '', formerPerson: null }
  const found = await store.subject(db, account, user)
  if (!found || !['ACTIVE', 'PENDING_INVITE'].includes(found.status)) throw refusals.unknownInvitation()
  const former = found.person_id
  if (former !== null && !(delivery === 'mail' && (await persons.hasYielded(db, former))))
    throw refusals.unknownInvitation()
  return { account_name: found.account_name, email: found.email, name: found.name, formerPerson: former }
}

type Acceptance = {
  readonly name?: string
  readonly password: string
  readonly code?: string | undefined
  readonly existing?: boolean
  readonly remove_passkeys?: boolean
}

/** Joins the invited person to the account or the installation, or sets a new password. @returns a session's token */
export const acceptWith = async (
  services: Services,
  gate: SignInGate,
  request: FastifyRequest,
  hash: Buffer,
  { name, password, code, existing = false, remove_passkeys = true }: Acceptance,
): Promise<string> => {
  const { db, changes } = services
  const invitation = await unusedInvitation(services, hash)
  const subject = await subjectOf(services, invitation)
  if (invitation.person_id)
    return await setNewPassword(services, gate, request, hash, invitation, { password, code, remove_passkeys })
  const { account_id: account, user_id: user, operator, delivery } = invitation
  const { email, formerPerson } = subject
  const entrant = await entrantOf(services, gate, request, {
    email,
    name: tidyName(name ?? '') || subject.name || email,
    password,
    code,
    existing,
    // An operator vouches for those who are to operate the installation.
    proves: delivery === 'mail' || operator !== null,
  })
  return await db.begin(async (tx) => {
    if (!(await store.use(tx, hash))) throw refusals.invitationUsed()
    const person = await takePerson(tx, services, entrant, remove_passkeys)
    // An administrator of one account may hold a password link: it must not open what the person gains now.
    await store.deleteUnused(tx, { user: null, person: person.id })
    if (account && user) {
      // The account invites the owner of the address in the place of the person who yielded it.
      if (formerPerson) await endAccessAndVoice(tx, services, formerPerson, null)
      const joined = await store.joinUser(tx, account, user, person.id, formerPerson)
      const member = joined ?? refuse(refusals.unknownInvitation())
      await publishMember(tx, 'member.joined', account, await nameJoined(tx, account, member, person.name))
    }
    if (operator && person.operator !== 'operator') await persons.setOperator(tx, person.id, operator)
    if (operator === 'operator') await persons.markClaimed(tx, person.id)
    await changes.invalidate(tx, 'users')
    const target = user ? print('USR', user) : print('PRS', person.id)
    const after = { name: person.name, email: person.email }
    return await openSession(tx, services, request, { kind: 'person', person }, 'acceptInvitation', { target, after })
  })
}
