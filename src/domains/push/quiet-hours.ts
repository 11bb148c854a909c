import { isTimezone, localTime } from '../../platform/lib/timezone.ts'

// Choices of a person, as the console stores them in `preferences.notifications`. The database may hold anything there.

/** Kinds of notifications that a person may switch off. */
export const noticeKinds = ['messages', 'mentions', 'calls'] as const

export type NoticeKind = (typeof noticeKinds)[number]

/** Minutes of the day at which quiet hours begin and end; null for none. */
export type QuietHours = { readonly from: number; readonly until: number } | null

export type NoticeChoices = {
  readonly isOn: Readonly<Record<NoticeKind, boolean>>
  readonly quiet: QuietHours
  /** IANA name; null: not known. */
  readonly timezone: string | null
}

const fieldsOf = (value: unknown): Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null ? Object.fromEntries(Object.entries(value)) : {}

const minutesOf = (value: unknown): number | null => {
  const [, hours, minutes] = (typeof value === 'string' && /^([01]\d|2[0-3]):([0-5]\d)$/.exec(value)) || []
  return hours === undefined ? null : Number(hours) * 60 + Number(minutes)
}

/** @param timezone of the person; without one, the zone of the browser that stored the choices counts */
export const choicesOf = (preferences: unknown, timezone: string | null): NoticeChoices => {
  const { notifications } = fieldsOf(preferences)
  const { quiet, timezone: stored, ...switches } = fieldsOf(notifications)
  const { on, from, until } = fieldsOf(quiet)
  const [begin, end] = [minutesOf(from), minutesOf(until)]
  return {
    isOn: {
      messages: switches.messages !== false,
      mentions: switches.mentions !== false,
      calls: switches.calls !== false,
    },
    quiet: on === true && begin !== null && end !== null && begin !== end ? { from: begin, until: end } : null,
    timezone: timezone ?? (typeof stored === 'string' ? stored : null),
  }
}

/** Minute of the day in a zone. An unknown zone counts as UTC. */
const minuteIn = (timezone: string | null, at: Date): number => {
  const zone = timezone !== null && isTimezone(timezone) ? timezone : 'UTC'
  return minutesOf(localTime(zone, at).time) ?? 0
}

/** True within the quiet hours of a person, which may pass midnight. */
export const isQuiet = ({ quiet, timezone }: NoticeChoices, at: Date): boolean => {
  if (quiet === null) return false
  const minute = minuteIn(timezone, at)
  const { from, until } = quiet
  return from < until ? from <= minute && minute < until : minute >= from || minute < until
}
