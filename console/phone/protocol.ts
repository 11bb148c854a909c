import type { AudioChoice } from '../shell/audio.ts'
import type { PhoneState } from '../shell/phone-state.ts'

/** An act of the person, from any tab. */
export type PhoneCommand =
  | { readonly act: 'call'; readonly number: string; readonly from?: string }
  | { readonly act: 'accept' | 'reject' | 'hangUp' | 'mute' | 'hold'; readonly call: string }
  | { readonly act: 'keys'; readonly call: string; readonly keys: string }
  | { readonly act: 'audio'; readonly choice: AudioChoice }
  | { readonly act: 'away'; readonly isAway: boolean }
  /** Calls ring in this browser again. */
  | { readonly act: 'register' }
  /** Closes the report of the last call. */
  | { readonly act: 'dismiss' }

/** A message between the tabs. */
export type PhoneMessage =
  | { readonly type: 'state'; readonly state: PhoneState }
  | { readonly type: 'command'; readonly command: PhoneCommand }
  /** A new tab asks for the state. */
  | { readonly type: 'hello' }
