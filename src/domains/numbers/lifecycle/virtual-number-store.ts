import { makeConditions } from '../../../platform/db/conditions.ts'
import { byTimeAndId, countRows, exactTime, type ListPage, makeListQuery } from '../../../platform/db/list-query.ts'
import type { Sql, Tx } from '../../../platform/db/sql.ts'
import type { ProgramReference } from '../../applications/ops.ts'
import type { GroupType } from '../catalogue/catalogue-rows.ts'

export type StatusText =
  | 'ACTIVE'
  | 'AWAITING_REGISTRATION'
  | 'PENDING_ACTIVATION'
  | 'SUSPENDED'
  | 'PENDING_CANCELLATION'
  | 'RELEASED'

export type NumberRow = {
  account_id: string
  id: string
  number: string
  group_id: string
  iso_country_code: string
  region_name: string
  type: GroupType
  friendly_name: string
  record_inbound: boolean
  timezone: string
  inbound_user_id: string | null
  /** The program that its calls run; null: they ring the user. One of both is null. */
  voice: ProgramReference | null
  monthly_price: string
  ppm: string
  status_text: StatusText
  created_at: Date
  updated_at: Date
  expires_at: Date
}

export type NewNumber = Pick<
  NumberRow,
  | 'account_id'
  | 'id'
  | 'number'
  | 'group_id'
  | 'iso_country_code'
  | 'region_name'
  | 'type'
  | 'friendly_name'
  | 'timezone'
  | 'inbound_user_id'
  | 'monthly_price'
  | 'ppm'
  | 'status_text'
>

/** Inserts a virtual number with its first month. */
export const add = (tx: Tx, n: NewNumber) => tx.one<NumberRow>`
  insert into virtual_numbers (account_id, id, number, group_id, iso_country_code, region_name, type, friendly_name,
    timezone, inbound_user_id, monthly_price, ppm, status_text, expires_at)
  values (${n.account_id}, ${n.id}, ${n.number}, ${n.group_id}, ${n.iso_country_code}, ${n.region_name}, ${n.type},
    ${n.friendly_name}, ${n.timezone}, ${n.inbound_user_id}, ${n.monthly_price}::numeric, ${n.ppm}::numeric, ${n.status_text}, app_now() + interval '1 month')
  returning *`

export const addChannel = (tx: Tx, n: NewNumber, id: string, sms: { in: boolean; out: boolean }) => tx.run`
  insert into sms_channels (account_id, id, virtual_number_id, phone_number, friendly_name, iso_country_code,
    supports_sms_in, supports_sms_out)
  values (${n.account_id}, ${id}, ${n.id}, ${n.number}, ${n.friendly_name}, ${n.iso_country_code}, ${sms.in},
    ${sms.out})`

export const addCallerId = (tx: Tx, n: NewNumber, id: string) => tx.run`
  insert into caller_ids (account_id, id, virtual_number_id, phone_number, friendly_name, iso_country_code, type, verified)
  values (${n.account_id}, ${id}, ${n.id}, ${n.number}, ${n.friendly_name}, ${n.iso_country_code}, 'VN', true)`

export type NumberFilters = {
  readonly q?: string | undefined
  readonly status?: StatusText | undefined
  readonly country?: string | undefined
}

const numbersOf = (account: string, { q, status, country }: NumberFilters = {}) => {
  const conditions = makeConditions()
  conditions.add('account_id = ?', account)
  conditions.push('released_at is null')
  conditions.add('status_text = ?', status)
  conditions.add('iso_country_code = ?', country?.toUpperCase())
  if (q !== undefined) {
    const digits = /^[\d\s+()./-]+$/.test(q) ? q.replace(/\D/g, '') : ''
    const name = `strpos(lower(friendly_name), lower(${conditions.bind(q.trim())})) > 0`
    conditions.push(digits === '' ? name : `(${name} or strpos(number, ${conditions.bind(digits)}) > 0)`)
  }
  return makeListQuery({ table: 'virtual_numbers', key: byTimeAndId(), isNewestFirst: false }, conditions)
}

/** Returns a page of the account's numbers, oldest first. */
export const page = (db: Sql, account: string, at: ListPage, filters?: NumberFilters) => {
  const { text, values } = numbersOf(account, filters).page(`*, ${exactTime('created_at')} as at`, at)
  return db.raw<NumberRow & { at: string }>(text, values)
}

export const newest = (sql: Sql, account: string) => sql.maybe<NumberRow>`
  select * from virtual_numbers where account_id = ${account} and released_at is null order by id desc limit 1`

export const total = (db: Sql, account: string, filters?: NumberFilters) =>
  countRows(db, numbersOf(account, filters).total())

export const idsOf = (tx: Tx, account: string) => tx.many<{ id: string }>`
  select id from virtual_numbers where account_id = ${account} and released_at is null order by id`

export const find = (db: Sql, account: string, id: string) => db.maybe<NumberRow>`
  select * from virtual_numbers where account_id = ${account} and id = ${id} and released_at is null`

export const lock = (tx: Tx, account: string, id: string) => tx.maybe<NumberRow>`
  select * from virtual_numbers where account_id = ${account} and id = ${id} and released_at is null for update`

/** Activates an ordered number: its first month begins. */
export const activate = (
  tx: Tx,
  account: string,
  id: string,
  status: 'ACTIVE' | 'AWAITING_REGISTRATION' | 'SUSPENDED',
) => tx.one<NumberRow>`
  update virtual_numbers
  set status_text = ${status}, months_from = app_now(), expires_at = app_now() + interval '1 month',
    updated_at = app_now()
  where account_id = ${account} and id = ${id} and released_at is null
  returning *`

type NumberChange = Pick<NumberRow, 'friendly_name' | 'record_inbound' | 'timezone' | 'inbound_user_id' | 'voice'>

/** The friendly name applies to the channel and the caller id too. */
export const change = async (tx: Tx, account: string, id: string, n: NumberChange): Promise<NumberRow> => {
  await tx.run`
    update sms_channels set friendly_name = ${n.friendly_name}, updated_at = app_now()
    where account_id = ${account} and virtual_number_id = ${id} and friendly_name <> ${n.friendly_name}`
  await tx.run`
    update caller_ids set friendly_name = ${n.friendly_name}, updated_at = app_now()
    where account_id = ${account} and virtual_number_id = ${id} and friendly_name <> ${n.friendly_name}`
  return tx.one<NumberRow>`
    update virtual_numbers set friendly_name = ${n.friendly_name}, record_inbound = ${n.record_inbound},
      timezone = ${n.timezone}, inbound_user_id = ${n.inbound_user_id},
      voice = ${n.voice && JSON.stringify(n.voice)}::text::jsonb, updated_at = app_now()
    where account_id = ${account} and id = ${id}
    returning *`
}

export const setStatus = (
  tx: Tx,
  account: string,
  id: string,
  status: Exclude<StatusText, 'RELEASED'>,
) => tx.one<NumberRow>`
  update virtual_numbers set status_text = ${status}, updated_at = app_now()
  where account_id = ${account} and id = ${id}
  returning *`

/** Releases the number: its channel stays readable, and past calls still reference its caller id. */
export const release = async (tx: Tx, account: string, id: string): Promise<NumberRow> => {
  const row = await tx.one<NumberRow>`
    update virtual_numbers set status_text = 'RELEASED', released_at = app_now(), updated_at = app_now()
    where account_id = ${account} and id = ${id}
    returning *`
  await tx.run`delete from number_suspensions where account_id = ${account} and virtual_number_id = ${id}`
  await tx.run`
    update sms_channels set enabled = false, updated_at = app_now()
    where account_id = ${account} and virtual_number_id = ${id}`
  await tx.run`
    update caller_ids set removed_at = app_now(), updated_at = app_now()
    where account_id = ${account} and virtual_number_id = ${id} and removed_at is null`
  return row
}

/**
 * Adds a month. Months count from the beginning of the first: a number bought on the 31st ends on the 31st again after
 * a shorter month.
 * @returns its end
 */
export const addMonth = async (tx: Tx, account: string, id: string): Promise<Date> => {
  const row = await tx.one<{ expires_at: Date }>`
    update virtual_numbers set updated_at = app_now(), expires_at = months_from + make_interval(months => (
      1 + 12 * (extract(year from expires_at) - extract(year from months_from))
      + extract(month from expires_at) - extract(month from months_from))::integer)
    where account_id = ${account} and id = ${id} returning expires_at`
  return row.expires_at
}

/** The facts that an inbound call needs. `works`: it takes calls at present. */
export type CalledNumber = Pick<
  NumberRow,
  'account_id' | 'id' | 'number' | 'iso_country_code' | 'type' | 'inbound_user_id' | 'record_inbound' | 'ppm' | 'voice'
> & { works: boolean }

export const findCalled = (sql: Sql, number: string) => sql.maybe<CalledNumber>`
  select v.account_id, v.id, v.number, v.iso_country_code, v.type, v.inbound_user_id, v.record_inbound, v.ppm, v.voice,
    not a.blocked and v.status_text in ('ACTIVE', 'AWAITING_REGISTRATION', 'PENDING_CANCELLATION') as works
  from virtual_numbers v join accounts a on a.id = v.account_id
  where v.number = ${number} and v.released_at is null`

/** An account's number with its SMS channel. */
export type NumberWithChannel = { did: string; sms: string | null }

/** Finds by either id, also after its release, or by the number itself while the account owns it. */
export const findWithChannel = (
  sql: Sql,
  account: string,
  by: { did?: string; sms?: string; number?: string },
) => sql.maybe<NumberWithChannel>`
  select v.id as did, c.id as sms
  from virtual_numbers v
  left join sms_channels c on c.account_id = v.account_id and c.virtual_number_id = v.id
  where v.account_id = ${account}
    and (v.id = ${by.did ?? null}::uuid or c.id = ${by.sms ?? null}::uuid
      or (v.number = ${by.number ?? null}::text and v.released_at is null))`
