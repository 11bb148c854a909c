import { isTimezone, localTime } from '../../platform/lib/timezone.ts'
import { refusals } from './refusals.ts'

export const weekdays = ['monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday', 'sunday'] as const

type Weekday = (typeof weekdays)[number]

/** When people of an account answer. Times are `HH:MM` in its zone; `until` may be `24:00`. */
export type WorkingHours = {
  /** IANA name. */
  readonly timezone: string
  readonly days: readonly { readonly day: Weekday; readonly from: string; readonly until: string }[]
}

/** @throws Problem 400 for an unknown zone, and for hours that end before they begin */
export const assertWorkingHours = ({ timezone, days }: WorkingHours): void => {
  if (!isTimezone(timezone)) throw refusals.badTimezone(timezone)
  for (const { day, from, until } of days) if (from >= until) throw refusals.hoursEndFirst(day, from, until)
}

/** True within the working hours, and always without any. */
export const isWorkingTime = (hours: WorkingHours | null, at: Date): boolean => {
  if (hours === null) return true
  const { day: today, time } = localTime(hours.timezone, at)
  return hours.days.some(({ day, from, until }) => day === today && from <= time && time < until)
}
