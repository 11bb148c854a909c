// When a delivery is tried again (completions.md part 9).

/** Seconds from one try to the next. */
const delays = [5, 300, 1_800, 7_200, 18_000, 36_000, 36_000]

/** So often a delivery fails before the next one of its conversation is sent all the same. */
export const holds = 3

/** Seconds that a conversation waits behind a failing delivery at most. */
export const longestHold = 300

/** Failures in a row after which a receiver counts as down. */
export const downAfter = 10

/** Seconds of failures without a success after which a webhook is disabled. */
export const disableAfter = 5 * 86_400

/** What a receiver may ask us to wait at most. */
const longestWait = 43_200

/**
 * Seconds until the next try, ± 10 %; null when there is none.
 * @param failed tries that failed, from 1
 * @param asked seconds, of the answer's Retry-After: it is not tried sooner
 */
export const nextDelay = (failed: number, asked = 0, random: () => number = Math.random): number | null => {
  const delay = delays[failed - 1]
  if (delay === undefined) return null
  // Within the 10 %, but early enough for the third try to begin before the conversation has waited its five minutes: two
  // tries of 10 s and the first delay have passed by then.
  const spread = failed === holds - 1 ? 0.9 + random() * 0.04 : 0.9 + random() * 0.2
  return Math.max(delay * spread, Math.min(asked, longestWait))
}

/** Seconds between looks at a receiver that is down, for those that wait: 5, 10, 20 … 120. */
export const lookAgain = (failures: number): number => Math.min(120, 5 * 2 ** Math.min(failures - downAfter, 10))

/** The seconds that a Retry-After names (RFC 9110, 10.2.3); 0 when there is none, or none that makes sense. */
export const secondsOf = (retryAfter: string | null, now: number): number => {
  if (retryAfter === null) return 0
  if (/^\d{1,9}$/.test(retryAfter)) return Number(retryAfter)
  const date = Date.parse(retryAfter)
  return Number.isNaN(date) ? 0 : Math.max(0, Math.ceil((date - now) / 1000))
}
