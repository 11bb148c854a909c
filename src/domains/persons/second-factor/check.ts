import { keyHash, type Seal } from '../../../platform/lib/secret.ts'
import type { Services } from '../../../services.ts'
import { refusals } from '../refusals.ts'
import type { SignInGate, Visitor } from '../sign-in-gate.ts'
import * as store from './store.ts'
import { bareCode, stepOf } from './totp.ts'

/** Place that a sealed secret is bound to. `sealedColumnList` of the keys has the same. */
const placeOf = (person: string): string => `second factor ${person}`

export const sealSecret = (seal: Seal, person: string, secret: Buffer): Buffer =>
  seal.closeBytes(secret, placeOf(person))

/** Counts the code of an app, once. @param at Unix milliseconds */
export const acceptAppCode = async (
  { db, seal }: Pick<Services, 'db' | 'seal'>,
  row: store.TotpRow,
  code: string,
  at = Date.now(),
): Promise<boolean> => {
  const step = stepOf(seal.openBytes(row.sealed_secret, placeOf(row.person_id)), bareCode(code), at)
  return step !== null && (await store.countStep(db, row.person_id, step))
}

/** Outcome of the second factor at a sign-in. */
export type SecondFactor = 'passed' | 'wrong'

/**
 * Checks the second factor of a person who gave the right password. A code counts once, also if the sign-in then fails.
 * @throws Problem 403 `second_factor_required` if the person has one and there is no code, 429 `sign_in_pace`
 */
export const checkSecondFactor = async (
  services: Pick<Services, 'db' | 'seal'>,
  gate: SignInGate,
  { known }: Visitor,
  person: string,
  code: string | undefined,
): Promise<SecondFactor> => {
  const row = await store.find(services.db, person)
  if (!row?.activated_at) return 'passed'
  if (code === undefined || code.trim() === '') throw refusals.secondFactorRequired()
  const isRight = await gate.attemptCode(
    known ?? person,
    async () =>
      (await acceptAppCode(services, row, code)) ||
      (await store.useRecoveryCode(services.db, person, keyHash(bareCode(code)))),
  )
  return isRight ? 'passed' : 'wrong'
}
