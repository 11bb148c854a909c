import { signal } from '@preact/signals'
import { storePreferences } from '../api/preferences.ts'
import { requestContext } from '../api/send.ts'
import { session } from '../api/session.ts'

// Choices about the look. They apply at once, are stored in the browser, and belong to the person on the server.

type Theme = 'light' | 'dark' | 'system'
type Density = 'comfortable' | 'compact'

const read = <T extends string>(name: string, fallback: T, allowed: readonly T[]): T => {
  try {
    const stored = localStorage.getItem(`trunkline.${name}`)
    return allowed.find((value) => value === stored) ?? fallback
  } catch {
    return fallback
  }
}

export const themes = ['light', 'dark', 'system'] as const
export const densities = ['comfortable', 'compact'] as const

export const theme = signal<Theme>(read('theme', 'system', themes))
export const density = signal<Density>(read('density', 'comfortable', densities))
/** Single-key shortcuts may be switched off (WCAG 2.1.4). */
export const singleKeys = signal(read('keys', 'on', ['on', 'off']) === 'on')

const store = (name: string, value: string): void => {
  try {
    localStorage.setItem(`trunkline.${name}`, value)
  } catch {
    // The browser forbids storage: the choice lasts until the page is closed.
  }
}

/** Stores a choice of the person. Best effort: the browser has it already. */
const share = (name: string, value: string): void => {
  store(name, value)
  const preferences = session.value?.person?.preferences
  if (!preferences || preferences[name] === value) return
  void storePreferences({ ...preferences, [name]: value }).catch(() => {})
}

const show = (name: 'theme' | 'density', value: string): void => {
  document.documentElement.dataset[name] = value
}

export const chooseTheme = (value: Theme): void => {
  theme.value = value
  show('theme', value)
  share('theme', value)
}

export const chooseDensity = (value: Density): void => {
  density.value = value
  show('density', value)
  share('density', value)
}

export const chooseSingleKeys = (isOn: boolean): void => {
  singleKeys.value = isOn
  share('keys', isOn ? 'on' : 'off')
}

/** Takes over the choices that the person made in another browser. */
export const adoptPreferences = (): void => {
  const stored = session.value?.person?.preferences ?? {}
  const [inTheme, inDensity] = [
    themes.find((value) => value === stored.theme),
    densities.find((value) => value === stored.density),
  ]
  if (inTheme && inTheme !== theme.value) {
    theme.value = inTheme
    show('theme', inTheme)
    store('theme', inTheme)
  }
  if (inDensity && inDensity !== density.value) {
    density.value = inDensity
    show('density', inDensity)
    store('density', inDensity)
  }
  if (stored.keys === 'on' || stored.keys === 'off') {
    singleKeys.value = stored.keys === 'on'
    store('keys', stored.keys)
  }
}

/** The account that the person used last. */
export const lastAccount = (): string => {
  try {
    return localStorage.getItem('trunkline.account') ?? ''
  } catch {
    return ''
  }
}

export const rememberAccount = (): void => {
  if (requestContext.account) store('account', requestContext.account)
}

const hiddenStart = (): string => `start.${requestContext.account}`

/** True if the console no longer opens on the start page of the account. */
export const isStartHidden = (): boolean => {
  const stored = session.value?.person?.preferences[hiddenStart()]
  if (stored === 'hidden') return true
  try {
    return localStorage.getItem(`trunkline.${hiddenStart()}`) === 'hidden'
  } catch {
    return false
  }
}

export const hideStart = (): void => share(hiddenStart(), 'hidden')

const numberMark = (): string => `number.${requestContext.account}`

/** True if the account had a number when the browser looked last: then the console opens on the inbox at once. */
export const hasNumber = (): boolean => {
  try {
    return localStorage.getItem(`trunkline.${numberMark()}`) !== null
  } catch {
    return false
  }
}

export const rememberNumber = (): void => store(numberMark(), 'yes')
