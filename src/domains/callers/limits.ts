import { Problem } from '../../platform/http/problem.ts'
import type { CounterRow } from './counter-row.ts'

/** Codes sent within a day. pair: to one number for one account; account: to all numbers; number: for all accounts. */
export const codesPerDay = { pair: 10, account: 50, number: 20 } as const

/** Wrong attempts after which a code is invalid. */
export const attemptsPerCode = 5

/** Wrong attempts allowed in one call. */
export const attemptsPerCall = 3

/** Attempts within a day. account: for all numbers; number: by all accounts. The chance of a right guess is 1 in
 *  20,000. */
export const attemptsPerDay = { account: 50, number: 50 } as const

const refuse = (message: string, code: string, endsAt: Date, now: number): never => {
  const seconds = Math.max(1, Math.ceil((endsAt.getTime() - now) / 1000))
  throw new Problem('tooMany', message, code, { 'retry-after': String(seconds) })
}

/** Compares the counters of an account and of a number with their limits. @throws the 429 Problem */
export const assertWithinLimits = (rows: readonly CounterRow[], account: string, now: number): void => {
  for (const { subject, codes, attempts, ends_at } of rows) {
    const [scope, who] = subject === account ? (['account', 'The account'] as const) : (['number', subject] as const)
    if (codes > codesPerDay[scope])
      refuse(`${who} has reached the limit of ${codesPerDay[scope]} codes a day`, 'code_limit', ends_at, now)
    if (attempts > attemptsPerDay[scope])
      refuse(`${who} has reached the limit of ${attemptsPerDay[scope]} attempts a day`, 'attempt_limit', ends_at, now)
  }
}
