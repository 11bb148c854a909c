import { randomInt } from 'node:crypto'
import { otherLaw } from '@trunkline/rtp/g711.ts'
import { readReports, writeReport } from '@trunkline/rtp/rtcp.ts'
import { type RtpPacket, readRtp, writeRtp } from '@trunkline/rtp/rtp.ts'
import { type AudioDescription, type Format, writeAudio } from '@trunkline/rtp/sdp.ts'
import type {
  MediaCodec,
  MediaDirection,
  MediaLegOptions,
  MediaLegStats,
  MediaResult,
  MediaSrtp,
} from '../../../ports/media.ts'
import { maxDigits } from '../limits.ts'
import { done, refused } from '../result.ts'
import type { AudioFeed } from './audio-feed.ts'
import { DtmfDetector, dtmfPackets, type TimedPacket } from './dtmf.ts'
import { dtmfTonePackets } from './dtmf-tones.ts'
import { KeySource } from './key-source.ts'
import { LegTaps } from './leg-taps.ts'
import type { MediaClock } from './media-clock.ts'
import {
  bridgeable,
  chooseCodec,
  codecsOf,
  isG711,
  maySend,
  type NegotiatedFormats,
  negotiatedDirection,
  offeredFormats,
  readRemoteAudio,
} from './negotiate.ts'
import { Packetizer, packetFramesOf } from './packetizer.ts'
import { Player } from './player.ts'
import { RtpReceiver } from './rtp-receiver.ts'
import { RtpSender, type UnnumberedPacket } from './rtp-sender.ts'
import type { SoundReader } from './sound-reader.ts'
import { ToneKeyDetector } from './tone-key-detector.ts'
import type { Transport } from './transport.ts'

/** Events of a leg for its call. */
export type LegEvents = {
  dtmf(digit: string): void
  speech(change: 'began' | 'ended'): void
}

/**
 * A side of a call: the negotiation with the peer, a stream in each direction, and their transport. The peer hears one
 * source at a time: the bridge, a player or keys. Taps hear what it says, and what it hears.
 */
export class Leg {
  readonly id: string
  readonly kind: 'webrtc' | 'rtp'
  private readonly codecs: readonly MediaCodec[]
  private readonly srtp: MediaSrtp
  private readonly transport: Transport
  private readonly events: LegEvents
  private readonly name: string
  private readonly session = String(randomInt(2 ** 47))
  private version = 0
  /** Our requested direction, and the peer's last description. */
  private requestedDirection: MediaDirection = 'sendrecv'
  private remote: AudioDescription | null = null
  private offer: { readonly formats: readonly Format[] } | 'theirs' | null = null
  private readonly payloadTypes = new Map<number, Format>()
  private agreement: NegotiatedFormats | null = null
  private agreedAt: number | null = null
  /**
   * What the leg plays to the peer: keys, else the sounds of a player, else the media of the bridge. The clock drives
   * keys and players, and packets of the bridge come by `forward`.
   */
  private keys: KeySource | null = null
  private player: Player | null = null
  /** True while keys or a player take the place of the bridge. */
  private isPlaying = false
  private readonly clock: MediaClock
  /** Keys that the other leg received, for a peer without telephone events. */
  private pendingTones = ''
  private listensForKeys = false
  readonly taps: LegTaps
  /** Frames of G.711 in each packet to the peer; null for any. */
  private packetFrames: number | null = null
  /** Made when the first packet has another length. */
  private packetizer: Packetizer | null = null
  private isClosed = false
  private readonly dtmf = new DtmfDetector()
  private readonly receiver = new RtpReceiver()
  private readonly sender = new RtpSender()
  private lastMediaAt: number | null = null
  private lastLifeAt = 0
  isSilenceReported = false
  /** Sounds that are pushed while they are played, by their ids. */
  readonly feeds = new Map<string, AudioFeed>()
  other: Leg | null = null

  constructor(
    { id, kind, codecs, srtp }: Required<Pick<MediaLegOptions, 'id' | 'kind' | 'codecs' | 'srtp'>>,
    name: string,
    line: Transport,
    clock: MediaClock,
    events: LegEvents,
  ) {
    this.clock = clock
    this.taps = new LegTaps(clock, (change) => events.speech(change))
    this.srtp = srtp
    this.id = id
    this.kind = kind
    this.codecs = codecs
    this.name = name
    this.transport = line
    this.events = events
  }

  get codec(): MediaCodec | null {
    return this.agreement?.codec.name ?? null
  }

  private get direction(): MediaDirection {
    return this.remote ? negotiatedDirection(this.requestedDirection, this.remote.direction) : this.requestedDirection
  }

  /** Codecs of this leg: the negotiated one, otherwise all possible ones. */
  private get possible(): readonly MediaCodec[] {
    if (this.agreement) return [this.agreement.codec.name]
    return this.remote ? bridgeable(this.codecs, codecsOf(this.remote.formats)) : this.codecs
  }

  /** Applies an offer of the peer, the first or a later one. */
  takeOffer(text: string): MediaResult<null> {
    const description = this.read(text)
    if (typeof description === 'string') return refused('description', description)
    if (!chooseCodec(description.formats, this.codecs)) return refused('codec', this.noCodec(description))
    this.offer = 'theirs'
    this.remote = description
    this.transport.setRemote(description)
    return done(null)
  }

  /** Returns our answer to the peer's offer, or an offer of ours. */
  describe(at: number): MediaResult<string> {
    if (this.offer === 'theirs' && this.remote) {
      const agreed = chooseCodec(this.remote.formats, this.preferredCodecs())
      if (!agreed) return refused('codec', this.noCodec(this.remote))
      this.agree(agreed, at)
      return done(this.write([agreed.codec, ...(agreed.keys ? [agreed.keys] : [])], this.direction, this.remote))
    }
    const formats = this.agreement
      ? [this.agreement.codec, ...(this.agreement.keys ? [this.agreement.keys] : [])]
      : offeredFormats(this.preferredCodecs())
    if (formats.length === 0) return refused('codec', 'the legs of this bridge have no codec in common')
    this.offer = { formats }
    for (const format of formats) this.payloadTypes.set(format.type, format)
    return done(this.write(formats, this.requestedDirection, this.remote))
  }

  accept(text: string, at: number, source: string | null = null): MediaResult<null> {
    if (this.offer === null || this.offer === 'theirs') return refused('state', `${this.id} has made no offer`)
    const description = this.read(text)
    if (typeof description === 'string') return refused('description', description)
    const agreed = chooseCodec(description.formats, codecsOf(this.offer.formats))
    if (!agreed) return refused('codec', this.noCodec(description))
    this.remote = description
    this.transport.setRemote(description, source)
    this.agree(agreed, at)
    return done(null)
  }

  renegotiate(text: string, at: number): MediaResult<string> {
    const taken = this.takeOffer(text)
    if (taken.outcome === 'refused') return taken
    this.version++
    return this.describe(at)
  }

  reoffer(direction: MediaDirection, at: number): MediaResult<string> {
    if (!this.agreement) return refused('state', `${this.id} has no negotiated codec yet`)
    this.requestedDirection = direction
    this.offer = null
    this.version++
    return this.describe(at)
  }

  /** Processes a decrypted RTP datagram. */
  receiveRtp(datagram: Buffer, at: number): void {
    const packet = readRtp(datagram)
    // Any payload type counts: comfort noise (RFC 3389) comes from peers that suppress silence, also unnegotiated.
    if (packet) this.noteLife(at)
    const format = packet && this.payloadTypes.get(packet.payloadType)
    if (!packet || !format || !this.agreement) return
    if (!this.receiver.receive(packet, at, this.agreement.codec.clock)) return
    this.lastMediaAt = at
    if (format.name === 'telephone-event') {
      const { digit, packet: key } = this.dtmf.detect(packet, format.clock)
      if (digit) this.events.dtmf(digit)
      this.other?.forward(key, null, at)
      if (digit) this.other?.soundKey(digit)
      return
    }
    const codec = format.name
    if (codec !== 'opus' && codec !== 'pcmu' && codec !== 'pcma') return
    const { said } = this.taps
    if (said !== null && isG711(codec)) for (const tap of said) tap(codec, packet, at)
    this.other?.forward(packet, codec, at)
  }

  receiveRtcp(datagram: Buffer, at: number): void {
    this.noteLife(at)
    for (const { ssrc, sent, blocks } of readReports(datagram)) {
      if (sent) this.receiver.noteSenderReport(ssrc, sent.middle, at)
      for (const block of blocks) this.sender.noteReport(block, Date.now())
    }
  }

  /** Forwards a packet that the other leg received; a null codec means a key. */
  private forward(packet: RtpPacket, codec: MediaCodec | null, at: number): void {
    if (!this.agreement) return
    if (!maySend(this.direction)) {
      this.sender.interrupt()
      this.packetizer?.clear()
      return
    }
    // A sound or key in progress is a source of its own. An interruption would split one key into several.
    if (this.isPlaying) return
    const format = codec === null ? this.agreement.keys : this.agreement.codec
    if (!format) return
    const { sequence, timestamp, marker } = packet
    let { payload } = packet
    if (codec !== null && codec !== this.agreement.codec.name) {
      if (!isG711(codec) || !isG711(this.agreement.codec.name)) return
      payload = otherLaw(codec, payload)
    }
    this.sendPacketized({ source: packet.ssrc, sequence, timestamp, marker, payloadType: format.type, payload }, at)
  }

  /** Sends a packet of audio, or a key among them, in the packet length that the peer asks for. */
  private sendPacketized(packet: UnnumberedPacket, at: number): void {
    const isKey = packet.payloadType === this.agreement?.keys?.type
    const { packetFrames } = this
    if (!this.packetizer) {
      // Most packets have the length already, and cost nothing.
      if (packetFrames === null || isKey || packet.payload.length === packetFrames) {
        this.send(packet, at)
        return
      }
      this.packetizer = new Packetizer(packetFrames)
    }
    for (const one of this.packetizer.take(packet, isKey)) this.send(one, at)
  }

  private send(packet: UnnumberedPacket, at: number): void {
    if (!this.agreement || this.isClosed || !maySend(this.direction)) return
    const { name, type, clock } = this.agreement.codec
    const numbered = this.sender.renumber(packet, at, clock)
    this.transport.send(writeRtp(numbered))
    // Keys are no audio.
    const { heard } = this.taps
    if (heard !== null && isG711(name) && packet.payloadType === type) for (const tap of heard) tap(name, numbered, at)
  }

  async sendKeys(digits: string): Promise<MediaResult<null>> {
    if (!this.agreement) return refused('state', `${this.id} has no negotiated codec yet`)
    const { codec, keys } = this.agreement
    if (!keys && !isG711(codec.name)) return refused('state', `${this.id} has not negotiated telephone events`)
    if (!/^[0-9*#A-D]+$/i.test(digits) || digits.length > maxDigits)
      return refused('description', `digits are 0-9, *, # and A-D, at most ${maxDigits}`)
    if (this.keys) return refused('state', `${this.id} is still sending keys`)
    if (keys) await this.press(dtmfPackets(digits, keys.clock), keys.type)
    else if (isG711(codec.name)) await this.press(dtmfTonePackets(digits, codec.name), codec.type)
    return done(null)
  }

  /** Sends keys in place of the audio. */
  private async press(packets: Iterable<TimedPacket>, payloadType: number): Promise<void> {
    const keys = new KeySource(packets, payloadType)
    this.keys = keys
    this.chooseSource()
    await keys.ended
  }

  /** Begins or ends to follow the clock, as keys and players come and go. */
  private chooseSource(): void {
    if (this.keys?.isOver) this.keys = null
    if (this.player?.isOver) this.player = null
    this.isPlaying = this.keys !== null || this.player !== null
    if (this.isPlaying) this.clock.start(this.playNext)
    else this.clock.stop(this.playNext)
  }

  /** Sends the packets of the ticks that have passed. Keys hold back the sounds of a player. */
  private readonly playNext = (ticks: number, at: number): void => {
    if (!maySend(this.direction)) this.sender.interrupt()
    for (let tick = 0; tick < ticks; tick++) {
      const codec = this.agreement?.codec
      if (this.keys) for (const packet of this.keys.tick()) this.sendPacketized(packet, at)
      else if (this.player && codec && isG711(codec.name)) {
        const packet = this.player.next(codec.name, codec.type)
        if (packet) this.sendPacketized(packet, at)
      }
      this.chooseSource()
    }
  }

  /** Sounds a key of the other leg for a peer without telephone events. Keys that come meanwhile follow. */
  private soundKey(digit: string): void {
    if (!this.agreement || this.agreement.keys || !isG711(this.agreement.codec.name)) return
    if (this.pendingTones.length < maxDigits) this.pendingTones += digit
    if (!this.keys) void this.soundPending()
  }

  private async soundPending(): Promise<void> {
    while (this.pendingTones !== '' && !this.isClosed) {
      const digits = this.pendingTones
      this.pendingTones = ''
      const codec = this.agreement?.codec
      if (codec && isG711(codec.name)) await this.press(dtmfTonePackets(digits, codec.name), codec.type)
    }
  }

  /** Detects keys in the audio too, while the peer has no telephone events. */
  listenForKeys(): MediaResult<null> {
    if (this.listensForKeys) return done(null)
    this.listensForKeys = true
    const detector = new ToneKeyDetector()
    this.taps.add('said', (codec, packet) => {
      if (!this.agreement?.keys) for (const digit of detector.detect(codec, packet)) this.events.dtmf(digit)
    })
    return done(null)
  }

  /**
   * Begins to play sounds to the peer in place of the bridge, and of sounds that are played already.
   * @param open opens the sounds; returns the reason why one cannot be played
   */
  async play(open: () => Promise<readonly SoundReader[] | string>): Promise<MediaResult<Player>> {
    this.stopSounds()
    const codec = this.agreement?.codec
    if (!codec || !isG711(codec.name)) return refused('state', `${this.id} has not negotiated G.711`)
    const player = new Player()
    this.player = player
    const sounds = await open()
    if (typeof sounds === 'string') player.stop()
    else player.begin(sounds)
    this.chooseSource()
    return typeof sounds === 'string' ? refused('description', sounds) : done(player)
  }

  /** Ends what `play` began. */
  stopSounds(): void {
    this.player?.stop()
    this.chooseSource()
  }

  /** Sends an RTCP report to the peer (RFC 3550, 6.4). */
  report(at: number): void {
    if (!this.agreement || this.isClosed) return
    const block = this.receiver.report(at)
    const info = this.sender.info(Date.now(), at, this.agreement.codec.clock)
    if (block || info) this.transport.sendRtcp(writeReport(this.sender.ssrc, info, block ? [block] : [], this.name))
  }

  /** Notes that the peer is alive. */
  noteLife(at: number): void {
    this.lastLifeAt = at
    this.isSilenceReported = false
  }

  get isHeld(): boolean {
    return this.agreement !== null && this.direction !== 'sendrecv'
  }

  /** The time of the last sign of life, or of the negotiation; null before that. */
  get lastSignAt(): number | null {
    return this.agreedAt === null ? null : Math.max(this.agreedAt, this.lastLifeAt)
  }

  stats(): MediaLegStats {
    const { receiver, sender, agreement } = this
    return {
      leg: this.id,
      codec: this.codec,
      received: {
        packets: receiver.packets,
        bytes: receiver.bytes,
        lost: receiver.lost,
        jitterMs: receiver.jitterMs(agreement?.codec.clock ?? 8_000),
      },
      sent: { packets: sender.packets, bytes: sender.bytes, lost: sender.lost },
      dropped: this.transport.dropped,
      roundTripMs: sender.roundTripMs,
      lastMediaAt: this.lastMediaAt && Math.round(Date.now() - (performance.now() - this.lastMediaAt)),
      local: this.transport.local,
      remote: this.transport.remote,
    }
  }

  close(): void {
    this.isClosed = true
    this.keys?.stop()
    this.stopSounds()
    this.taps.close()
    this.transport.close()
  }

  private preferredCodecs(): readonly MediaCodec[] {
    return this.other ? bridgeable(this.codecs, this.other.possible) : this.codecs
  }

  private agree(agreed: NegotiatedFormats, at: number): void {
    const packetFrames = this.remote && isG711(agreed.codec.name) ? packetFramesOf(this.remote) : null
    if (packetFrames !== this.packetFrames || agreed.codec.type !== this.agreement?.codec.type) this.packetizer = null
    this.packetFrames = packetFrames
    this.agreement = agreed
    // After a hold, the silence timer restarts.
    this.agreedAt = at
    this.isSilenceReported = false
    this.payloadTypes.set(agreed.codec.type, agreed.codec)
    if (agreed.keys) this.payloadTypes.set(agreed.keys.type, agreed.keys)
  }

  private read(text: string): AudioDescription | string {
    return readRemoteAudio(text, { kind: this.kind, srtp: this.srtp, address: this.transport.describe().address })
  }

  private noCodec({ formats }: AudioDescription): string {
    const theirs = formats.map(({ name }) => name).join(', ') || 'nothing'
    return `no common codec: ${this.id} offers ${theirs}; supported are ${this.preferredCodecs().join(', ') || 'none'}`
  }

  private write(formats: readonly Format[], direction: MediaDirection, offer: AudioDescription | null): string {
    const own = this.transport.describe()
    const { session, version, name } = this
    const plain = this.srtp === 'require' ? 'RTP/SAVP' : 'RTP/AVP'
    const fallback = this.kind === 'webrtc' ? 'UDP/TLS/RTP/SAVPF' : plain
    const isAnswer = this.offer === 'theirs'
    const security = own.security && { ...own.security, ...(isAnswer ? {} : { setup: 'actpass' as const }) }
    return writeAudio({
      ...own,
      id: session,
      version,
      security,
      direction,
      formats,
      protocol: offer?.protocol ?? fallback,
      ssrc: this.sender.ssrc,
      name,
      offer,
    })
  }
}
