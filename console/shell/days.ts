// Days in the address of a page, such as `2026-11-23`. A day begins at midnight of the person's zone.

const form = /^\d{4}-\d{2}-\d{2}$/

const midnight = (day: string | undefined, later: number): string | undefined => {
  if (day === undefined || !form.test(day)) return undefined
  const date = new Date(`${day}T00:00:00`)
  date.setDate(date.getDate() + later)
  return Number.isNaN(date.getTime()) ? undefined : date.toISOString()
}

/** The first moment of a day; undefined for what is no day. */
export const startOfDay = (day: string | undefined): string | undefined => midnight(day, 0)

/** The first moment after a day; undefined for what is no day. */
export const endOfDay = (day: string | undefined): string | undefined => midnight(day, 1)

/** The day of a moment, in the person's zone. */
export const dayOf = (time: Date): string =>
  [time.getFullYear(), time.getMonth() + 1, time.getDate()].map((part) => String(part).padStart(2, '0')).join('-')
