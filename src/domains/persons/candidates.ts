import type { FastifyRequest } from 'fastify'
import type { Sql } from '../../platform/db/sql.ts'
import { print } from '../../platform/lib/id.ts'
import type { Services } from '../../services.ts'
import type { Turn } from './hash-queue.ts'
import { allowanceOf, isKnownBrowser } from './known-browser.ts'
import { maxCandidates, maxChoices } from './limits.ts'
import { verifyPassword } from './password.ts'
import { refusals } from './refusals.ts'
import type { SignInGate, Visitor } from './sign-in-gate.ts'
import * as store from './store.ts'
import { emailKeyOf, visitorOf } from './visit.ts'

// Several persons may have one e-mail address: see decision 0045. The password decides which of them is meant.

/** Returns the persons whom a password with an e-mail address may mean, at most five. @param account tried first */
export const candidatesOf = (sql: Sql, email: string, account: string | null = null): Promise<store.CandidateRow[]> =>
  store.candidates(sql, emailKeyOf(email), account, maxCandidates)

/**
 * Returns those whose password it is, suspended ones too. Without a candidate one hash is made, as for one person. The
 * time of a refusal therefore shows whether an address has several persons, and not whether it has one.
 */
const fitting = async (
  candidates: readonly store.CandidateRow[],
  password: string,
  turn: Turn,
): Promise<store.CandidateRow[]> => {
  const found: store.CandidateRow[] = []
  for (const candidate of candidates.length === 0 ? [null] : candidates) {
    const isRight = await verifyPassword(password, candidate?.password_hash ?? null, turn)
    if (!isRight || !candidate) continue
    found.push(candidate)
    // The person of the account that the request names.
    if (candidate.is_of_account) break
  }
  return found
}

type Attempt = {
  readonly email: string
  readonly password: string
  /** Looks for the candidates. A refused attempt of a stranger costs no look-up. */
  readonly look: () => Promise<readonly store.CandidateRow[]>
}

/**
 * Runs one attempt with a password. The allowance of a known browser is for the persons whom it knows: with those of an
 * own person a squatter would guess the passwords of others. For the others the browser is a stranger.
 * @param judge is given the persons whose password it is
 */
export const attemptPassword = async (
  services: Pick<Services, 'seal'>,
  gate: SignInGate,
  request: FastifyRequest,
  { email, password, look }: Attempt,
  judge: (found: readonly store.CandidateRow[], visitor: Visitor) => Promise<boolean | 'new'>,
): Promise<boolean> => {
  const stranger = visitorOf(services, request, email, null)
  const asStranger = (find: Attempt['look']) =>
    gate.attempt(stranger, async (turn) => judge(await fitting(await find(), password, turn), stranger))
  if (!isKnownBrowser(services, request)) return asStranger(look)
  const candidates = await look()
  const known = candidates.filter((one) => allowanceOf(services, request, one) !== null)
  const named = candidates.find(({ is_of_account }) => is_of_account)
  const [first] = known
  if (!first || (named && !known.includes(named))) return asStranger(async () => candidates)
  const visitor = visitorOf(services, request, email, first)
  let isFound = false
  const isRight = await gate.attempt(visitor, async (turn) => {
    const found = await fitting(known, password, turn)
    isFound = found.length > 0
    return isFound && (await judge(found, visitor)) === true
  })
  const others = candidates.filter((one) => !known.includes(one))
  return isRight || isFound || others.length === 0 ? isRight : asStranger(async () => others)
}

/**
 * Returns the person of several with the same password: that of the named account, else the operator.
 * @throws Problem 409 `account_choice` with the accounts to choose from
 */
export const chosenOf = async (sql: Sql, found: readonly store.CandidateRow[]): Promise<store.CandidateRow | null> => {
  const [only = null, ...others] = found
  const named = found.find(({ is_of_account }) => is_of_account)
  if (others.length === 0 || named) return named ?? only
  const accounts = await store.activeAccounts(
    sql,
    found.map(({ id }) => id),
    maxChoices,
  )
  const people = new Set(accounts.map(({ person_id }) => person_id))
  const operator = found.find((one) => one.operator !== null)
  if (operator || people.size < 2) return operator ?? found.find(({ id }) => people.has(id)) ?? only
  throw refusals.accountChoice(accounts.map(({ id, name }) => ({ uuid: print('ACC', id), name })))
}
