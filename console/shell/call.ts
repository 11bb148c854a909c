import { signal } from '@preact/signals'

// Calls that pages ask for. The softphone of the frame listens; without one, the system's telephone gets the number.

type Dialer = (number: string) => void

/** Set by the softphone once it can call. */
export const dialer = signal<Dialer | null>(null)

/** Calls a number, E.164. */
export const requestCall = (number: string): void => {
  if (dialer.value) dialer.value(number)
  else location.assign(`tel:${number}`)
}
