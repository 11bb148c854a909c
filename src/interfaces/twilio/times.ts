/** Formats a time as in RFC 2822: `Thu, 30 Jul 2015 20:12:31 +0000`. */
export const rfc2822 = (time: Date | number): string => new Date(time).toUTCString().replace('GMT', '+0000')

/**
 * Reads the day of a filter of dates: `2026-11-29`, or a time of which the day counts.
 * @returns its first moment in UTC; null for any other text, and outside of the years from 1970 to 9998, which every reader
 * of times knows
 */
export const dayOf = (text: string): Date | null => {
  const day = /^(\d{4}-\d\d-\d\d)(?:[T ].*)?$/.exec(text.trim())?.[1]
  if (day === undefined) return null
  const time = Date.parse(`${day}T00:00:00Z`)
  if (Number.isNaN(time) || time < 0 || new Date(time).toISOString().slice(0, 10) !== day) return null
  return day.startsWith('9999') ? null : new Date(time)
}

/** Returns the first moment of the next day. */
export const nextDay = (day: Date): Date => new Date(day.getTime() + 86_400_000)
