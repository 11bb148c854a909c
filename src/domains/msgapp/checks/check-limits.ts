import type { Tx } from '../../../platform/db/sql.ts'
import { refusals as httpRefusals } from '../../../platform/http/refusals.ts'
import { maxCheckWaitMs } from '../limits.ts'
import { refusals } from '../refusals.ts'
import { admit, schedule, type Window } from './sliding-window.ts'
import * as store from './store.ts'

/** Checks of a trial per minute. */
export const trialChecksPerMinute = 10

/** Checks of an account per minute (interface.md part 8). */
const checksPerMinute = (onTrial: boolean, connected: number) =>
  onTrial ? { limit: trialChecksPerMinute, apart: 6_000 } : { limit: 50 * Math.max(1, connected), apart: 0 }

const wholeSeconds = (milliseconds: number): number => Math.max(1, Math.ceil(milliseconds / 1_000))

type CheckAccount = { readonly id: string; readonly onTrial: boolean }

/**
 * Counts checks against the account's quotas, and the API calls they cost beyond the request itself.
 * @throws the 402 Problem if a quota is exceeded
 */
export const count = async (tx: Tx, account: CheckAccount, checks: number, calls: number): Promise<void> => {
  const after = await store.count(tx, account.id, checks, calls)
  if (after.max_number_checks !== null && after.number_checks > after.max_number_checks)
    throw refusals.checksUsedUp(after.max_number_checks)
  if (after.max_api_requests !== null && after.api_requests > after.max_api_requests)
    throw httpRefusals.apiCallsUsedUp(after.max_api_requests)
}

/**
 * Takes one check from the account's rate per minute, over all processes.
 * @throws the 429 Problem with the wait
 */
export const takeCheck = async (tx: Tx, account: CheckAccount, connected: number): Promise<void> => {
  const { limit, apart } = checksPerMinute(account.onTrial, connected)
  const { now, ...window } = await store.lockWindow(tx, account.id)
  const next = admit(window, { limit, apart, now })
  if ('wait' in next) throw refusals.tooManyChecks(limit, wholeSeconds(next.wait))
  await store.storeWindow(tx, account.id, next.taken)
}

/**
 * Schedules a check within the network's rate per minute for the number.
 * @returns its time by the platform clock, and the milliseconds until then
 * @throws the 429 Problem if that is too late
 */
export const scheduleCheck = async (tx: Tx, channel: string, limit: number): Promise<{ at: Date; wait: number }> => {
  const { now, ...window } = await store.lockWindow(tx, channel)
  const { at, placed } = schedule(window, { limit, now })
  if (at - now > maxCheckWaitMs) throw refusals.networkCheckLimit(limit, wholeSeconds(at - now))
  await store.storeWindow(tx, channel, placed)
  return { at: new Date(at), wait: at - now }
}

/**
 * Schedules this many checks of a batch.
 * @returns the time of the last
 */
export const scheduleBatch = async (tx: Tx, channel: string, limit: number, checks: number): Promise<Date> => {
  const { now, ...window } = await store.lockWindow(tx, channel)
  let next: { at: number; placed: Window } = { at: now, placed: window }
  for (let i = 0; i < checks; i++) next = schedule(next.placed, { limit, now })
  await store.storeWindow(tx, channel, next.placed)
  return new Date(next.at)
}
