import { maxRetryAfterSeconds } from '../limits.ts'

// Retry schedule of webhook deliveries.

/** Seconds from one attempt to the next. */
const delaysSeconds = [5, 300, 1_800, 7_200, 18_000, 36_000, 36_000]

/** After this many failures the next delivery of the conversation is sent nevertheless. */
export const maxHoldingFailures = 3

/** Most seconds that a conversation waits behind a failing delivery. */
export const longestHoldSeconds = 300

/** Consecutive failures after which a receiver counts as down. */
export const downAfter = 10

/** Seconds without a success after which a failing webhook is disabled. */
export const disableAfterSeconds = 5 * 86_400

/**
 * Returns the seconds until the next attempt, ± 10 %; null after the last.
 * @param failed failed attempts, from 1
 * @param retryAfter seconds of the response's Retry-After, as a minimum
 */
export const nextDelay = (failed: number, retryAfter = 0, random: () => number = Math.random): number | null => {
  const delay = delaysSeconds[failed - 1]
  if (delay === undefined) return null
  // Within the 10 %, but early enough for the third attempt to start before the conversation has waited five minutes.
  // Two attempts of 10 s and the first delay have passed by then.
  const spread = failed === maxHoldingFailures - 1 ? 0.9 + random() * 0.04 : 0.9 + random() * 0.2
  return Math.max(delay * spread, Math.min(retryAfter, maxRetryAfterSeconds))
}

/** Returns the seconds between probes of a receiver that is down: 5, 10, 20 … 120. */
export const probeInterval = (failures: number): number => Math.min(120, 5 * 2 ** Math.min(failures - downAfter, 10))

/** Parses Retry-After (RFC 9110, 10.2.3) to seconds; 0 if absent or malformed. */
export const parseRetryAfter = (retryAfter: string | null, now: number): number => {
  if (retryAfter === null) return 0
  if (/^\d{1,9}$/.test(retryAfter)) return Number(retryAfter)
  const date = Date.parse(retryAfter)
  return Number.isNaN(date) ? 0 : Math.max(0, Math.ceil((date - now) / 1000))
}
