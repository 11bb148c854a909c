import { storePreferences } from '../api/preferences.ts'
import { session } from '../api/session.ts'

// Choices of the person. The server reads the same fields: src/domains/push/quiet-hours.ts.

export type NotificationChoices = {
  readonly messages: boolean
  readonly mentions: boolean
  readonly calls: boolean
  readonly sound_messages: boolean
  readonly sound_calls: boolean
  readonly quiet: { readonly on: boolean; readonly from: string; readonly until: string }
  /** Zone of the browser, for a person who has chosen none. */
  readonly timezone: string
}

const defaults = {
  ...{ messages: true, mentions: true, calls: true, sound_messages: false, sound_calls: true },
  quiet: { on: false, from: '22:00', until: '07:00' },
}

const fields = (value: unknown): Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null ? Object.fromEntries(Object.entries(value)) : {}

const isOn = (value: unknown, fallback: boolean): boolean => (typeof value === 'boolean' ? value : fallback)

const timeOf = (value: unknown, fallback: string): string =>
  typeof value === 'string' && /^([01]\d|2[0-3]):[0-5]\d$/.test(value) ? value : fallback

/** Zone in which the quiet hours of the person count. */
export const zone = (): string => session.value?.person?.timezone ?? Intl.DateTimeFormat().resolvedOptions().timeZone

/** Returns the choices of the person; usual ones where nothing is stored. */
export const notificationChoices = (): NotificationChoices => {
  const { notifications } = fields(session.value?.person?.preferences)
  const stored = fields(notifications)
  const quiet = fields(stored.quiet)
  return {
    messages: isOn(stored.messages, defaults.messages),
    mentions: isOn(stored.mentions, defaults.mentions),
    calls: isOn(stored.calls, defaults.calls),
    sound_messages: isOn(stored.sound_messages, defaults.sound_messages),
    sound_calls: isOn(stored.sound_calls, defaults.sound_calls),
    quiet: {
      on: isOn(quiet.on, defaults.quiet.on),
      from: timeOf(quiet.from, defaults.quiet.from),
      until: timeOf(quiet.until, defaults.quiet.until),
    },
    timezone: zone(),
  }
}

/** True within the quiet hours, which may pass midnight. */
export const isQuietNow = (): boolean => {
  const { on, from, until } = notificationChoices().quiet
  if (!on || from === until) return false
  const options = { timeZone: zone(), hour: '2-digit', minute: '2-digit', hourCycle: 'h23' } as const
  const now = new Intl.DateTimeFormat('en-GB', options).format(new Date())
  return from < until ? from <= now && now < until : now >= from || now < until
}

/** Stores changed choices. They apply at once. @throws ApiError, after which the earlier ones apply again */
export const changeNotificationChoices = async (change: Partial<NotificationChoices>): Promise<void> => {
  const { value: before } = session
  if (!before?.person) return
  const preferences = {
    ...before.person.preferences,
    notifications: { ...notificationChoices(), ...change },
  }
  session.value = { ...before, person: { ...before.person, preferences } }
  try {
    await storePreferences(preferences)
  } catch (error) {
    session.value = before
    throw error
  }
}
