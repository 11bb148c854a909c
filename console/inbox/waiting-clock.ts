import { signal } from '@preact/signals'

/** The time in steps of 30 s: waiting times follow it. */
export const now = signal(Date.now())

setInterval(() => {
  if (document.visibilityState === 'visible') now.value = Date.now()
}, 30_000)
