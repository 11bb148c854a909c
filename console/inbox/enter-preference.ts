import { signal } from '@preact/signals'
import { storePreferences } from '../api/preferences.ts'
import { session } from '../api/session.ts'

// Which key sends. It belongs to the person, and to the browser without one.

const name = 'send'

const stored = (): string | undefined => {
  const own = session.peek()?.person?.preferences[name]
  if (typeof own === 'string') return own
  try {
    return localStorage.getItem(`trunkline.${name}`) ?? undefined
  } catch {
    return undefined
  }
}

const choice = signal<'enter' | 'ctrl-enter' | undefined>(undefined)

/** True: Enter sends, and Shift Enter begins a new line. False: Ctrl Enter sends. */
export const enterSends = (): boolean => (choice.value ?? stored()) !== 'ctrl-enter'

export const chooseEnterSends = (isOn: boolean): void => {
  const value = isOn ? 'enter' : 'ctrl-enter'
  choice.value = value
  try {
    localStorage.setItem(`trunkline.${name}`, value)
  } catch {
    // The browser forbids storage: the choice lasts until the page is closed.
  }
  const preferences = session.peek()?.person?.preferences
  if (preferences) void storePreferences({ ...preferences, [name]: value }).catch(() => {})
}
