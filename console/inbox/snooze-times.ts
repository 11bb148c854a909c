// Times for which a conversation is snoozed by one key, in the person's zone. Pure.

export type SnoozeTime = { readonly name: 'hour' | 'tonight' | 'tomorrow'; readonly at: Date }

const at = (from: Date, days: number, hour: number): Date =>
  new Date(from.getFullYear(), from.getMonth(), from.getDate() + days, hour)

/** One hour, tonight (before 18:00 only) and tomorrow at 9:00. */
export const snoozeTimes = (now: Date): readonly SnoozeTime[] => [
  { name: 'hour', at: new Date(now.getTime() + 3_600_000) },
  ...(now.getHours() < 17 ? [{ name: 'tonight' as const, at: at(now, 0, 18) }] : []),
  { name: 'tomorrow', at: at(now, 1, 9) },
]

/** A time for `datetime-local`. */
export const localValue = (time: Date): string =>
  new Date(time.getTime() - time.getTimezoneOffset() * 60_000).toISOString().slice(0, 16)
