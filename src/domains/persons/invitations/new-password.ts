import type { FastifyRequest } from 'fastify'
import { refuse } from '../../../platform/http/problem.ts'
import { print } from '../../../platform/lib/id.ts'
import type { Services } from '../../../services.ts'
import { noticeChange } from '../notices.ts'
import * as passkeys from '../passkeys/store.ts'
import { assertStrong, hashPassword } from '../password.ts'
import { refusals } from '../refusals.ts'
import { checkSecondFactor } from '../second-factor/check.ts'
import { endAccessAndVoice } from '../sessions/end-access.ts'
import type { SignInGate } from '../sign-in-gate.ts'
import * as persons from '../store.ts'
import { openSession, recordRefusal, visitorOf } from '../visit.ts'
import * as store from './store.ts'

type NewPassword = {
  readonly password: string
  readonly code: string | undefined
  readonly remove_passkeys: boolean
}

/**
 * Sets the password of a password link. Everything that the person's browsers hold ends, and passkeys unless the visitor
 * keeps them. The second factor stays, and is asked for.
 *
 * A mailed link proves the address. One that an administrator of an account was shown ends the proof: the administrator
 * may have used it.
 * @returns a session's token
 */
export const setNewPassword = async (
  services: Services,
  gate: SignInGate,
  request: FastifyRequest,
  hash: Buffer,
  { person_id, account_id, delivery }: store.InvitationRow,
  { password, code, remove_passkeys }: NewPassword,
): Promise<string> => {
  const { db } = services
  const found = (person_id && (await persons.find(db, person_id))) || refuse(refusals.unknownInvitation())
  await assertStrong(password, found)
  const visitor = visitorOf(services, request, found.email, found)
  if ((await checkSecondFactor(services, gate, visitor, found.id, code)) === 'wrong') {
    await recordRefusal(services, request, found)
    throw refusals.wrongCode()
  }
  const passwordHash = await hashPassword(password, gate.turnOf(visitor))
  return await db.begin(async (tx) => {
    await persons.lock(tx, found.id)
    if (!(await store.use(tx, hash))) throw refusals.invitationUsed()
    if (delivery === 'mail') {
      if (!(await persons.proveEmail(tx, found.id))) throw refusals.unknownInvitation()
      await store.deleteMailedOfOthers(tx, found.id)
    } else if (account_id) await persons.unproveEmail(tx, found.id)
    await store.deleteUnused(tx, { user: null, person: found.id })
    await persons.setPassword(tx, found.id, passwordHash)
    const removed = remove_passkeys ? await passkeys.removeAll(tx, found.id) : 0
    const ended = await endAccessAndVoice(tx, services, found.id, null)
    await noticeChange(tx, services, request, found.id, delivery === 'mail' ? 'password_reset' : 'password_changed')
    const person = (await persons.find(tx, found.id)) ?? refuse(refusals.unknownInvitation())
    const entry = { target: print('PRS', found.id), after: { ended, passkeys_removed: removed } }
    return await openSession(tx, services, request, { kind: 'person', person }, 'acceptInvitation', entry)
  })
}
