import { randomInt } from 'node:crypto'
import { type AudioDescription, type Format, writeAudio } from '../../../lib/sdp.ts'
import type { MediaAnswer, MediaCodec, MediaDirection, MediaLegStats, MediaLegWish, MediaSrtp } from '../../port.ts'
import { done, refused } from '../answer.ts'
import { otherLaw } from '../codec/g711.ts'
import { readReports, writeReport } from '../codec/rtcp.ts'
import { type RtpPacket, readRtp, writeRtp } from '../codec/rtp.ts'
import { type Agreement, bridgeable, choose, codecsOf, directed, isG711, maySend, offered, readPeer } from './agree.ts'
import { type Giver, playTone, pressKeys } from './giver.ts'
import { Intake } from './intake.ts'
import { Keypad } from './keypad.ts'
import type { Line } from './line.ts'
import { type Given, Outlet } from './outlet.ts'

/** What a leg tells its call. Times are milliseconds of the steady clock. */
export type LegEvents = {
  /** A packet of the agreed codec. */
  heard(codec: MediaCodec, packet: RtpPacket, at: number): void
  dtmf(digit: string): void
}

const maxDigits = 64

/** One side of a call: what was agreed with the peer, one stream each way, and what carries them. */
export class Leg {
  readonly id: string
  readonly kind: 'webrtc' | 'rtp'
  private readonly codecs: readonly MediaCodec[]
  private readonly srtp: MediaSrtp
  private readonly line: Line
  private readonly events: LegEvents
  private readonly name: string
  private readonly session = String(randomInt(2 ** 47))
  private version = 0
  /** What we wish to be, and the peer's last description. */
  private wish: MediaDirection = 'sendrecv'
  private remote: AudioDescription | null = null
  private offer: { readonly formats: readonly Format[] } | 'theirs' | null = null
  private readonly heardTypes = new Map<number, Format>()
  private agreement: Agreement | null = null
  private agreedAt: number | null = null
  private giver: Giver | null = null
  private isPressing = false
  private isClosed = false
  private readonly keypad = new Keypad()
  private readonly intake = new Intake()
  private readonly outlet = new Outlet()
  private lastMediaAt: number | null = null
  isSilenceTold = false
  other: Leg | null = null

  constructor(
    { id, kind, codecs, srtp }: Required<Pick<MediaLegWish, 'id' | 'kind' | 'codecs' | 'srtp'>>,
    name: string,
    line: Line,
    events: LegEvents,
  ) {
    this.srtp = srtp
    this.id = id
    this.kind = kind
    this.codecs = codecs
    this.name = name
    this.line = line
    this.events = events
  }

  get codec(): MediaCodec | null {
    return this.agreement?.codec.name ?? null
  }

  private get direction(): MediaDirection {
    return this.remote ? directed(this.wish, this.remote.direction) : this.wish
  }

  /** What can come through this leg: what was agreed, else what may be. */
  private get possible(): readonly MediaCodec[] {
    if (this.agreement) return [this.agreement.codec.name]
    return this.remote ? bridgeable(this.codecs, codecsOf(this.remote.formats)) : this.codecs
  }

  /** The peer's offer, the first one or another. */
  takeOffer(text: string): MediaAnswer<null> {
    const description = this.read(text)
    if (typeof description === 'string') return refused('description', description)
    if (!choose(description.formats, this.codecs)) return refused('codec', this.noCodec(description))
    this.offer = 'theirs'
    this.remote = description
    this.line.setRemote(description)
    return done(null)
  }

  /** Our answer to the peer's offer, or an offer of ours. */
  describe(at: number): MediaAnswer<string> {
    if (this.offer === 'theirs' && this.remote) {
      const agreed = choose(this.remote.formats, this.wished())
      if (!agreed) return refused('codec', this.noCodec(this.remote))
      this.agree(agreed, at)
      return done(this.write([agreed.codec, ...(agreed.keys ? [agreed.keys] : [])], this.direction, this.remote))
    }
    const formats = this.agreement
      ? [this.agreement.codec, ...(this.agreement.keys ? [this.agreement.keys] : [])]
      : offered(this.wished())
    if (formats.length === 0) return refused('codec', 'the legs of this bridge have no codec in common')
    this.offer = { formats }
    for (const format of formats) this.heardTypes.set(format.type, format)
    return done(this.write(formats, this.wish, this.remote))
  }

  accept(text: string, at: number, source: string | null = null): MediaAnswer<null> {
    if (this.offer === null || this.offer === 'theirs') return refused('state', `${this.id} has made no offer`)
    const description = this.read(text)
    if (typeof description === 'string') return refused('description', description)
    const agreed = choose(description.formats, codecsOf(this.offer.formats))
    if (!agreed) return refused('codec', this.noCodec(description))
    this.remote = description
    this.line.setRemote(description, source)
    this.agree(agreed, at)
    return done(null)
  }

  renegotiate(text: string, at: number): MediaAnswer<string> {
    const taken = this.takeOffer(text)
    if (taken.outcome === 'refused') return taken
    this.version++
    return this.describe(at)
  }

  reoffer(direction: MediaDirection, at: number): MediaAnswer<string> {
    if (!this.agreement) return refused('state', `${this.id} has agreed nothing yet`)
    this.wish = direction
    this.offer = null
    this.version++
    return this.describe(at)
  }

  /** A datagram of RTP, in the clear. */
  takeRtp(datagram: Buffer, at: number): void {
    const packet = readRtp(datagram)
    const format = packet && this.heardTypes.get(packet.payloadType)
    if (!packet || !format || !this.agreement) return
    if (!this.intake.take(packet, at, this.agreement.codec.clock)) return
    this.lastMediaAt = at
    this.isSilenceTold = false
    if (format.name === 'telephone-event') {
      const digit = this.keypad.take(packet)
      if (digit) this.events.dtmf(digit)
      this.other?.pass(packet, null, at)
      return
    }
    const codec = format.name
    if (codec !== 'opus' && codec !== 'pcmu' && codec !== 'pcma') return
    this.events.heard(codec, packet, at)
    this.other?.pass(packet, codec, at)
  }

  takeRtcp(datagram: Buffer, at: number): void {
    for (const { ssrc, sent, blocks } of readReports(datagram)) {
      if (sent) this.intake.reported(ssrc, sent.middle, at)
      for (const block of blocks) this.outlet.reported(block, Date.now())
    }
  }

  /** What the other leg heard; a null codec is a key. */
  private pass(packet: RtpPacket, codec: MediaCodec | null, at: number): void {
    if (!this.agreement) return
    if (!maySend(this.direction)) {
      this.outlet.interrupt()
      return
    }
    // A tone or a key is in its midst: it is a source of its own, and an interruption would cut one key into several.
    if (this.giver || this.isPressing) return
    const format = codec === null ? this.agreement.keys : this.agreement.codec
    if (!format) return
    const { sequence, timestamp, marker } = packet
    let { payload } = packet
    if (codec !== null && codec !== this.agreement.codec.name) {
      if (!isG711(codec) || !isG711(this.agreement.codec.name)) return
      payload = otherLaw(codec, payload)
    }
    this.send({ source: packet.ssrc, sequence, timestamp, marker, payloadType: format.type, payload }, at)
  }

  private send(given: Given, at: number): void {
    if (!this.agreement || this.isClosed || !maySend(this.direction)) return
    this.line.send(writeRtp(this.outlet.number(given, at, this.agreement.codec.clock)))
  }

  async press(digits: string): Promise<MediaAnswer<null>> {
    const keys = this.agreement?.keys
    if (!keys) return refused('state', `${this.id} has not agreed to telephone events`)
    if (!/^[0-9*#A-D]+$/i.test(digits) || digits.length > maxDigits)
      return refused('description', `digits are 0-9, *, # and A-D, at most ${maxDigits}`)
    if (this.isPressing) return refused('state', `${this.id} still presses keys`)
    this.isPressing = true
    const send = (given: Given) => this.send(given, performance.now())
    await pressKeys(digits, keys.clock, keys.type, send, () => !this.isClosed)
    this.isPressing = false
    return done(null)
  }

  play(hertz: number | null): MediaAnswer<null> {
    this.giver?.stop()
    this.giver = null
    if (hertz === null) return done(null)
    const codec = this.agreement?.codec
    if (!codec || !isG711(codec.name)) return refused('state', `${this.id} has not agreed to G.711`)
    this.giver = playTone(hertz, codec.name, codec.type, (given) => {
      if (!this.isPressing) this.send(given, performance.now())
    })
    return done(null)
  }

  /** A report to the peer of what came and what went (RFC 3550, 6.4). */
  report(at: number): void {
    if (!this.agreement || this.isClosed) return
    const block = this.intake.report(at)
    const info = this.outlet.info(Date.now(), at, this.agreement.codec.clock)
    if (block || info) this.line.sendRtcp(writeReport(this.outlet.ssrc, info, block ? [block] : [], this.name))
  }

  /** Since when nothing has come, though something ought to; null while that is not so. */
  silentSince(): number | null {
    if (this.agreedAt === null || this.direction !== 'sendrecv') return null
    return Math.max(this.agreedAt, this.lastMediaAt ?? 0)
  }

  stats(): MediaLegStats {
    const { intake, outlet, agreement } = this
    return {
      leg: this.id,
      codec: this.codec,
      received: {
        packets: intake.packets,
        bytes: intake.bytes,
        lost: intake.lost,
        jitterMs: intake.jitterMs(agreement?.codec.clock ?? 8_000),
      },
      sent: { packets: outlet.packets, bytes: outlet.bytes, lost: outlet.lost },
      dropped: this.line.dropped,
      roundTripMs: outlet.roundTripMs,
      lastMediaAt: this.lastMediaAt && Math.round(Date.now() - (performance.now() - this.lastMediaAt)),
      local: this.line.local,
      remote: this.line.remote,
    }
  }

  close(): void {
    this.isClosed = true
    this.giver?.stop()
    this.line.close()
  }

  private wished(): readonly MediaCodec[] {
    return this.other ? bridgeable(this.codecs, this.other.possible) : this.codecs
  }

  private agree(agreed: Agreement, at: number): void {
    this.agreement = agreed
    // Coming back from a hold, the peer has its time to speak up.
    this.agreedAt = at
    this.isSilenceTold = false
    this.heardTypes.set(agreed.codec.type, agreed.codec)
    if (agreed.keys) this.heardTypes.set(agreed.keys.type, agreed.keys)
  }

  private read(text: string): AudioDescription | string {
    return readPeer(text, { kind: this.kind, srtp: this.srtp, address: this.line.own().address })
  }

  private noCodec({ formats }: AudioDescription): string {
    const theirs = formats.map(({ name }) => name).join(', ') || 'nothing'
    return `${this.id} speaks ${theirs}; possible here are ${this.wished().join(', ') || 'none'}`
  }

  private write(formats: readonly Format[], direction: MediaDirection, offer: AudioDescription | null): string {
    const own = this.line.own()
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
      ssrc: this.outlet.ssrc,
      name,
      offer,
    })
  }
}
