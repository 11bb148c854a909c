import { signal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { isComposing } from '../parts/composing.ts'
import { singleKeys } from './choices.ts'
import { isField } from './expected-field.ts'

// The keyboard map. Single keys act only while no field has the focus, and can be switched off.

export type Shortcut = {
  /** Such as `?`, `g d` or `Ctrl k`. `Ctrl` is the command key on Apple systems. */
  readonly keys: string
  readonly text: () => string
  readonly act: () => void
  /** Default: the page. */
  readonly scope?: 'everywhere' | 'page'
  /** False now: the key has its usual meaning, as an arrow in a box that scrolls. */
  readonly when?: () => boolean
  /** A second key of the same act: the list of shortcuts has the first only. */
  readonly isHidden?: boolean
}

/** Shortcuts of the frame and of the page, for the list that `?` shows. */
export const shortcuts = signal<readonly Shortcut[]>([])

const isApple = /Mac|iPhone|iPad/.test(navigator.platform)

/** Returns the caps of a shortcut for display. */
export const capsOf = (keys: string): readonly string[] =>
  keys.split(' ').map((cap) => (cap === 'Ctrl' && isApple ? '⌘' : cap.length === 1 ? cap.toUpperCase() : cap))

/** True while a dialog or a pop-up is open: its keys come first, and Escape closes it. */
const isPopupOpen = (): boolean => document.querySelector('dialog[open], [popover=auto]:popover-open') !== null

let prefix = ''
let forget: ReturnType<typeof setTimeout> | undefined

const nameOf = (event: KeyboardEvent): string => {
  const key = event.key.length === 1 ? event.key.toLowerCase() : event.key
  const isChord = isApple ? event.metaKey : event.ctrlKey
  // The shift of a sign such as `?` is part of the sign, that of a letter is a key of its own.
  const isLetter = event.key.toLowerCase() !== event.key.toUpperCase()
  const isShift = event.shiftKey && (isChord || key.length > 1 || isLetter)
  return [isChord && 'Ctrl', event.altKey && 'Alt', isShift && 'Shift', key].filter(Boolean).join(' ')
}

const onKey = (event: KeyboardEvent): void => {
  if (event.defaultPrevented || isComposing(event)) return
  const name = nameOf(event)
  const isChord = event.ctrlKey || event.metaKey || event.altKey
  if (!isChord && (!singleKeys.value || isField(event.target) || isPopupOpen())) return
  const keys = prefix ? `${prefix} ${name}` : name
  const found = shortcuts.value.findLast((shortcut) => shortcut.keys === keys && shortcut.when?.() !== false)
  clearTimeout(forget)
  prefix = ''
  if (found) {
    event.preventDefault()
    found.act()
    return
  }
  if (!isChord && shortcuts.value.some((shortcut) => shortcut.keys.startsWith(`${keys} `))) {
    prefix = keys
    forget = setTimeout(() => {
      prefix = ''
    }, 1_500)
  }
}

/** Listens to the keyboard. */
export const startKeys = (): void => addEventListener('keydown', onKey)

/** Adds shortcuts while a component is shown. */
export const useShortcuts = (added: readonly Shortcut[], dependencies: readonly unknown[] = []): void => {
  useEffect(() => {
    shortcuts.value = [...shortcuts.value, ...added]
    return () => {
      shortcuts.value = shortcuts.value.filter((shortcut) => !added.includes(shortcut))
    }
  }, [...dependencies])
}
