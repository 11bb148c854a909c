/** The clock of the platform: the machine's, moved forward by what the sandbox asked. For what people see and plan by;
 *  durations use the monotonic clock, and what decides money or ownership the database's `app_now()`. */
export type Clock = {
  /** Unix milliseconds. */
  now(): number
  /** Seconds that the sandbox moved it forward. */
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

/** ISO 8601 UTC with seconds: `2026-11-21T06:20:00Z`. */
export const iso = (time: Date | number): string => `${new Date(time).toISOString().slice(0, 19)}Z`

/** Unix seconds. */
export const seconds = (time: Date | number): number => Math.floor(Number(time) / 1000)
