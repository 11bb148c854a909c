import type { Tx } from '../../db/sql.ts'
import { Problem } from '../../http/problem.ts'
import * as store from './store.ts'
import { place, take, type Window } from './window.ts'

/** Checks of a trial within a minute. */
export const trialPace = 10

/** Checks of an account within a minute (interface.md part 8). */
const pace = (onTrial: boolean, connected: number) =>
  onTrial ? { limit: trialPace, apart: 6_000 } : { limit: 50 * Math.max(1, connected), apart: 0 }

/** A check waits so long for its turn toward the network, at most. */
const longestWaitMs = 20_000

const tooMany = (why: string, milliseconds: number): never => {
  const seconds = Math.max(1, Math.ceil(milliseconds / 1_000))
  throw new Problem('tooMany', `${why}: try again in ${seconds} s`, 'too_many_checks', {
    'retry-after': String(seconds),
  })
}

type Spender = { readonly id: string; readonly onTrial: boolean }

/**
 * Counts checks against the account's quotas; beyond the request itself each is `calls` API calls.
 * @throws the 402 Problem when they do not suffice
 */
export const count = async (tx: Tx, account: Spender, checks: number, calls: number): Promise<void> => {
  const after = await store.count(tx, account.id, checks, calls)
  if (after.max_number_checks !== null && after.number_checks > after.max_number_checks)
    throw new Problem('balance', `The quota of ${after.max_number_checks} number checks is used up`, 'quota_exceeded')
  if (after.max_api_requests !== null && after.api_requests > after.max_api_requests)
    throw new Problem('balance', `The quota of ${after.max_api_requests} API calls is used up`, 'quota_exceeded')
}

/** Takes one check of the account's minute, all processes together. @throws the 429 Problem with how long to wait */
export const spend = async (tx: Tx, account: Spender, connected: number): Promise<void> => {
  const { limit, apart } = pace(account.onTrial, connected)
  const { now, ...window } = await store.lockWindow(tx, account.id)
  const next = take(window, { limit, apart, now })
  if ('wait' in next) return tooMany(`More than ${limit} checks a minute`, next.wait)
  await store.keepWindow(tx, account.id, next.taken)
}

/**
 * Gives a check its time toward the network, so that no minute of the number holds more of them than the network bears.
 * @returns when, by the platform's clock, and in how many milliseconds
 * @throws the 429 Problem when that is too far away
 */
export const turn = async (tx: Tx, channel: string, limit: number): Promise<{ at: Date; wait: number }> => {
  const { now, ...window } = await store.lockWindow(tx, channel)
  const { at, placed } = place(window, { limit, now })
  if (at - now > longestWaitMs) tooMany(`The network bears ${limit} checks a minute of a number`, at - now)
  await store.keepWindow(tx, channel, placed)
  return { at: new Date(at), wait: at - now }
}

/** Gives so many checks of a batch their times toward the network. @returns the last of them */
export const turns = async (tx: Tx, channel: string, limit: number, checks: number): Promise<Date> => {
  const { now, ...window } = await store.lockWindow(tx, channel)
  let next: { at: number; placed: Window } = { at: now, placed: window }
  for (let i = 0; i < checks; i++) next = place(next.placed, { limit, now })
  await store.keepWindow(tx, channel, next.placed)
  return new Date(next.at)
}
