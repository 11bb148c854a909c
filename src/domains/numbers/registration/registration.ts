import type { Config } from '../../../config.ts'
import type { InvalidationBus } from '../../../platform/db/invalidation-bus.ts'
import type { Db, Sql, Tx } from '../../../platform/db/sql.ts'
import { enqueue } from '../../../platform/jobs/queue.ts'
import type { Seal } from '../../../platform/lib/secret.ts'
import { lockDocuments } from '../../documents/ops.ts'
import { publishNumberEvent } from '../lifecycle/number-events.ts'
import { causeOf, changePriorStatus, reinstate, suspend } from '../lifecycle/suspension.ts'
import * as virtualNumbers from '../lifecycle/virtual-number-store.ts'
import { refusals } from '../refusals.ts'
import * as store from '../store.ts'
import { type SubmittedAnswer, unansweredOf, type ValidAnswer, validateAnswers } from './requirements.ts'
import * as registrations from './store.ts'

type Deps = { readonly seal: Seal; readonly changes: InvalidationBus; readonly config: Config }

const requirementsOfNumber = (
  { iso_country_code: iso, type }: Pick<virtualNumbers.NumberRow, 'iso_country_code' | 'type'>,
  sql: Sql,
) => store.requirements(sql, iso, type)

/** Converts answers for storage: values are sealed. */
export const sealAnswers = (seal: Seal, answers: readonly ValidAnswer[]): registrations.AnswerRow[] =>
  answers.map(({ requirement, document, value }) => ({
    requirement,
    document,
    sealed: value === null ? null : seal.close(value),
  }))

const saveAnswers = async (tx: Tx, of: registrations.RegistrationRow, answers: readonly registrations.AnswerRow[]) => {
  for (const one of answers) await registrations.saveAnswer(tx, of, one)
}

export type Deadline = { account: string; id: string }

const scheduleDeadline = (
  tx: Tx,
  { account_id: account, virtual_number_id: id }: registrations.RegistrationRow,
  runAt: Date,
) => enqueue(tx, 'numbers.registration', { account, id }, { account, runAt })

/** Returns the state of a number's registration; null when none was opened. */
export const stateOf = async (sql: Sql, account: string, id: string): Promise<registrations.RegistrationState | null> =>
  (await registrations.find(sql, account, id))?.state ?? null

/** Opens the registration of a number with those answers that match its requirements. */
const open = async (
  tx: Tx,
  { config }: Pick<Deps, 'config'>,
  { account_id: account, id }: virtualNumbers.NumberRow,
  required: readonly store.RequirementRow[],
  answers: readonly registrations.AnswerRow[],
): Promise<void> => {
  const opened = await registrations.open(tx, account, id, config.registrationDays)
  const ids = new Set(required.map((one) => one.id))
  await saveAnswers(
    tx,
    opened,
    answers.filter(({ requirement }) => ids.has(requirement)),
  )
  await scheduleDeadline(tx, opened, opened.due_at)
}

/**
 * Opens the registrations of numbers whose regulator has requirements, with the answers given so far. An answer may
 * concern any of the numbers.
 * @throws the 400 or 404 Problem about an answer
 */
export const register = async (
  tx: Tx,
  deps: Deps,
  account: string,
  numbers: readonly virtualNumbers.NumberRow[],
  submitted: readonly SubmittedAnswer[],
): Promise<void> => {
  const required = await Promise.all(numbers.map((number) => requirementsOfNumber(number, tx)))
  const answers = sealAnswers(deps.seal, await validateAnswers(tx, account, required.flat(), submitted))
  for (const [i, number] of numbers.entries()) await open(tx, deps, number, required[i] ?? [], answers)
}

/**
 * Opens the registration of one number with answers given before the number existed: a document may have been deleted
 * since.
 */
export const registerWithAnswers = async (
  tx: Tx,
  deps: Pick<Deps, 'config'>,
  number: virtualNumbers.NumberRow,
  submitted: readonly registrations.AnswerRow[],
): Promise<void> => {
  const documents = submitted.flatMap(({ document }) => document ?? [])
  const existing = new Set((await lockDocuments(tx, number.account_id, documents)).map(({ id }) => id))
  const answers = submitted.filter(({ document }) => document === null || existing.has(document))
  await open(tx, deps, number, await requirementsOfNumber(number, tx), answers)
}

/** The registration of a number with its requirements and answers. */
export type Registration = {
  readonly number: virtualNumbers.NumberRow
  /** Null when the number has no requirements. */
  readonly row: registrations.RegistrationRow | null
  readonly required: store.RequirementRow[]
  readonly missing: store.RequirementRow[]
  readonly answers: registrations.AnswerRow[]
}

/** Returns the registration of an account's number; null when the account has no such number. */
export const registrationOf = async (sql: Sql, account: string, id: string): Promise<Registration | null> => {
  const number = await virtualNumbers.find(sql, account, id)
  if (!number) return null
  const row = await registrations.find(sql, account, id)
  const required = row && row.state !== 'approved' ? await requirementsOfNumber(number, sql) : []
  const answers = await registrations.answers(sql, account, id)
  return { number, row, required, missing: unansweredOf(required, answers), answers }
}

/**
 * Stores answers for an account's number; a refused registration awaits a decision again.
 * @throws the 400, 404 or 409 Problem
 */
export const submit = async (
  tx: Tx,
  { seal }: Deps,
  account: string,
  id: string,
  submitted: readonly SubmittedAnswer[],
): Promise<void> => {
  const number = await virtualNumbers.lock(tx, account, id)
  const row = number && (await registrations.find(tx, account, id))
  if (!row) throw refusals.noRequirements()
  if (row.state === 'approved') throw refusals.alreadyRegistered(number.number)
  await saveAnswers(
    tx,
    row,
    sealAnswers(seal, await validateAnswers(tx, account, await requirementsOfNumber(number, tx), submitted)),
  )
  await registrations.setState(tx, row, 'awaiting', null)
}

/** Locks the number and returns it with its registration, for an operator's decision. */
const lockDecision = async (tx: Tx, account: string, id: string) => {
  const number = await virtualNumbers.lock(tx, account, id)
  const row = number && (await registrations.find(tx, account, id))
  if (!row) throw refusals.numberReleased()
  if (row.state === 'approved') throw refusals.alreadyRegistered(number.number)
  return { number, row }
}

/**
 * Approves the registration: the number becomes active, and a suspension for its missing registration ends.
 * @throws the 409 Problem
 */
export const approve = async (tx: Tx, { changes }: Deps, account: string, id: string): Promise<void> => {
  const { number, row } = await lockDecision(tx, account, id)
  await registrations.setState(tx, row, 'approved', null)
  if (number.status_text === 'AWAITING_REGISTRATION')
    await publishNumberEvent(tx, 'number.updated', await virtualNumbers.setStatus(tx, account, id, 'ACTIVE'))
  if (number.status_text === 'SUSPENDED') {
    await changePriorStatus(tx, account, id, 'AWAITING_REGISTRATION', 'ACTIVE')
    if ((await causeOf(tx, account, id)) === 'registration') await reinstate(tx, changes, account, id)
  }
  await changes.invalidate(tx, 'numbers')
}

/**
 * Refuses the answers: the deadline starts again, or the number is suspended at once.
 * @throws the 409 Problem
 */
export const refuseRegistration = async (
  tx: Tx,
  { changes, config }: Deps,
  account: string,
  id: string,
  reason: string,
  isSuspended: boolean,
): Promise<void> => {
  const { number, row } = await lockDecision(tx, account, id)
  const refused = await registrations.setState(tx, row, 'refused', reason)
  if (isSuspended) {
    await suspend(tx, changes, account, id, 'registration', reason)
    return
  }
  const { due_at } = await registrations.restartDeadline(tx, refused, config.registrationDays)
  await scheduleDeadline(tx, refused, due_at)
  await publishNumberEvent(tx, 'number.updated', number, reason)
}

const day = 86_400_000

/**
 * Suspends a number at its deadline if an answer is missing or was refused. A complete registration waits for the
 * operator without limit. A number that the operator has suspended is checked again every day.
 */
export const enforceDeadline = async (
  tx: Tx,
  { changes }: Pick<Deps, 'changes'>,
  { account, id }: Deadline,
): Promise<void> => {
  const number = await virtualNumbers.lock(tx, account, id)
  const { now } = await tx.one<{ now: Date }>`select app_now() as now`
  const found = number && (await registrationOf(tx, account, id))
  if (!number || !found?.row || found.row.state === 'approved' || found.row.due_at > now) return
  const { row, missing } = found
  if (row.state === 'awaiting' && missing.length === 0) return
  if (number.status_text === 'SUSPENDED') {
    const isByOperator = (await causeOf(tx, account, id)) === 'operator'
    if (isByOperator) await scheduleDeadline(tx, row, new Date(now.getTime() + day))
    return
  }
  const reason = row.reason ?? `Still missing: ${missing.map(({ description }) => description).join(' ')}`
  await suspend(tx, changes, account, id, 'registration', reason)
}

/** Returns whether the document was submitted for the number. */
export const hasDocument = async (db: Db, account: string, id: string, document: string): Promise<boolean> =>
  (await registrations.answers(db, account, id)).some((answer) => answer.document === document)
