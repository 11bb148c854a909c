import { approximate } from '../words/decimal.ts'

/** Days of usage from which the rate is taken. */
export const rateDays = 7

/** The first moment of the rate: the start of the UTC day six days ago. */
export const rateSince = (now: number): string => {
  const start = new Date(now - (rateDays - 1) * 86_400_000)
  return `${start.toISOString().slice(0, 10)}T00:00:00Z`
}

/** Whole days that a balance lasts at the rate of the last days; null if nothing was spent. */
export const daysLeft = (balance: string, spent: string): number | null => {
  const [left, rate] = [approximate(balance), approximate(spent) / rateDays]
  return rate > 0 ? Math.max(0, Math.floor(left / rate)) : null
}
