import { numberDetails } from '@trunkline/phone/phone.ts'
import type { Config } from '../../../config.ts'
import type { Sql, Tx } from '../../../platform/db/sql.ts'
import { decimal, type Micros, micros } from '../../../platform/lib/money.ts'
import { callsPerSecond } from '../limits.ts'
import { type CallRefusal, callRefusals } from '../refusals.ts'
import { closedCountries } from './closed-countries.ts'

// Limits against toll fraud: stolen credentials are used to call numbers whose owner earns from each call.

export type LimitsRow = {
  calls_at_a_time: number | null
  attempts_per_minute: number | null
  spend_per_day: string | null
  calls_per_second: number | null
  destinations: string[] | null
}

/** Limits of an account: set by an operator, otherwise from the settings. */
export type Limits = {
  readonly callsAtATime: number
  readonly attemptsPerMinute: number
  readonly spendPerDay: Micros
  /** Calls that the API may begin in a second. */
  readonly callsPerSecond: number
  readonly destinations: readonly string[] | null
}

export type LimitSettings = Pick<Config, 'callsAtATime' | 'callsPerMinute' | 'callSpendPerDay'>

const none: LimitsRow = {
  ...{ calls_at_a_time: null, attempts_per_minute: null, spend_per_day: null, calls_per_second: null },
  destinations: null,
}

export const limitsOf = async (sql: Sql, account: string, settings: LimitSettings): Promise<Limits> => {
  const row = (await find(sql, account)) ?? none
  return {
    callsAtATime: row.calls_at_a_time ?? settings.callsAtATime,
    attemptsPerMinute: row.attempts_per_minute ?? settings.callsPerMinute,
    spendPerDay: micros(row.spend_per_day ?? settings.callSpendPerDay) ?? 0,
    callsPerSecond: row.calls_per_second ?? callsPerSecond,
    destinations: row.destinations,
  }
}

/** Returns the default limits in the form of the API. */
export const presentDefaults = ({ callsAtATime, callsPerMinute, callSpendPerDay }: LimitSettings) => ({
  calls_at_a_time: callsAtATime,
  attempts_per_minute: callsPerMinute,
  spend_per_day: decimal(micros(callSpendPerDay) ?? 0),
  calls_per_second: callsPerSecond,
  destinations: 'all but premium rate, personal numbers, satellites and countries known for toll fraud',
})

export const find = (sql: Sql, account: string) => sql.maybe<LimitsRow>`
  select calls_at_a_time, attempts_per_minute, spend_per_day, calls_per_second, destinations from call_limits where account_id = ${account}`

/** Changes the given limits; absent ones stay unchanged. Returns null if the account does not exist. */
export const setLimits = async (tx: Tx, account: string, changes: Partial<LimitsRow>): Promise<LimitsRow | null> => {
  const known = await tx.maybe`select 1 from accounts where id = ${account} for share`
  if (!known) return null
  const next = { ...none, ...(await find(tx, account)), ...changes }
  return await tx.one<LimitsRow>`
    insert into call_limits (account_id, calls_at_a_time, attempts_per_minute, spend_per_day, calls_per_second, destinations)
    values (${account}, ${next.calls_at_a_time}, ${next.attempts_per_minute}, ${next.spend_per_day}::numeric,
      ${next.calls_per_second}, ${next.destinations}::text[])
    on conflict (account_id) do update set calls_at_a_time = excluded.calls_at_a_time,
      attempts_per_minute = excluded.attempts_per_minute, spend_per_day = excluded.spend_per_day,
      calls_per_second = excluded.calls_per_second, destinations = excluded.destinations
    returning calls_at_a_time, attempts_per_minute, spend_per_day, calls_per_second, destinations`
}

/** Counts an attempt. @returns the number of attempts within this minute */
export const countAttempt = async (sql: Sql, account: string): Promise<number> =>
  (
    await sql.one<{ attempts: number }>`
      insert into call_usage as m (account_id, minute, attempts, day)
      values (${account}, date_trunc('minute', app_now()), 1, (app_now() at time zone 'UTC')::date)
      on conflict (account_id) do update set minute = excluded.minute,
        attempts = case when m.minute = excluded.minute then m.attempts + 1 else 1 end
      returning attempts`
  ).attempts

/** Returns a counter of events per name within the current minute, in this process. */
export const makeMinuteCounter = (): ((name: string) => number) => {
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
 * Whether an attempt above the limit gets a CDR: the first `limit` excess attempts of a minute, then each time their
 * number doubles. Otherwise endless attempts would fill the disk.
 */
export const getsRecord = (attempts: number, limit: number): boolean => {
  const over = attempts - limit
  return over <= limit || Number.isInteger(Math.log2(over))
}

/** Adds to the account's spending of today. */
export const addSpending = (tx: Tx, account: string, price: Micros) => tx.run`
  insert into call_usage as m (account_id, minute, attempts, day, spent)
  values (${account}, date_trunc('minute', app_now()), 0, (app_now() at time zone 'UTC')::date, ${decimal(price)}::numeric)
  on conflict (account_id) do update set day = excluded.day,
    spent = case when m.day = excluded.day then m.spent else 0 end + excluded.spent`

type AccountLoad = { open: number; committed: string }

/** Returns the current calls, but those of the API that wait, and USD that today's calls have cost or that is held for current ones. */
const loadOf = (sql: Sql, account: string) => sql.one<AccountLoad>`
  select count(*) filter (where not c.queued or c.due_at is null)::integer as open, coalesce(sum(c.held_minutes * c.rate) filter (where c.direction = 'O'), 0) + coalesce((
    select spent from call_usage where account_id = ${account} and day = (app_now() at time zone 'UTC')::date), 0) as committed
  from calls c where c.account_id = ${account} and c.ended_at is null and not c.is_msgapp`

/** Whether the account may spend `more` on calls today, serialised per account: its calls may ask at the same moment. */
export const mayStillSpend = async (
  tx: Tx,
  account: string,
  more: Micros,
  settings: LimitSettings,
): Promise<boolean> => {
  await tx.run`select 1 from call_usage where account_id = ${account} for update`
  const [{ spendPerDay }, { committed }] = [await limitsOf(tx, account, settings), await loadOf(tx, account)]
  return (micros(committed) ?? 0) + more <= spendPerDay
}

const overSpending = ({ spendPerDay }: Limits, { committed }: AccountLoad, rate: Micros): CallRefusal | null =>
  rate > 0 && (micros(committed) ?? 0) + rate > spendPerDay ? callRefusals.spendLimit(decimal(spendPerDay)) : null

/** Checks whether the account may spend the first minute of an outbound call today. */
export const checkSpending = async (
  tx: Tx,
  account: string,
  rate: Micros,
  settings: LimitSettings,
): Promise<CallRefusal | null> => overSpending(await limitsOf(tx, account, settings), await loadOf(tx, account), rate)

/** Checks whether another call may begin, serialised per account. @param rate of an outbound call, otherwise 0 */
export const checkCallLimits = async (
  tx: Tx,
  account: string,
  rate: Micros,
  settings: LimitSettings,
): Promise<CallRefusal | null> => {
  await tx.run`select 1 from call_usage where account_id = ${account} for update`
  const limits = await limitsOf(tx, account, settings)
  const load = await loadOf(tx, account)
  if (load.open >= limits.callsAtATime) return callRefusals.tooManyCalls(limits.callsAtATime)
  return overSpending(limits, load, rate)
}

/** Satellite and global networks, and international premium rate (ITU-T E.164, list of assigned country codes). */
const premiumPrefixes = ['870', '878', '881', '882', '883', '888', '979']

const closed = [...premiumPrefixes, ...closedCountries.values().toArray().flat()]

/** Number types whose owner earns from calls. Personal numbers (+44 70) forward to anywhere at the caller's cost. */
const premiumTypes = new Set<string | undefined>(['PREMIUM_RATE', 'PERSONAL_NUMBER'])

/** Returns null if the number may be called. @param destinations of the account; null: the default list */
export const checkDestination = (number: string, destinations: Limits['destinations']): CallRefusal | null => {
  const digits = number.slice(1)
  const allowed = destinations
    ? destinations.some((prefix) => digits.startsWith(prefix))
    : !closed.some((prefix) => digits.startsWith(prefix)) && !premiumTypes.has(numberDetails(number)?.getType())
  return allowed ? null : callRefusals.destinationNotAllowed(number)
}
