import { makeConditions } from '../../../platform/db/conditions.ts'
import { byTimeAndId, countRows, exactTime, type ListPage, makeListQuery } from '../../../platform/db/list-query.ts'
import type { Sql, Tx } from '../../../platform/db/sql.ts'
import type { GroupType } from '../catalogue/catalogue-rows.ts'

export type RegistrationState = 'awaiting' | 'approved' | 'refused'

export type RegistrationRow = {
  account_id: string
  virtual_number_id: string
  state: RegistrationState
  reason: string | null
  due_at: Date
  created_at: Date
  updated_at: Date
}

/** Opens the registration of a number, due after the given days. */
export const open = (tx: Tx, account: string, number: string, days: number) => tx.one<RegistrationRow>`
  insert into registrations (account_id, virtual_number_id, due_at)
  values (${account}, ${number}, app_now() + make_interval(days => ${days})) returning *`

export const find = (db: Sql, account: string, number: string) => db.maybe<RegistrationRow>`
  select * from registrations where account_id = ${account} and virtual_number_id = ${number}`

/** Returns the account of a registration: operators name a number without its account. Null for a released number. */
export const accountOfNumber = (db: Sql, number: string) => db.maybe<{ account_id: string }>`
  select r.account_id from registrations r
  join virtual_numbers v on v.account_id = r.account_id and v.id = r.virtual_number_id
  where r.virtual_number_id = ${number} and v.released_at is null`

export const setState = (tx: Tx, r: RegistrationRow, state: RegistrationState, reason: string | null) =>
  tx.one<RegistrationRow>`
    update registrations set state = ${state}, reason = ${reason}, updated_at = app_now()
    where account_id = ${r.account_id} and virtual_number_id = ${r.virtual_number_id} returning *`

/** Starts the deadline again. */
export const restartDeadline = (tx: Tx, r: RegistrationRow, days: number) => tx.one<RegistrationRow>`
  update registrations set due_at = app_now() + make_interval(days => ${days}), updated_at = app_now()
  where account_id = ${r.account_id} and virtual_number_id = ${r.virtual_number_id} returning *`

export type AnswerRow = { requirement: number; document: string | null; sealed: Buffer | null }

/** Returns the latest answer to each requirement. */
export const answers = (db: Sql, account: string, number: string) => db.many<AnswerRow>`
  select requirement_id as requirement, document_id as document, sealed_value as sealed from registration_answers
  where account_id = ${account} and virtual_number_id = ${number} order by requirement_id`

export const saveAnswer = (tx: Tx, r: RegistrationRow, a: AnswerRow) => tx.run`
  insert into registration_answers (account_id, virtual_number_id, requirement_id, document_id, sealed_value)
  values (${r.account_id}, ${r.virtual_number_id}, ${a.requirement}, ${a.document}, ${a.sealed})
  on conflict (account_id, virtual_number_id, requirement_id)
    do update set document_id = excluded.document_id, sealed_value = excluded.sealed_value`

export type ListedRegistration = RegistrationRow & {
  number: string
  iso_country_code: string
  type: GroupType
  status_text: string
  missing: number
}

const key = byTimeAndId('virtual_number_id')

/** Registrations of owned numbers in a state, oldest first. */
const registrationsIn = (state: RegistrationState | null) => {
  const conditions = makeConditions()
  conditions.add('state = ?', state)
  // Not EXISTS, which PostgreSQL may turn into a join of the whole tables.
  conditions.push(`(select v.released_at is null from virtual_numbers v
    where v.account_id = registrations.account_id and v.id = registrations.virtual_number_id)`)
  return makeListQuery({ table: 'registrations', key, isNewestFirst: false }, conditions)
}

/** Returns a page of registrations, each with its count of unmet requirements. */
export const page = (db: Sql, state: RegistrationState | null, at: ListPage) => {
  const { text, values } = registrationsIn(state).page('*', at)
  return db.raw<ListedRegistration & { at: string }>(
    `select r.*, ${exactTime('r.created_at')} as at, v.number, v.iso_country_code, v.type, v.status_text, (
       select count(*) from number_requirements q
       where q.iso_country_code = v.iso_country_code and q.type = v.type and not exists (
         select from registration_answers a
         where a.account_id = r.account_id and a.virtual_number_id = r.virtual_number_id and a.requirement_id = q.id)
     ) as missing
     from (${text}) r join virtual_numbers v on v.account_id = r.account_id and v.id = r.virtual_number_id
     order by r.created_at, r.virtual_number_id`,
    values,
  )
}

export const total = (db: Sql, state: RegistrationState | null) => countRows(db, registrationsIn(state).total())
