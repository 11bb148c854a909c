import type { MediaChoice } from './audio-devices.ts'
import type { Call } from './call.ts'
import type { ExtraHeaders } from './headers.ts'
import type { VoiceError } from './voice-error.ts'

export type LogLevel = 'silent' | 'error' | 'warn' | 'info' | 'debug'

export type DeviceOptions = {
  /** A token that your server obtains with `POST /open/sdk/access-token`. */
  token: string
  /** Base URL of the installation. Default: the issuer of the token. */
  baseUrl?: string
  /** Level of messages on the console. Default: `warn`. */
  logLevel?: LogLevel
  /** Whether calls may come in during a call; if not, the caller receives busy. Default: false. */
  allowIncomingWhileBusy?: boolean
  /** ICE servers. Default: those of the server. */
  iceServers?: RTCIceServer[]
  /** Devices to use; read again for every call. */
  media?: MediaChoice
  /** URL of the sound that plays while an incoming call rings. */
  ringtoneUrl?: string
  /** Headers of every outgoing call. */
  defaultExtraHeaders?: ExtraHeaders
  /** Time between `tokenWillExpire` and the expiry of the token, ms. Default: 60,000. */
  tokenExpiryLeadMs?: number
}

export type Dial = {
  /** A number in E.164, or the uuid of another user of the account. */
  to: string
  /** The number that the other side sees: one of the caller IDs of the account. */
  from?: string
  /** Alias of `from`; takes precedence over it. */
  callerId?: string
  /** Headers of this call, in addition to the default ones. */
  headers?: ExtraHeaders
}

/** `replaced` by a newer device, token `expired`, user `suspended`, or `requested` by unregister(). */
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
