import { sequenceAhead, timestampAhead } from '@trunkline/rtp/rtp.ts'
import type { AudioDescription } from '@trunkline/rtp/sdp.ts'
import { maxMisorder } from '../limits.ts'
import { packetMsOf } from '../packet-time.ts'
import type { UnnumberedPacket } from './rtp-sender.ts'

/**
 * Frames of G.711 in each packet to a peer, 8 per millisecond. Null: the peer takes packets of any length.
 */
export const packetFramesOf = (description: Pick<AudioDescription, 'ptime' | 'maxptime'>): number | null => {
  const milliseconds = packetMsOf(description)
  return milliseconds === null ? null : Math.floor(milliseconds * 8)
}

/** Counts packetizers, so that the packets of each are a source of their own. */
let made = 0

/**
 * Splits and joins packets of G.711, one octet per sample, to packets of equal length. A gap of the source ends a packet
 * early and stays a gap: lost packets are missing in the new sequence numbers too. Late packets are dropped, as their
 * place has been sent.
 */
export class Packetizer {
  private readonly frames: number
  private source: number | string | null = null
  private name = ''
  /** Sequence number of the last packet taken, and of the next packet to send. */
  private taken = 0
  private next = 0
  private held: Buffer = Buffer.alloc(0)
  /** Timestamp of the first octet held, and the expected one of the next packet. */
  private start = 0
  private due = 0
  private marker = false
  private payloadType = 0

  /** @param frames of each packet */
  constructor(frames: number) {
    this.frames = frames
  }

  /**
   * Takes a packet of audio, or of a key, which is passed on unchanged.
   * @returns the packets to send, in order
   */
  take(packet: UnnumberedPacket, isKey: boolean): UnnumberedPacket[] {
    const ahead = sequenceAhead(this.taken, packet.sequence)
    const isSame = packet.source === this.source && ahead >= -maxMisorder
    if (isSame && ahead <= 0) return []
    const passed = isSame ? timestampAhead(this.due, packet.timestamp) : 0
    const sent: UnnumberedPacket[] = []
    if (!isSame) this.restart(packet)
    else if ((ahead > 1 || passed !== 0 || isKey) && this.held.length > 0) sent.push(this.cut(this.held.length))
    if (ahead > 1 && isSame) this.next += Math.max(1, Math.round(Math.max(0, passed) / this.frames))
    this.taken = packet.sequence
    if (isKey) return [...sent, { ...packet, source: this.name, sequence: this.number() }]
    if (this.held.length === 0) {
      this.start = packet.timestamp
      this.marker = packet.marker
      this.payloadType = packet.payloadType
    }
    this.held = this.held.length === 0 ? packet.payload : Buffer.concat([this.held, packet.payload])
    this.due = (packet.timestamp + packet.payload.length) >>> 0
    while (this.held.length >= this.frames) sent.push(this.cut(this.frames))
    return sent
  }

  /** Drops what is held, as when the peer is on hold. */
  clear(): void {
    this.source = null
    this.held = Buffer.alloc(0)
  }

  private restart({ source, timestamp }: UnnumberedPacket): void {
    this.clear()
    this.source = source
    this.name = `packets ${made++}`
    this.next = 0
    this.due = timestamp
  }

  private number(): number {
    return this.next++ & 0xffff
  }

  private cut(frames: number): UnnumberedPacket {
    const { marker, payloadType, start: timestamp } = this
    const payload = this.held.subarray(0, frames)
    this.held = this.held.subarray(frames)
    this.start = (timestamp + frames) >>> 0
    this.marker = false
    return { source: this.name, sequence: this.number(), timestamp, marker, payloadType, payload }
  }
}
