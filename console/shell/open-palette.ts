import { signal } from '@preact/signals'
import { expectField } from './expected-field.ts'

/** True while the palette is open. Its code is loaded with the first use. */
export const isPaletteOpen = signal(false)

/** True while the list of shortcuts is open. */
export const isHelpOpen = signal(false)

export const openHelp = (): void => {
  if (!isHelpOpen.peek()) expectField()
  isHelpOpen.value = true
}

export const openPalette = (): void => {
  if (!isPaletteOpen.peek()) expectField()
  isPaletteOpen.value = true
}
