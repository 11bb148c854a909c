import { Authenticator, tagBytes } from './authenticator.ts'
import { derive, KeyStream, type MasterKey } from './keystream.ts'
import { Recent } from './recent.ts'

// SRTP and SRTCP (RFC 3711) with AES-128 in counter mode and HMAC-SHA1 of 80 bits, which every browser has.

/** The index of an RTCP packet, with the bit that says that it is encrypted (RFC 3711, 3.4). */
const trailerBytes = 4
const encryptedBit = 0x80000000

/** The key stream is made for eight packets of up to 20 ms of G.711 at a time: 0.2 µs a packet; one by one it takes 0.9. */
const bytesAhead = 192
const packetsAhead = 8

const mask = (packet: Buffer, start: number, end: number, stream: Buffer, from: number): void => {
  for (let at = start; at < end; at++) packet[at] = (packet[at] ?? 0) ^ (stream[from + at - start] ?? 0)
}

const rolloverOf = (index: number): number => Math.floor(index / 0x10000)

/** One SSRC: how far it is, what of it came, and the key stream of its next packets. */
class Stream {
  readonly ssrc: number
  private readonly recent = new Recent()
  private highest = -1
  private ahead: Buffer | null = null
  private aheadFrom = 0

  constructor(ssrc: number) {
    this.ssrc = ssrc
  }

  get isFirst(): boolean {
    return this.highest < 0
  }

  /** The index of 48 bits that a sequence number stands for: the one that is nearest to the highest (RFC 3711, 3.3.1). */
  indexOf(sequence: number): number {
    return this.isFirst ? sequence : this.highest + (((sequence - this.highest) << 16) >> 16)
  }

  /** Neither taken before nor too old to know (RFC 3711, 3.3.2). */
  isNew(index: number): boolean {
    const below = this.highest - index
    return index >= 0 && (below < 0 || (below < Recent.size && !this.recent.has(below)))
  }

  take(index: number): void {
    const by = index - this.highest
    if (by > 0) {
      this.recent.advance(by)
      this.highest = index
    } else this.recent.add(-by)
  }

  /** Encrypts or decrypts an RTP packet's payload in place. */
  mask(keys: KeyStream, index: number, packet: Buffer, start: number, end: number): void {
    if (end - start > bytesAhead) {
      mask(packet, start, end, keys.of(this.ssrc, index, end - start), 0)
      return
    }
    if (!this.ahead || index < this.aheadFrom || index >= this.aheadFrom + packetsAhead) {
      this.ahead = keys.of(this.ssrc, index, bytesAhead, packetsAhead)
      this.aheadFrom = index
    }
    mask(packet, start, end, this.ahead, (index - this.aheadFrom) * bytesAhead)
  }
}

/** A call has one stream in each direction; a peer that begins anew now and then still fits. */
const maxStreams = 16

/** RTP or RTCP of one direction. */
class Side {
  readonly keys: KeyStream
  readonly authenticator: Authenticator
  private readonly streams = new Map<number, Stream>()

  /** @param label the first of its three keys (RFC 3711, 4.3.2) */
  constructor(master: MasterKey, label: 0 | 3) {
    this.keys = new KeyStream(derive(master, label, 16), derive(master, label + 2, 14))
    this.authenticator = new Authenticator(derive(master, label + 1, 20))
  }

  /** Null when there are too many. A new one is not kept before its first packet is taken. */
  stream(ssrc: number): Stream | null {
    return this.streams.get(ssrc) ?? (this.streams.size < maxStreams ? new Stream(ssrc) : null)
  }

  take(stream: Stream, index: number): void {
    if (stream.isFirst) this.streams.set(stream.ssrc, stream)
    stream.take(index)
  }
}

/** Where RTP's payload begins (RFC 3550, 5.1 and 5.3.1); beyond the packet's end when it has no room for what its header says. */
const payloadAt = (packet: Buffer): number => {
  const first = packet[0] ?? 0
  const end = 12 + (first & 0x0f) * 4
  if ((first & 0x10) === 0) return end
  return packet.length < end + 4 ? Number.POSITIVE_INFINITY : end + 4 + packet.readUInt16BE(end + 2) * 4
}

/** For what goes to the peer. */
export class Sealer {
  private readonly rtp: Side
  private readonly rtcp: Side
  private reports = 0

  constructor(master: MasterKey) {
    this.rtp = new Side(master, 0)
    this.rtcp = new Side(master, 3)
  }

  /** Null for a number that has gone out before, or might have: a key stream is used once (RFC 3711, 9.1). */
  seal(packet: Buffer): Buffer | null {
    const { length } = packet
    const stream = this.rtp.stream(packet.readUInt32BE(8))
    const index = stream?.indexOf(packet.readUInt16BE(2)) ?? 0
    if (!stream?.isNew(index)) return null
    this.rtp.take(stream, index)
    const sealed = Buffer.allocUnsafe(length + tagBytes)
    packet.copy(sealed)
    stream.mask(this.rtp.keys, index, sealed, payloadAt(packet), length)
    this.rtp.authenticator.sign(sealed, length, rolloverOf(index))
    return sealed
  }

  sealRtcp(packet: Buffer): Buffer {
    const { length } = packet
    const index = ++this.reports
    const sealed = Buffer.allocUnsafe(length + trailerBytes + tagBytes)
    packet.copy(sealed)
    mask(sealed, 8, length, this.rtcp.keys.of(packet.readUInt32BE(4), index, length - 8), 0)
    sealed.writeUInt32BE((encryptedBit | index) >>> 0, length)
    this.rtcp.authenticator.sign(sealed, length + trailerBytes, null)
    return sealed
  }
}

/** For what comes from the peer. Packets are decrypted where they are; null is what is not the peer's, or came before. */
export class Opener {
  private readonly rtp: Side
  private readonly rtcp: Side

  constructor(master: MasterKey) {
    this.rtp = new Side(master, 0)
    this.rtcp = new Side(master, 3)
  }

  open(packet: Buffer): Buffer | null {
    const end = packet.length - tagBytes
    const start = payloadAt(packet)
    if (end < 12 || start > end) return null
    const stream = this.rtp.stream(packet.readUInt32BE(8))
    const index = stream?.indexOf(packet.readUInt16BE(2)) ?? 0
    if (!stream?.isNew(index) || !this.rtp.authenticator.isSigned(packet, end, rolloverOf(index))) return null
    this.rtp.take(stream, index)
    stream.mask(this.rtp.keys, index, packet, start, end)
    return packet.subarray(0, end)
  }

  openRtcp(packet: Buffer): Buffer | null {
    const end = packet.length - tagBytes - trailerBytes
    if (end < 8) return null
    const trailer = packet.readUInt32BE(end)
    const index = trailer & ~encryptedBit
    const stream = this.rtcp.stream(packet.readUInt32BE(4))
    if (!stream?.isNew(index) || !this.rtcp.authenticator.isSigned(packet, end + trailerBytes, null)) return null
    this.rtcp.take(stream, index)
    if (trailer >= encryptedBit) mask(packet, 8, end, this.rtcp.keys.of(stream.ssrc, index, end - 8), 0)
    return packet.subarray(0, end)
  }
}
