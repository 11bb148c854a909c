import { checkGrainMs } from '../limits.ts'
/** Sliding window: ascending times (Unix milliseconds), and the count at each. */
export type Window = { readonly times: readonly number[]; readonly counts: readonly number[] }

export const minute = 60_000

export const emptyWindow: Window = { times: [], counts: [] }

/** Drops entries of a minute ago or longer. */
const dropOld = ({ times, counts }: Window, now: number): Window => {
  const from = times.findIndex((time) => time > now - minute)
  return from < 0 ? emptyWindow : { times: times.slice(from), counts: counts.slice(from) }
}

const sum = (counts: readonly number[]) => counts.reduce((total, count) => total + count, 0)

const withEntry = ({ times, counts }: Window, at: number): Window =>
  times.at(-1) === at
    ? { times, counts: [...counts.slice(0, -1), (counts.at(-1) ?? 0) + 1] }
    : { times: [...times, at], counts: [...counts, 1] }

/**
 * Admits one more if no minute, wherever it begins, then exceeds `limit`.
 * @param apart minimum milliseconds since the previous one
 * @returns the new window, or the milliseconds to wait
 */
export const admit = (
  window: Window,
  { limit, now, apart = 0 }: { limit: number; now: number; apart?: number },
): { taken: Window } | { wait: number } => {
  const current = dropOld(window, now)
  const last = current.times.at(-1)
  if (apart > 0 && last !== undefined && last + apart > now) return { wait: last + apart - now }
  const [oldest = now] = current.times
  if (sum(current.counts) >= limit) return { wait: oldest + minute - now }
  return { taken: withEntry(current, apart > 0 ? now : Math.ceil(now / checkGrainMs) * checkGrainMs) }
}

/** Share admitted without a wait, so that a person who tries some numbers is not delayed. */
const immediateShare = 1 / 3

/**
 * Schedules one more so that no minute exceeds `limit`: the first third at once, then spread over the rest of the
 * minute.
 * @returns the time, not before `now`, and the new window
 */
export const schedule = (
  window: Window,
  { limit, now }: { limit: number; now: number },
): { at: number; placed: Window } => {
  // Times ahead of now are already reserved.
  const from = Math.max(now, window.times.at(-1) ?? now)
  const current = dropOld(window, from)
  const count = sum(current.counts)
  const [oldest = from] = current.times
  const left = oldest + minute - from
  const at =
    count < Math.ceil(limit * immediateShare)
      ? from
      : count >= limit
        ? oldest + minute
        : from + left / (limit - count + 1)
  return { at, placed: withEntry(dropOld(current, at), at) }
}
