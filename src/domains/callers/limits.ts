import type { CounterRow } from './counter-row.ts'
import { refusals } from './refusals.ts'

/** Codes sent within a day. pair: to one number for one account; account: to all numbers; number: for all accounts. */
export const codesPerDay = { pair: 10, account: 50, number: 20 } as const

/** Wrong attempts after which a code is invalid. */
export const attemptsPerCode = 5

/** Wrong attempts allowed in one call. */
export const attemptsPerCall = 3

/** Attempts within a day. account: for all numbers; number: by all accounts. The chance of a right guess is 1 in
 *  20,000. */
export const attemptsPerDay = { account: 50, number: 50 } as const

const secondsUntil = (end: Date, now: number): number => Math.max(1, Math.ceil((end.getTime() - now) / 1000))

/** Compares the counters of an account and of a number with their limits. @throws the 429 Problem */
export const assertWithinLimits = (rows: readonly CounterRow[], account: string, now: number): void => {
  for (const { subject, codes, attempts, ends_at } of rows) {
    const [scope, who] = subject === account ? (['account', 'The account'] as const) : (['number', subject] as const)
    if (codes > codesPerDay[scope]) throw refusals.codeLimit(who, codesPerDay[scope], secondsUntil(ends_at, now))
    if (attempts > attemptsPerDay[scope])
      throw refusals.attemptLimit(who, attemptsPerDay[scope], secondsUntil(ends_at, now))
  }
}
