/** Encodings of a stream's audio. `l16`: 16 bits, little-endian, as native programs and models read it. */
export const mediaStreamFormats = [
  'audio/x-mulaw;rate=8000',
  'audio/l16;rate=8000',
  'audio/l16;rate=16000',
  'audio/l16;rate=24000',
] as const

export type MediaStreamFormat = (typeof mediaStreamFormats)[number]

/** A WebSocket server whose name was resolved, and whose addresses were checked. Only these addresses are used. */
export type MediaStreamTarget = {
  /** True for `wss`. */
  readonly isSecure: boolean
  /** Host name in ASCII, or an IP address without brackets. */
  readonly host: string
  readonly isAddress: boolean
  readonly port: number
  /** Path with its query. */
  readonly path: string
  /** Value of the header `Host`. */
  readonly hostHeader: string
  readonly addresses: readonly string[]
}

export type MediaStreamOptions = {
  readonly target: MediaStreamTarget
  /** Further headers of the handshake, such as a signature. */
  readonly headers: Readonly<Record<string, string>>
  /** Ids as frames state them: `MZ…`, `AC…` and `CA…`, or those of the native interface. */
  readonly ids: { readonly stream: string; readonly account: string; readonly call: string }
  /** Given to the server in the frame `start`. */
  readonly parameters: Readonly<Record<string, string>>
  /** The audio that is sent. `inbound`: what the peer says; `outbound`: what it hears. */
  readonly tracks: readonly ('inbound' | 'outbound')[]
  /** The server's audio is played to the peer, in place of the bridge and of other sounds. */
  readonly isTwoWay: boolean
  /** Encoding of the audio in both directions. */
  readonly format: MediaStreamFormat
  /** `binary`: audio is sent and received as binary frames without JSON; other frames stay JSON. */
  readonly framing: 'json' | 'binary'
  /** Seconds after which the stream is stopped. */
  readonly mostSeconds: number
}

/**
 * The end of a stream. Reasons: the server closed it; it was stopped by `stop`; after `mostSeconds`; the leg ended; no
 * connection within 5 s, or a handshake that fails; a connection that broke, or that took nothing for 30 s; frames
 * that break the protocol.
 */
export type MediaStreamEnd = {
  readonly reason: 'closed' | 'stopped' | 'time' | 'call_ended' | 'unreachable' | 'broken' | 'protocol'
  /** Close code of the WebSocket (RFC 6455, 7.4); null if there was none. */
  readonly code: number | null
  /** For people. */
  readonly detail: string
  /** Seconds since it opened, with a fraction; 0 if it did not. */
  readonly seconds: number
  /** Frames of audio to the server: sent, and dropped because the server was slow. */
  readonly framesSent: number
  readonly framesDropped: number
  /** Audio of the server that was dropped because 300 s waited. */
  readonly droppedMs: number
}

export type MediaStreamEvents = {
  /** The WebSocket is open. */
  opened?(): void
  /** Audio was dropped for the first time: `sent` to the server, as it is slow, or `received`, as too much waits. */
  dropped?(of: 'sent' | 'received'): void
  /** Once, also for a stream that never opened. */
  ended(end: MediaStreamEnd): void
}
