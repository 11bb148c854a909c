import type { Config } from '../config.ts'
import type { Sql, Tx } from '../db/sql.ts'
import { decimal, type Micros, micros } from '../lib/money.ts'
import { describe } from '../lib/phone.ts'
import { closedCountries } from './closed-countries.ts'
import { type Refused, refuse } from './destination.ts'

// What keeps a stolen token from making money for somebody else: toll fraud calls numbers that pay who has them.

export type LimitsRow = {
  calls_at_a_time: number | null
  attempts_per_minute: number | null
  spend_per_day: string | null
  destinations: string[] | null
}

/** The limits of an account: an operator's where there are such, else those of the settings. */
export type Limits = {
  readonly callsAtATime: number
  readonly attemptsPerMinute: number
  readonly spendPerDay: Micros
  readonly destinations: readonly string[] | null
}

export type LimitSettings = Pick<Config, 'callsAtATime' | 'callsPerMinute' | 'callSpendPerDay'>

const none: LimitsRow = { calls_at_a_time: null, attempts_per_minute: null, spend_per_day: null, destinations: null }

export const limitsOf = async (sql: Sql, account: string, settings: LimitSettings): Promise<Limits> => {
  const row = (await find(sql, account)) ?? none
  return {
    callsAtATime: row.calls_at_a_time ?? settings.callsAtATime,
    attemptsPerMinute: row.attempts_per_minute ?? settings.callsPerMinute,
    spendPerDay: micros(row.spend_per_day ?? settings.callSpendPerDay) ?? 0,
    destinations: row.destinations,
  }
}

export const find = (sql: Sql, account: string) => sql.maybe<LimitsRow>`
  select calls_at_a_time, attempts_per_minute, spend_per_day, destinations from call_limits where account_id = ${account}`

/** What is not given stays as it is. Null when there is no such account. */
export const setLimits = async (tx: Tx, account: string, given: Partial<LimitsRow>): Promise<LimitsRow | null> => {
  const known = await tx.maybe`select 1 from accounts where id = ${account} for share`
  if (!known) return null
  const next = { ...none, ...(await find(tx, account)), ...given }
  return await tx.one<LimitsRow>`
    insert into call_limits (account_id, calls_at_a_time, attempts_per_minute, spend_per_day, destinations)
    values (${account}, ${next.calls_at_a_time}, ${next.attempts_per_minute}, ${next.spend_per_day}::numeric,
      ${next.destinations}::text[])
    on conflict (account_id) do update set calls_at_a_time = excluded.calls_at_a_time,
      attempts_per_minute = excluded.attempts_per_minute, spend_per_day = excluded.spend_per_day,
      destinations = excluded.destinations
    returning calls_at_a_time, attempts_per_minute, spend_per_day, destinations`
}

/** Counts an attempt. @returns how many there were within this minute */
export const countAttempt = async (sql: Sql, account: string): Promise<number> =>
  (
    await sql.one<{ attempts: number }>`
      insert into call_meters as m (account_id, minute, attempts, day)
      values (${account}, date_trunc('minute', app_now()), 1, (app_now() at time zone 'UTC')::date)
      on conflict (account_id) do update set minute = excluded.minute,
        attempts = case when m.minute = excluded.minute then m.attempts + 1 else 1 end
      returning attempts`
  ).attempts

/** Counts, by name, what this process has seen within a minute, and forgets the minutes before. @returns how many there were */
export const makeTally = (): ((name: string) => number) => {
  let minute = 0
  const seen = new Map<string, number>()
  return (name) => {
    const current = Math.floor(performance.now() / 60_000)
    if (current !== minute) seen.clear()
    minute = current
    const count = (seen.get(name) ?? 0) + 1
    seen.set(name, count)
    return count
  }
}

/**
 * Whether an attempt of this minute is written down that is one too many: as many as the account may make, and beyond them each time their
 * number has doubled. Who tries without end would fill the disk.
 */
export const isKept = (attempts: number, limit: number): boolean => {
  const over = attempts - limit
  return over <= limit || Number.isInteger(Math.log2(over))
}

/** What was spent on calls today. */
export const addSpent = (tx: Tx, account: string, price: Micros) => tx.run`
  insert into call_meters as m (account_id, minute, attempts, day, spent)
  values (${account}, date_trunc('minute', app_now()), 0, (app_now() at time zone 'UTC')::date, ${decimal(price)}::numeric)
  on conflict (account_id) do update set day = excluded.day,
    spent = case when m.day = excluded.day then m.spent else 0 end + excluded.spent`

type Load = { open: number; committed: string }

/** Calls under way, and USD that today's calls have cost or are held for those. */
const loadOf = (sql: Sql, account: string) => sql.one<Load>`
  select count(*)::integer as open, coalesce(sum(c.held_minutes * c.rate) filter (where c.direction = 'O'), 0) + coalesce((
    select spent from call_meters where account_id = ${account} and day = (app_now() at time zone 'UTC')::date), 0) as committed
  from calls c where c.account_id = ${account} and c.ended_at is null and not c.is_msgapp`

/** True while a call may cost so much more today. */
export const mayStillSpend = async (
  tx: Tx,
  account: string,
  more: Micros,
  settings: LimitSettings,
): Promise<boolean> => {
  const [{ spendPerDay }, { committed }] = [await limitsOf(tx, account, settings), await loadOf(tx, account)]
  return (micros(committed) ?? 0) + more <= spendPerDay
}

/** Whether one more call may begin; others of the account wait until that is decided. @param rate of an outbound call, else 0 */
export const mayBegin = async (
  tx: Tx,
  account: string,
  rate: Micros,
  settings: LimitSettings,
): Promise<Refused | null> => {
  await tx.run`select 1 from call_meters where account_id = ${account} for update`
  const limits = await limitsOf(tx, account, settings)
  const { open, committed } = await loadOf(tx, account)
  if (open >= limits.callsAtATime)
    return refuse(403, 'too_many_calls', `The account may have ${limits.callsAtATime} calls at a time`)
  if (rate > 0 && (micros(committed) ?? 0) + rate > limits.spendPerDay)
    return refuse(403, 'spend_limit', `The account may spend USD ${decimal(limits.spendPerDay)} a day on calls`)
  return null
}

/** Networks of satellites and of no country, and international premium rate (ITU-T E.164, list of assigned country codes). */
const costly = ['870', '878', '881', '882', '883', '888', '979']

const closed = [...costly, ...closedCountries.values().toArray().flat()]

/** Kinds of numbers that pay whoever has them; personal numbers (+44 70) forward to anywhere at the caller's cost. */
const paying = new Set<string | undefined>(['PREMIUM_RATE', 'PERSONAL_NUMBER'])

/** Null when the number may be called. @param destinations of the account; null: those of the default list */
export const mayCall = (number: string, destinations: Limits['destinations']): Refused | null => {
  const digits = number.slice(1)
  const allowed = destinations
    ? destinations.some((prefix) => digits.startsWith(prefix))
    : !closed.some((prefix) => digits.startsWith(prefix)) && !paying.has(describe(number)?.getType())
  return allowed ? null : refuse(403, 'destination_not_allowed', `The account may not call ${number}`)
}
