import type { Db, Sql, Tx } from '../db/sql.ts'
import { keepDocuments } from '../documents/ops.ts'
import { conflict } from '../http/problem.ts'
import { enqueue } from '../jobs/queue.ts'
import type { Seal } from '../lib/secret.ts'
import type { Parts } from '../parts.ts'
import * as owned from './owned.ts'
import * as registrations from './registrations.ts'
import { type Answer, type Given, missingOf, readAnswers } from './requirements.ts'
import * as store from './store.ts'
import { causeOf, reinstate, retarget, suspend } from './suspension.ts'

type Need = Pick<Parts, 'seal' | 'changes' | 'config'>

const askedOfNumber = ({ iso_country_code: iso, type }: Pick<owned.NumberRow, 'iso_country_code' | 'type'>, sql: Sql) =>
  store.requirements(sql, iso, type)

/** Answers as they are kept: words are sealed. */
export const sealed = (seal: Seal, answers: readonly Answer[]): registrations.AnswerRow[] =>
  answers.map(({ requirement, document, value }) => ({
    requirement,
    document,
    sealed: value === null ? null : seal.close(value),
  }))

const save = async (tx: Tx, of: registrations.RegistrationRow, answers: readonly registrations.AnswerRow[]) => {
  for (const one of answers) await registrations.answer(tx, of, one)
}

export type Deadline = { account: string; id: string }

const planDeadline = (
  tx: Tx,
  { account_id: account, virtual_number_id: id }: registrations.RegistrationRow,
  runAt: Date,
) => enqueue(tx, 'numbers.registration', { account, id }, { account, runAt })

/** How far the registration of a number is; null when none was opened. */
export const stateOf = async (sql: Sql, account: string, id: string): Promise<registrations.RegistrationState | null> =>
  (await registrations.find(sql, account, id))?.state ?? null

/** Opens the registration of a number, with those of the answers that are for what is asked of it. */
const open = async (
  tx: Tx,
  { config }: Pick<Need, 'config'>,
  { account_id: account, id }: owned.NumberRow,
  asked: readonly store.RequirementRow[],
  answers: readonly registrations.AnswerRow[],
): Promise<void> => {
  const opened = await registrations.open(tx, account, id, config.registrationDays)
  const ids = new Set(asked.map((one) => one.id))
  await save(
    tx,
    opened,
    answers.filter(({ requirement }) => ids.has(requirement)),
  )
  await planDeadline(tx, opened, opened.due_at)
}

/**
 * Opens the registrations of numbers whose regulator asks for one, with what is given for them at once. What is given may
 * concern any of them.
 * @throws the 400 or 404 Problem about what is given
 */
export const register = async (
  tx: Tx,
  need: Need,
  account: string,
  numbers: readonly owned.NumberRow[],
  given: readonly Given[],
): Promise<void> => {
  const asked = await Promise.all(numbers.map((number) => askedOfNumber(number, tx)))
  const answers = sealed(need.seal, await readAnswers(tx, account, asked.flat(), given))
  for (const [i, number] of numbers.entries()) await open(tx, need, number, asked[i] ?? [], answers)
}

/** The same for one number, with what was given before it was there: a document may have been deleted since. */
export const registerWith = async (
  tx: Tx,
  need: Pick<Need, 'config'>,
  number: owned.NumberRow,
  kept: readonly registrations.AnswerRow[],
): Promise<void> => {
  const documents = kept.flatMap(({ document }) => document ?? [])
  const there = new Set((await keepDocuments(tx, number.account_id, documents)).map(({ id }) => id))
  const answers = kept.filter(({ document }) => document === null || there.has(document))
  await open(tx, need, number, await askedOfNumber(number, tx), answers)
}

/** How far the registration of a number is. */
export type Registration = {
  readonly number: owned.NumberRow
  /** Null when nothing is asked. */
  readonly row: registrations.RegistrationRow | null
  readonly asked: store.RequirementRow[]
  readonly missing: store.RequirementRow[]
  readonly answers: registrations.AnswerRow[]
}

/** The registration of a number of the account; null when the account has no such number. */
export const registrationOf = async (sql: Sql, account: string, id: string): Promise<Registration | null> => {
  const number = await owned.find(sql, account, id)
  if (!number) return null
  const row = await registrations.find(sql, account, id)
  const asked = row && row.state !== 'approved' ? await askedOfNumber(number, sql) : []
  const answers = await registrations.answers(sql, account, id)
  return { number, row, asked, missing: missingOf(asked, answers), answers }
}

const isApproved = (number: owned.NumberRow) => conflict(`${number.number} is registered already`, 'already_registered')

/**
 * Takes what is given for a number that its account has; a refused registration is looked at again.
 * @throws the 400, 404 or 409 Problem
 */
export const submit = async (
  tx: Tx,
  { seal }: Need,
  account: string,
  id: string,
  given: readonly Given[],
): Promise<void> => {
  const number = await owned.lock(tx, account, id)
  const row = number && (await registrations.find(tx, account, id))
  if (!row) return conflict('Nothing is asked for this number', 'nothing_required')
  if (row.state === 'approved') isApproved(number)
  await save(tx, row, sealed(seal, await readAnswers(tx, account, await askedOfNumber(number, tx), given)))
  await registrations.setState(tx, row, 'awaiting', null)
}

/** The number and the registration of an operator's decision, locked. */
const decided = async (tx: Tx, account: string, id: string) => {
  const number = await owned.lock(tx, account, id)
  const row = number && (await registrations.find(tx, account, id))
  if (!row) return conflict('The number was released', 'number_released')
  if (row.state === 'approved') isApproved(number)
  return { number, row }
}

/** Approves: the number is active, and no longer suspended for want of its registration. @throws the 409 Problem */
export const approve = async (tx: Tx, { changes }: Need, account: string, id: string): Promise<void> => {
  const { number, row } = await decided(tx, account, id)
  await registrations.setState(tx, row, 'approved', null)
  if (number.status_text === 'AWAITING_REGISTRATION') await owned.setStatus(tx, account, id, 'ACTIVE')
  if (number.status_text === 'SUSPENDED') {
    await retarget(tx, account, id, 'AWAITING_REGISTRATION', 'ACTIVE')
    if ((await causeOf(tx, account, id)) === 'registration') await reinstate(tx, changes, account, id)
  }
  await changes.announce(tx, 'numbers')
}

/**
 * Refuses what was given: the days begin again, or the number is suspended at once.
 * @throws the 409 Problem
 */
export const refuse = async (
  tx: Tx,
  { changes, config }: Need,
  account: string,
  id: string,
  reason: string,
  isSuspended: boolean,
): Promise<void> => {
  const { row } = await decided(tx, account, id)
  const refused = await registrations.setState(tx, row, 'refused', reason)
  if (isSuspended) {
    await suspend(tx, changes, account, id, 'registration', reason)
    return
  }
  const { due_at } = await registrations.prolong(tx, refused, config.registrationDays)
  await planDeadline(tx, refused, due_at)
}

const day = 86_400_000

/**
 * Suspends a number whose days are over and for which something is missing, or was refused. What is complete waits for the
 * operator, for as long as that takes. One that the operator has suspended is looked at again every day.
 */
export const endDays = async (tx: Tx, { changes }: Pick<Need, 'changes'>, { account, id }: Deadline): Promise<void> => {
  const number = await owned.lock(tx, account, id)
  const { now } = await tx.one<{ now: Date }>`select app_now() as now`
  const found = number && (await registrationOf(tx, account, id))
  if (!number || !found?.row || found.row.state === 'approved' || found.row.due_at > now) return
  const { row, missing } = found
  if (row.state === 'awaiting' && missing.length === 0) return
  if (number.status_text === 'SUSPENDED') {
    const isByOperator = (await causeOf(tx, account, id)) === 'operator'
    if (isByOperator) await planDeadline(tx, row, new Date(now.getTime() + day))
    return
  }
  const reason = row.reason ?? `Still missing: ${missing.map(({ description }) => description).join(' ')}`
  await suspend(tx, changes, account, id, 'registration', reason)
}

/** A document that was given for a number; null when that was not. */
export const isGiven = async (db: Db, account: string, id: string, document: string): Promise<boolean> =>
  (await registrations.answers(db, account, id)).some((answer) => answer.document === document)
