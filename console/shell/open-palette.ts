import { signal } from '@preact/signals'

/** True while the palette is open. Its code is loaded with the first use. */
export const isPaletteOpen = signal(false)

/** True while the list of shortcuts is open. */
export const isHelpOpen = signal(false)

export const openPalette = (): void => {
  isPaletteOpen.value = true
}
