import type { Sql, Tx } from '../db/sql.ts'
import { attemptsPerCode, codesPerDay } from './limits.ts'

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
  /** Verified by a code that a sandbox carrier took, and by nothing else. */
  simulated: boolean
  created_at: Date
  updated_at: Date
}

// The view caller_id_standing (migration number_possession) says which are `verified`, in one place.

/** Those in use, oldest first. */
export const page = (db: Sql, account: string, limit: number, offset: number) => db.many<CallerIdRow>`
  select * from caller_id_standing where account_id = ${account}
  order by created_at, id limit ${limit} offset ${offset}`

export const total = async (db: Sql, account: string): Promise<number> =>
  (
    await db.one<{ total: number }>`
      select count(*)::integer as total from caller_ids where account_id = ${account} and removed_at is null`
  ).total

export const find = (db: Sql, account: string, id: string) =>
  db.maybe<CallerIdRow>`select * from caller_id_standing where account_id = ${account} and id = ${id}`

type Usable = { id: string; number: string; virtual_number_id: string | null }

/** One that is proved, and whose number is not suspended; a bought one first, best of this country.
 *  @param simulated whether a proof within the sandbox is enough */
export const usable = (
  db: Sql,
  account: string,
  {
    id = null,
    number = null,
    country,
    simulated,
  }: { id?: string | null; number?: string | null; country: string; simulated: boolean },
) => db.maybe<Usable>`
  select c.id, c.phone_number as number, c.virtual_number_id
  from caller_id_standing c
  left join virtual_numbers v on v.number = c.phone_number and v.released_at is null
  where c.account_id = ${account} and c.verified and (not c.simulated or ${simulated})
    and coalesce(v.status_text in ('ACTIVE', 'AWAITING_REGISTRATION', 'PENDING_CANCELLATION'), true)
    and c.id = coalesce(${id}::uuid, c.id) and c.phone_number = coalesce(${number}::text, c.phone_number)
  order by c.type <> 'VN', c.iso_country_code <> ${country}, c.created_at, c.id
  limit 1`

/** True when the number can be shown already. */
export const isShown = async (tx: Tx, account: string, number: string, simulated: boolean): Promise<boolean> =>
  (await tx.maybe`
    select 1 from caller_id_standing
    where account_id = ${account} and phone_number = ${number} and verified and (not simulated or ${simulated})
    limit 1`) !== null

type NewCallerId = Pick<
  CallerIdRow,
  'account_id' | 'id' | 'msgapp_channel_id' | 'phone_number' | 'iso_country_code' | 'type'
> & { friendly_name: string | null }

/** Adds one that is not proved yet, or names the one that there is. @returns its id */
export const keep = async (tx: Tx, c: NewCallerId): Promise<string> =>
  (
    await tx.one<{ id: string }>`
      insert into caller_ids (account_id, id, msgapp_channel_id, phone_number, friendly_name, iso_country_code, type)
      values (${c.account_id}, ${c.id}, ${c.msgapp_channel_id}, ${c.phone_number},
        coalesce(${c.friendly_name}::text, ${c.phone_number}::text), ${c.iso_country_code}, ${c.type})
      on conflict (account_id, type, phone_number) where removed_at is null and type in ('WW', 'CI') do update
        set friendly_name = coalesce(${c.friendly_name}::text, caller_ids.friendly_name), updated_at = app_now()
      returning id`
  ).id

/** Calls of the past still name it. */
export const remove = async (tx: Tx, account: string, by: { id?: string; channel?: string }): Promise<void> => {
  await tx.run`
    update caller_ids set removed_at = app_now(), updated_at = app_now()
    where account_id = ${account} and removed_at is null
      and (id = ${by.id ?? null}::uuid or msgapp_channel_id = ${by.channel ?? null}::uuid)`
}

/** A new code for a number instead of the last one. Null within a minute of that, or after ten of a day. */
export const renewCode = (
  tx: Tx,
  account: string,
  number: string,
  { hash, simulated }: { hash: Buffer; simulated: boolean },
) => tx.maybe<{ expires_at: Date }>`
  insert into caller_id_codes as k (account_id, phone_number, hash, simulated, sent_at, expires_at, day_from)
  values (${account}, ${number}, ${hash}, ${simulated}, app_now(), app_now() + interval '10 minutes', app_now())
  on conflict (account_id, phone_number) do update
    set hash = excluded.hash, simulated = excluded.simulated, attempts = 0, sent_at = excluded.sent_at, expires_at = excluded.expires_at,
      day_from = case when k.day_from <= app_now() - interval '1 day' then app_now() else k.day_from end,
      day_codes = case when k.day_from <= app_now() - interval '1 day' then 1 else k.day_codes + 1 end
    where k.sent_at <= app_now() - interval '1 minute'
      and (k.day_codes < ${codesPerDay.pair} or k.day_from <= app_now() - interval '1 day')
  returning expires_at`

/** Counts an attempt. Null when there is no code to be right: an old one, or one that five have missed. */
export const attempt = (tx: Tx, account: string, number: string, hash: Buffer) => tx.maybe<{
  is_right: boolean
  simulated: boolean
}>`
  update caller_id_codes set attempts = attempts + 1
  where account_id = ${account} and phone_number = ${number} and attempts < ${attemptsPerCode} and expires_at > app_now()
  returning hash = ${hash} as is_right, simulated`

export const verify = async (
  tx: Tx,
  account: string,
  { id, number, simulated }: { id: string; number: string; simulated: boolean },
): Promise<void> => {
  // The row stays, spent: its counts outlive the caller id.
  await tx.run`
    update caller_id_codes set expires_at = app_now() where account_id = ${account} and phone_number = ${number}`
  await tx.run`
    update caller_ids set verified = true, simulated = ${simulated}, updated_at = app_now()
    where account_id = ${account} and id = ${id}`
}

export type CounterRow = { subject: string; codes: number; attempts: number; ends_at: Date }

/** Adds to the counters of the account, over all its numbers, and of the number, over all accounts. @returns both */
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

/** Forgets codes and counters that limit nothing any more. */
export const forgetCodes = async (tx: Tx): Promise<void> => {
  await tx.run`
    delete from caller_id_codes
    where sent_at <= app_now() - interval '1 day' and day_from <= app_now() - interval '1 day'`
  await tx.run`delete from caller_id_code_counters where day_from <= app_now() - interval '1 day'`
}
