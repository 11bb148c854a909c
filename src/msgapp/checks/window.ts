/** What was done when: ascending times, Unix milliseconds, and how many at each of them. */
export type Window = { readonly times: readonly number[]; readonly counts: readonly number[] }

export const minute = 60_000

/** Times are rounded up to this, so that a minute's count has few entries: nothing is forgotten early, and at most 0.8 % of
 *  a minute's allowance late. */
const grain = 500

export const emptyWindow: Window = { times: [], counts: [] }

/** Without what was a minute ago or longer. */
const recent = ({ times, counts }: Window, now: number): Window => {
  const from = times.findIndex((time) => time > now - minute)
  return from < 0 ? emptyWindow : { times: times.slice(from), counts: counts.slice(from) }
}

const sum = (counts: readonly number[]) => counts.reduce((total, count) => total + count, 0)

const added = ({ times, counts }: Window, at: number): Window =>
  times.at(-1) === at
    ? { times, counts: [...counts.slice(0, -1), (counts.at(-1) ?? 0) + 1] }
    : { times: [...times, at], counts: [...counts, 1] }

/**
 * Counts one more, if no minute, wherever it begins, then holds more than `limit`.
 * @param apart least milliseconds since the one before
 * @returns the window with it, or how many milliseconds to wait
 */
export const take = (
  window: Window,
  { limit, now, apart = 0 }: { limit: number; now: number; apart?: number },
): { taken: Window } | { wait: number } => {
  const current = recent(window, now)
  const last = current.times.at(-1)
  if (apart > 0 && last !== undefined && last + apart > now) return { wait: last + apart - now }
  const [oldest = now] = current.times
  if (sum(current.counts) >= limit) return { wait: oldest + minute - now }
  return { taken: added(current, apart > 0 ? now : Math.ceil(now / grain) * grain) }
}

/** So many are let through without a wait, so that a person who tries some numbers is not held up. */
const easyShare = 1 / 3

/**
 * The next time at which one more may be done, so that no minute holds more than `limit`: at once for the first third of
 * them, then spread over what is left of the minute.
 * @returns the time, not before `now`, and the window with it
 */
export const place = (
  window: Window,
  { limit, now }: { limit: number; now: number },
): { at: number; placed: Window } => {
  // Times ahead of now were given to others already.
  const from = Math.max(now, window.times.at(-1) ?? now)
  const current = recent(window, from)
  const count = sum(current.counts)
  const [oldest = from] = current.times
  const left = oldest + minute - from
  const at =
    count < Math.ceil(limit * easyShare) ? from : count >= limit ? oldest + minute : from + left / (limit - count + 1)
  return { at, placed: added(recent(current, at), at) }
}
