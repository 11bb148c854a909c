import type { FastifyRequest } from 'fastify'
import type { Tx } from '../../../platform/db/sql.ts'
import { uuid } from '../../../platform/lib/id.ts'
import type { Services } from '../../../services.ts'
import { attemptPassword, candidatesOf } from '../candidates.ts'
import * as passkeys from '../passkeys/store.ts'
import { assertStrong, hashPassword } from '../password.ts'
import { refusals } from '../refusals.ts'
import { checkSecondFactor, type SecondFactor } from '../second-factor/check.ts'
import { endAccessAndVoice } from '../sessions/end-access.ts'
import type { SignInGate } from '../sign-in-gate.ts'
import * as persons from '../store.ts'
import { emailKeyOf, recordRefusal, visitorOf } from '../visit.ts'
import * as store from './store.ts'

/** The person who accepts a link: one who gave the right password, or a new one. */
export type Entrant = { readonly proves: boolean } & (
  | { readonly person: persons.PersonRow }
  | { readonly person: null; readonly email: string; readonly name: string; readonly passwordHash: string }
)

type EntrantInput = {
  readonly email: string
  readonly name: string
  readonly password: string
  readonly code?: string | undefined
  /** The visitor says that the password is that of a person who exists. */
  readonly existing?: boolean
  /** The link was mailed to the address, or an operator vouches for it. */
  readonly proves: boolean
}

/**
 * Decides who accepts a link: the person of the address whose password it is, or a new person.
 *
 * A link that was shown proves nothing. Its new person has the address unproved, so that an owner of the address loses
 * nothing, and the reply does not reveal whether the address has a person. A password that fits none is counted for the
 * address as a wrong one, also if it makes a new person: an account makes links at will, and would guess with them.
 *
 * A link that proves the address makes no second person next to one who has proved it.
 * @throws Problem 400 for a weak new password, 401 for a wrong present one
 */
export const entrantOf = async (
  services: Services,
  gate: SignInGate,
  request: FastifyRequest,
  { email, name, password, code, existing = false, proves }: EntrantInput,
): Promise<Entrant> => {
  const candidates = await candidatesOf(services.db, email)
  const proved = candidates.find(({ email_proved_at }) => email_proved_at !== null)
  const joining = proved ? [proved] : candidates
  const mustExist = existing || (proves && proved !== undefined)
  // Before the password is compared: a weak one is refused alike whether the address has a person.
  if (!mustExist) await assertStrong(password, { email, name })
  let person: persons.PersonRow | null = null
  let second: SecondFactor = 'passed'
  let isRefused = mustExist
  const look = async () => joining
  await attemptPassword(services, gate, request, { email, password, look }, async ([found], visitor) => {
    if (!found) return mustExist ? false : 'new'
    if (found.suspended_at === null) second = await checkSecondFactor(services, gate, visitor, found.id, code)
    isRefused = found.suspended_at !== null || second === 'wrong'
    if (!isRefused) person = found
    return !isRefused
  })
  if (person) return { person, proves }
  if (isRefused) {
    await recordRefusal(services, request, joining)
    // TypeScript does not see the assignment in the closure.
    if ((second as SecondFactor) === 'wrong') throw refusals.wrongCode()
    throw proves && proved ? refusals.wrongPasswordOfProved() : refusals.wrongPassword()
  }
  const turn = gate.turnOf(visitorOf(services, request, email, null))
  return { person: null, email, name, passwordHash: await hashPassword(password, turn), proves }
}

/**
 * Locks or creates the person, and proves the address if the link does. Another person may have had it until then: other
 * sessions end, and passkeys go unless the visitor keeps them.
 */
export const takePerson = async (
  tx: Tx,
  services: Pick<Services, 'changes'>,
  entrant: Entrant,
  removesPasskeys: boolean,
): Promise<persons.PersonRow> => {
  const before = entrant.person && (await persons.lock(tx, entrant.person.id))
  const person = before ?? (await create(tx, entrant))
  if (!entrant.proves || person.email_proved_at !== null) return person
  // Another person proved the address a moment ago.
  if (!(await persons.proveEmail(tx, person.id))) throw refusals.wrongPasswordOfProved()
  await store.deleteMailedOfOthers(tx, person.id)
  if (before) {
    if (removesPasskeys) await passkeys.removeAll(tx, person.id)
    await endAccessAndVoice(tx, services, person.id, null)
  }
  return (await persons.find(tx, person.id)) ?? person
}

const create = (tx: Tx, entrant: Entrant): Promise<persons.PersonRow> => {
  if (entrant.person) throw refusals.unknownInvitation()
  const { email, name, passwordHash } = entrant
  return persons.create(tx, { id: uuid(), email: email.trim(), emailKey: emailKeyOf(email), name, passwordHash })
}
