import { makeConditions } from '../../platform/db/conditions.ts'
import { byTimeAndId, countRows, exactTime, type ListPage, makeListQuery } from '../../platform/db/list-query.ts'
import type { Sql, Tx } from '../../platform/db/sql.ts'
import type { CounterRow } from './counter-row.ts'
import { attemptsPerCall, attemptsPerCode, codesPerDay } from './limits.ts'

export type CallerIdRow = {
  account_id: string
  id: string
  virtual_number_id: string | null
  msgapp_channel_id: string | null
  phone_number: string
  friendly_name: string
  iso_country_code: string
  type: 'VN' | 'WW' | 'CI'
  verified: boolean
  /** True if only a sandbox carrier's code verifies the number. */
  simulated: boolean
  /** True if the number is verified only because the sandbox sold it. */
  stock: boolean
  created_at: Date
  updated_at: Date
  /** State of the code: its call (null: sent by SMS), its expiry, and whether it is still valid. */
  code_call_id: string | null
  code_expires_at: Date | null
  code_is_pending: boolean
}

/** Wrong attempts that invalidate a code. */
const maxAttempts = (call: string | null) => (call === null ? attemptsPerCode : attemptsPerCall)

// The view caller_id_status (migrations/baseline/16_calls.sql) defines `verified`.

const readText = (rows: string) => `
  select s.*, ${exactTime('s.created_at')} as at, k.call_id as code_call_id, k.expires_at as code_expires_at,
    coalesce(k.expires_at > app_now()
      and k.attempts < case when k.call_id is null then ${attemptsPerCode} else ${attemptsPerCall} end
      and (k.call_id is null or exists (
        select from calls c where c.account_id = k.account_id and c.id = k.call_id and c.ended_at is null)),
      false) as code_is_pending
  from (${rows}) r
  cross join lateral (select * from caller_id_status c where c.account_id = r.account_id and c.id = r.id limit 1) s
  left join caller_id_codes k on s.type = 'CI' and k.account_id = s.account_id and k.phone_number = s.phone_number
  order by s.created_at, s.id`

const callerIdsOf = (account: string) => {
  const conditions = makeConditions()
  conditions.add('account_id = ?', account)
  conditions.push('removed_at is null')
  return makeListQuery({ table: 'caller_ids', key: byTimeAndId(), isNewestFirst: false }, conditions)
}

/** Lists the active caller IDs, oldest first. */
export const page = (db: Sql, account: string, at: ListPage) => {
  const { text, values } = callerIdsOf(account).page('account_id, created_at, id', at)
  return db.raw<CallerIdRow & { at: string }>(readText(text), values)
}

export const total = (db: Sql, account: string) => countRows(db, callerIdsOf(account).total())

const oneCallerId = readText('select $1::uuid as account_id, $2::uuid as id')

export const find = async (db: Sql, account: string, id: string): Promise<CallerIdRow | null> =>
  (await db.raw<CallerIdRow>(oneCallerId, [account, id]))[0] ?? null

type UsableQuery = { id: string; number: string; virtual_number_id: string | null }

/** Finds a proved caller ID whose number is not suspended; prefers bought numbers, and among them those of this
 *  country.
 *  @param simulated whether proof within the sandbox suffices
 *  @param isSandbox whether a sandbox number suffices */
export const findUsable = (
  db: Sql,
  account: string,
  {
    id = null,
    number = null,
    country,
    simulated,
    isSandbox,
  }: { id?: string | null; number?: string | null; country: string; simulated: boolean; isSandbox: boolean },
) => db.maybe<UsableQuery>`
  select c.id, c.phone_number as number, c.virtual_number_id
  from caller_id_status c
  left join virtual_numbers v on v.number = c.phone_number and v.released_at is null
  where c.account_id = ${account} and c.verified and (not c.simulated or ${simulated}) and (not c.stock or ${isSandbox})
    and coalesce(v.status_text in ('ACTIVE', 'AWAITING_REGISTRATION', 'PENDING_CANCELLATION'), true)
    and c.id = coalesce(${id}::uuid, c.id) and c.phone_number = coalesce(${number}::text, c.phone_number)
  order by c.type <> 'VN', c.iso_country_code <> ${country}, c.created_at, c.id
  limit 1`

/** Whether calls may show the number already. */
export const isUsable = async (tx: Tx, account: string, number: string, isSandbox: boolean): Promise<boolean> =>
  (await tx.maybe`
    select 1 from caller_id_status
    where account_id = ${account} and phone_number = ${number} and verified and (not (simulated or stock) or ${isSandbox})
    limit 1`) !== null

type NewCallerId = Pick<
  CallerIdRow,
  'account_id' | 'id' | 'msgapp_channel_id' | 'phone_number' | 'iso_country_code' | 'type'
> & { friendly_name: string | null }

/** Adds an unproved caller ID, or renames the existing one. @returns its id */
export const saveCallerId = async (tx: Tx, c: NewCallerId): Promise<string> =>
  (
    await tx.one<{ id: string }>`
      insert into caller_ids (account_id, id, msgapp_channel_id, phone_number, friendly_name, iso_country_code, type)
      values (${c.account_id}, ${c.id}, ${c.msgapp_channel_id}, ${c.phone_number},
        coalesce(${c.friendly_name}::text, ${c.phone_number}::text), ${c.iso_country_code}, ${c.type})
      on conflict (account_id, type, phone_number) where removed_at is null and type in ('WW', 'CI') do update
        set friendly_name = coalesce(${c.friendly_name}::text, caller_ids.friendly_name), updated_at = app_now()
      returning id`
  ).id

/** Marks a caller ID as removed; the row remains for past calls. */
export const remove = async (tx: Tx, account: string, by: { id?: string; channel?: string }): Promise<void> => {
  await tx.run`
    update caller_ids set removed_at = app_now(), updated_at = app_now()
    where account_id = ${account} and removed_at is null
      and (id = ${by.id ?? null}::uuid or msgapp_channel_id = ${by.channel ?? null}::uuid)`
}

/** Replaces the last code for a number. Null within a minute of that code, or after ten codes a day. */
export const renewCode = (
  tx: Tx,
  account: string,
  number: string,
  { hash, simulated, call }: { hash: Buffer; simulated: boolean; call: string | null },
) => tx.maybe<{ expires_at: Date }>`
  insert into caller_id_codes as k (account_id, phone_number, hash, simulated, call_id, sent_at, expires_at, day_from)
  values (${account}, ${number}, ${hash}, ${simulated}, ${call}, app_now(), app_now() + interval '10 minutes', app_now())
  on conflict (account_id, phone_number) do update
    set hash = excluded.hash, simulated = excluded.simulated, call_id = excluded.call_id, attempts = 0, sent_at = excluded.sent_at, expires_at = excluded.expires_at,
      day_from = case when k.day_from <= app_now() - interval '1 day' then app_now() else k.day_from end,
      day_codes = case when k.day_from <= app_now() - interval '1 day' then 1 else k.day_codes + 1 end
    where k.sent_at <= app_now() - interval '1 minute'
      and (k.day_codes < ${codesPerDay.pair} or k.day_from <= app_now() - interval '1 day')
  returning expires_at`

/** Counts an attempt. Null without a valid code: expired, or too many wrong attempts.
 *  @param call the call in which the code was typed; null for a code by SMS */
export const attempt = (
  tx: Tx,
  account: string,
  number: string,
  { hash, call }: { hash: Buffer; call: string | null },
) => tx.maybe<{ is_right: boolean; simulated: boolean; attempts: number }>`
  update caller_id_codes set attempts = attempts + 1
  where account_id = ${account} and phone_number = ${number} and attempts < ${maxAttempts(call)} and expires_at > app_now()
    and call_id is not distinct from ${call}::uuid
  returning hash = ${hash} as is_right, simulated, attempts`

/** Returns the caller ID of an account that a code for this number would prove. */
export const findOwnId = async (tx: Tx, account: string, number: string): Promise<string | null> =>
  (
    await tx.maybe<{ id: string }>`
      select id from caller_ids
      where account_id = ${account} and phone_number = ${number} and type = 'CI' and removed_at is null`
  )?.id ?? null

export const verify = async (
  tx: Tx,
  account: string,
  { id, number, simulated }: { id: string; number: string; simulated: boolean },
): Promise<void> => {
  // Invalidate the code but keep the row: its counters outlive the caller ID.
  await tx.run`
    update caller_id_codes set expires_at = app_now() where account_id = ${account} and phone_number = ${number}`
  await tx.run`
    update caller_ids set verified = true, simulated = ${simulated}, updated_at = app_now()
    where account_id = ${account} and id = ${id}`
}

/** Increments the counters of the account (all numbers) and of the number (all accounts). @returns both */
export const addToCounters = (
  tx: Tx,
  account: string,
  number: string,
  { codes = 0, attempts = 0 }: { codes?: number; attempts?: number },
) => tx.many<CounterRow>`
  insert into caller_id_code_counters as k (subject, day_from, codes, attempts)
  select s, app_now(), ${codes}::integer, ${attempts}::integer from unnest(${[number, account]}::text[]) s
  on conflict (subject) do update
    set day_from = case when k.day_from <= app_now() - interval '1 day' then app_now() else k.day_from end,
      codes = excluded.codes + case when k.day_from <= app_now() - interval '1 day' then 0 else k.codes end,
      attempts = excluded.attempts + case when k.day_from <= app_now() - interval '1 day' then 0 else k.attempts end
  returning subject, codes, attempts, day_from + interval '1 day' as ends_at`

/** Deletes codes and counters that no longer have any effect. */
export const deleteOldCodes = async (tx: Tx): Promise<void> => {
  await tx.run`
    delete from caller_id_codes
    where sent_at <= app_now() - interval '1 day' and day_from <= app_now() - interval '1 day'`
  await tx.run`delete from caller_id_code_counters where day_from <= app_now() - interval '1 day'`
}
