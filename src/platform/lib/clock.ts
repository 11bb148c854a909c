/** The clock of the platform: the machine's, moved forward by the sandbox. It serves displayed and scheduled times.
 *  Durations use the monotonic clock; decisions about money or ownership use the database's `app_now()`. */
export type Clock = {
  /** Unix milliseconds. */
  now(): number
  /** Seconds by which the sandbox moved the clock forward. */
  offset(): number
  move(offsetSeconds: number): void
}

export const makeClock = (real: () => number = Date.now): Clock => {
  let offset = 0
  return {
    now: () => real() + offset * 1000,
    offset: () => offset,
    move: (seconds) => {
      offset = seconds
    },
  }
}

/** Formats a time as ISO 8601 UTC with seconds: `2026-11-21T06:20:00Z`. */
export const iso = (time: Date | number): string => `${new Date(time).toISOString().slice(0, 19)}Z`

/** Unix seconds. */
export const seconds = (time: Date | number): number => Math.floor(Number(time) / 1000)
