import type { MediaStreamEvents, MediaStreamOptions } from './media-stream.ts'

/** Result of a media engine. The causes become the SIP statuses 503, 488, 488 and 500, in the order below. */
export type MediaResult<T> =
  | { readonly outcome: 'done'; readonly value: T }
  | {
      readonly outcome: 'refused'
      /** No capacity; no common codec; an unusable session description; a wrong state, or a call that has ended. */
      readonly cause: 'full' | 'codec' | 'description' | 'state'
      readonly reason: string
    }

export type MediaCodec = 'opus' | 'pcmu' | 'pcma'

/** Direction as in SDP (RFC 8866, 6.7), from the view of the party that states it. */
export type MediaDirection = 'sendrecv' | 'sendonly' | 'recvonly' | 'inactive'

/** Events of a call's media. `leg` is the id of the leg; null when the event concerns the whole call. */
export type MediaEvents = {
  /** Media can flow: ICE and DTLS are done, or a plain leg received its first packet. Once per leg. */
  connected(leg: string): void
  /** A key was pressed (RFC 4733, or tones in the audio of a leg with `listenForKeys`). Once per press. */
  dtmf(leg: string, digit: string): void
  /** The peer of a leg with `listenForSpeech` began to speak, or ended. */
  speech?(leg: string, change: 'began' | 'ended'): void
  /**
   * The peer of a leg gave no sign of life for `seconds` while no leg is on hold: neither media of any kind, such as
   * comfort noise, nor RTCP or ICE checks. Once, and again after further signs.
   */
  silence(leg: string, seconds: number): void
  /** The leg, or with null the call, has ended. No more media flow. */
  failed(leg: string | null, reason: string): void
  /** Packets from an unannounced address and port are dropped. Once per address, a few times per leg. */
  dropped(leg: string, from: string, expected: string): void
}

/** Speech begins after `leastMs` of sound above the noise, and ends after `silenceMs` without. */
export type MediaSpeechOptions = { readonly leastMs: number; readonly silenceMs: number }

export type MediaLegStats = {
  readonly leg: string
  readonly codec: MediaCodec | null
  /** `lost` of sent packets is the peer's report. Null where the engine has no figure. */
  readonly received: {
    readonly packets: number
    readonly bytes: number
    readonly lost: number | null
    readonly jitterMs: number | null
  }
  readonly sent: { readonly packets: number; readonly bytes: number; readonly lost: number | null }
  /** Packets from unannounced addresses. Null where the engine does not count them. */
  readonly dropped: number | null
  /** Measured by RTCP; null until known. */
  readonly roundTripMs: number | null
  /** Arrival of the last packet, Unix milliseconds; null before the first. */
  readonly lastMediaAt: number | null
  /** Addresses with ports: the ICE pair in use of a browser's leg, the media address of a plain leg. */
  readonly local: string | null
  readonly remote: string | null
}

/** A recording: 16 bits, 8,000 samples per second and channel. */
export type MediaRecording = {
  readonly seconds: number
  readonly bytes: number
  readonly sha256: string
  readonly channels: 1 | 2
}

/**
 * Sound that a leg plays to its peer. Tones sound together for `onMs`, then pause for `offMs`. Files and feeds are
 * µ-law, 8,000 samples per second, without a header. `loop`: the times that it is played; 0: until it is stopped.
 */
export type MediaSound =
  | { readonly tones: readonly number[]; readonly onMs: number; readonly offMs: number; readonly loop: number }
  | { readonly silenceMs: number }
  | { readonly file: string; readonly fromMs: number; readonly loop: number }
  /** Id of a feed that `openFeed` made. */
  | { readonly feed: string }

/** A channel of a recording: what the peer of a leg says, or what it hears. */
export type MediaChannel = { readonly leg: MediaLeg; readonly of: 'said' | 'heard' }

/** A running recording. */
export type MediaRecorder = {
  /** Records nothing until `resume`: `silence` keeps the time of the pause, `skip` leaves it out. */
  pause(fill: 'silence' | 'skip'): Promise<MediaResult<null>>
  resume(): Promise<MediaResult<null>>
  stop(): Promise<MediaResult<MediaRecording>>
}

/** How the sounds ended, and the milliseconds that were sent. */
export type MediaPlayed = { readonly how: 'done' | 'stopped'; readonly ms: number }

/** A sound that is pushed while it is played. Silence is played while nothing waits. */
export type MediaFeed = {
  /** Appends a chunk of any length. Refused with cause `full` while 300 s wait. */
  push(chunk: Uint8Array): Promise<MediaResult<null>>
  /** The sound ends after what waits. */
  end(): Promise<MediaResult<null>>
  /** Drops what waits; returns its milliseconds. */
  clear(): Promise<MediaResult<number>>
}

/** A stream of a leg's audio to and from a WebSocket server. */
export type MediaStream = {
  /** Reports a key of the peer to the server. Refused with cause `state` before it opened and after its end. */
  sendKey(digit: string): Promise<MediaResult<null>>
  /** Sends `stop` and closes the connection; the event `ended` follows. Idempotent. */
  stop(): Promise<MediaResult<null>>
}

/** A side of a call. Its peer hears one source: keys that are sent, else sounds that are played, else the bridge. */
export type MediaLeg = {
  readonly id: string
  /** Returns our session description: the answer to the peer's offer, or an offer if the leg has none. In a bridge,
   *  call it after the other leg has its description. Otherwise the answer reflects the abilities of this leg alone. */
  describe(): Promise<MediaResult<string>>
  /** Applies the peer's answer to our offer. A second answer, as after early media, replaces the first.
   *  @param source address of the peer's signalling, as in MediaLegOptions */
  accept(answer: string, source?: string): Promise<MediaResult<null>>
  /** Applies a new offer of the peer (hold, another address, an ICE restart) and returns our answer. */
  renegotiate(offer: string): Promise<MediaResult<string>>
  /** Returns a new offer of ours with this direction; `accept` applies the answer. */
  reoffer(direction: MediaDirection): Promise<MediaResult<string>>
  /** Sends keys to the peer: 100 ms each, 50 ms apart; as tones, 60 ms apart, to one without telephone events. Resolves
   *  once the last key is sent. */
  sendKeys(digits: string): Promise<MediaResult<null>>
  /** Detects keys in the audio too (ITU-T Q.24), while the peer has negotiated G.711 without telephone events. */
  listenForKeys(): Promise<MediaResult<null>>
  /** Detects when the peer begins and ends to speak, in place of an earlier request; null: no more. G.711 only. */
  listenForSpeech(options: MediaSpeechOptions | null): Promise<MediaResult<null>>
  /**
   * Gives what the peer says or hears to a listener: frames of 20 ms of µ-law, in order and without gaps, as silence
   * fills them. Returns a function that ends it. G.711 only.
   */
  listen(of: 'said' | 'heard', listener: (frame: Uint8Array) => void): Promise<MediaResult<() => Promise<void>>>
  /** Plays a tone to the peer in place of the bridged media; null stops it. G.711 only. */
  playTone(hertz: number | null): Promise<MediaResult<null>>
  /**
   * Plays sounds one after the other, in place of the bridged media and of sounds that are played already. Resolves when
   * the last packet was sent, or they were stopped. G.711 only.
   */
  play(sounds: readonly MediaSound[]): Promise<MediaResult<MediaPlayed>>
  /** Stops the sounds, which `play` then reports. */
  stopSounds(): Promise<MediaResult<null>>
  /** Makes a feed of this leg for one `play`. It exists until it has ended and was played, or the call ends. */
  openFeed(id: string): Promise<MediaResult<MediaFeed>>
  /**
   * Opens a stream of the leg's audio to a WebSocket server, in the thread of the call. Returns once it is begun; an
   * event follows when it opens, or fails. A two-way stream plays what the server sends; a later `play` takes its
   * place until the server sends more. G.711 only. At most four tracks of listeners and streams per leg.
   */
  openStream(options: MediaStreamOptions, events: MediaStreamEvents): Promise<MediaResult<MediaStream>>
}

/** SRTP with keys in session descriptions (RFC 4568) on a plain leg. `offer`: encrypted if the peer supports it. */
export type MediaSrtp = 'never' | 'offer' | 'require'

export type MediaLegOptions = {
  /** Our id of the leg, such as `agent` or `trunk`. */
  readonly id: string
  readonly kind: 'webrtc' | 'rtp'
  /** The peer's offer; null when we make the offer. */
  readonly offer: string | null
  /** Codecs that may be negotiated, best first. */
  readonly codecs: readonly MediaCodec[]
  /** Address of the peer's signalling. Media from there are accepted too, as the peer may be behind a NAT. */
  readonly source?: string
  /** For plain legs. Default: never. */
  readonly srtp?: MediaSrtp
  /** The peer of a plain leg is a leg of this engine: their packets do not leave the machine. Default: false. */
  readonly isLocal?: boolean
}

/** Media of a call. The call ends with `close` or with the event `failed(null)`. */
export type MediaCall = {
  addLeg(options: MediaLegOptions): Promise<MediaResult<MediaLeg>>
  /** Relays media and DTMF between two legs, in both directions. */
  bridge(one: MediaLeg, other: MediaLeg): Promise<MediaResult<null>>
  /** Ends the bridge of a leg: neither side hears the other. Both can be bridged again. Idempotent. */
  unbridge(leg: MediaLeg): Promise<MediaResult<null>>
  /** Removes a leg: its bridge and sounds end, and recordings have silence for it. For calls with `isProcessed`. Idempotent. */
  removeLeg(leg: MediaLeg): Promise<MediaResult<null>>
  /** Records the incoming audio of two G.711 legs to a WAV file, one leg per channel. The file is one second behind. */
  startRecording(path: string, left: MediaLeg, right: MediaLeg): Promise<MediaResult<null>>
  stopRecording(): Promise<MediaResult<MediaRecording>>
  /**
   * Records to a file of its own; a call may have several recordings at a time. G.711 only.
   * @param right null: the file has one channel
   */
  record(path: string, left: MediaChannel, right: MediaChannel | null): Promise<MediaResult<MediaRecorder>>
  stats(): Promise<MediaResult<readonly MediaLegStats[]>>
  /** Ends every leg and the running recordings. Idempotent. */
  close(): Promise<void>
}

export type MediaCallOptions = {
  /**
   * The audio passes through this program: legs play sounds, send keys and are recorded by direction, and a call has up
   * to 16 legs. Otherwise an engine may relay the audio elsewhere, for two legs. G.711 only. Default: false.
   */
  readonly isProcessed?: boolean
}

export type MediaEngine = {
  /** Refused with cause `full` when there is no capacity. */
  openCall(events: MediaEvents, options?: MediaCallOptions): Promise<MediaResult<MediaCall>>
  /** A call is likely soon: an engine that starts on demand may start. */
  prepare?(): void
  /** Number of current calls, and the maximum. */
  state(): { readonly calls: number; readonly capacity: number }
  close(): Promise<void>
}
