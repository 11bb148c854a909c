import type { Call } from './call.ts'
import type { VoiceError } from './fault.ts'
import type { ExtraHeaders } from './headers.ts'
import type { MediaChoice } from './media.ts'

export type LogLevel = 'silent' | 'error' | 'warn' | 'info' | 'debug'

export type DeviceOptions = {
  /** Of `POST /open/sdk/access-token`, which your server asks for. */
  token: string
  /** The installation; the token's issuer unless told. */
  baseUrl?: string
  /** What goes to the console: `warn` unless told. */
  logLevel?: LogLevel
  /** False, unless told: who calls while there is a call hears that the line is busy. */
  allowIncomingWhileBusy?: boolean
  /** In place of those that the server names. */
  iceServers?: RTCIceServer[]
  /** Read anew for every call. */
  media?: MediaChoice
  /** Played while somebody calls. */
  ringtoneUrl?: string
  /** Of every call that is made here. */
  defaultExtraHeaders?: ExtraHeaders
  /** How long before the token's end `tokenWillExpire` comes, ms: 60,000 unless told. */
  tokenExpiryLeadMs?: number
}

export type Dial = {
  /** A number in E.164, or the uuid of another user of the account. */
  to: string
  /** The number that is shown to the other side: one of the account's caller IDs. */
  from?: string
  /** Another name for `from`, which wins. */
  callerId?: string
  /** Of this call, beside the default ones. */
  headers?: ExtraHeaders
}

/** Who has the place now, what ended, who was locked out, or that it was wished. */
export type UnregisterReason = 'replaced' | 'expired' | 'suspended' | 'requested'

export type DeviceEvents = {
  registered: undefined
  unregistered: { readonly reason: UnregisterReason }
  incoming: Call
  tokenWillExpire: { readonly expiresAt: Date }
  reconnecting: undefined
  reconnected: undefined
  error: VoiceError
}
