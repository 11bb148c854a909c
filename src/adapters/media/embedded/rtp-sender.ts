import { randomBytes, randomInt } from 'node:crypto'
import { ntpMiddle, type ReportBlock, type SenderInfo } from '@trunkline/rtp/rtcp.ts'
import { type RtpPacket, sequenceAhead, timestampAhead } from '@trunkline/rtp/rtp.ts'
import { maxDropout, maxMisorder } from '../limits.ts'

/** A packet before it gets the sequence number and timestamp of the outgoing stream. */
export type UnnumberedPacket = {
  /** Identifies the source: an SSRC or a name. */
  readonly source: number | string
  readonly sequence: number
  readonly timestamp: number
  readonly marker: boolean
  readonly payloadType: number
  readonly payload: Buffer
}

/**
 * Sends one stream: one SSRC for the leg's whole life, for all sources. When the source changes (a tone, a key, a
 * restarted peer), sequence numbers go on by one, and timestamps by the elapsed time.
 */
export class RtpSender {
  readonly ssrc = randomBytes(4).readUInt32BE()
  private sequence = randomInt(0x8000)
  private timestamp = randomBytes(4).readUInt32BE()
  private at = 0
  private source: number | string | null = null
  private sourceSequence = 0
  private sourceTimestamp = 0
  private sequenceOffset = 0
  private timestampOffset = 0
  packets = 0
  bytes = 0
  /** Packets lost, by the peer's reports. */
  lost = 0
  roundTripMs: number | null = null

  /** @param at milliseconds of a monotonic clock */
  renumber(packet: UnnumberedPacket, at: number, clock: number): RtpPacket {
    const ahead = sequenceAhead(this.sourceSequence, packet.sequence)
    const isSame =
      packet.source === this.source &&
      ahead >= -maxMisorder &&
      ahead <= maxDropout &&
      Math.abs(timestampAhead(this.sourceTimestamp, packet.timestamp)) < clock * 60
    if (!isSame) {
      const passed = this.source === null ? 0 : Math.max(1, Math.round(((at - this.at) * clock) / 1_000))
      this.sequenceOffset = this.sequence + 1 - packet.sequence
      this.timestampOffset = this.timestamp + passed - packet.timestamp
    }
    const sequence = (packet.sequence + this.sequenceOffset) & 0xffff
    const timestamp = (packet.timestamp + this.timestampOffset) >>> 0
    this.source = packet.source
    // Keeps the highest number: relative to a late packet, a step back would look smaller than it is.
    if (!isSame || ahead > 0) {
      this.sourceSequence = packet.sequence
      this.sourceTimestamp = packet.timestamp
    }
    if (sequenceAhead(this.sequence, sequence) > 0) this.sequence = sequence
    if (timestampAhead(this.timestamp, timestamp) > 0) {
      this.timestamp = timestamp
      this.at = at
    }
    this.packets++
    this.bytes += packet.payload.length
    const { payloadType, payload } = packet
    // The marker tells the receiver that timestamps may jump (RFC 3551, 4.1).
    return { payloadType, payload, marker: packet.marker || !isSame, sequence, timestamp, ssrc: this.ssrc }
  }

  /** Notes that packets were withheld, as during a hold. The next packet follows without a gap, as a gap means loss. */
  interrupt(): void {
    if (this.source !== null) this.source = ''
  }

  /** Returns the data of a sender report; null before the first packet. */
  info(now: number, at: number, clock: number): SenderInfo | null {
    if (this.packets === 0) return null
    const timestamp = this.timestamp + Math.round(((at - this.at) * clock) / 1_000)
    return { time: now, timestamp, packets: this.packets, octets: this.bytes }
  }

  /** Processes the peer's report block (RFC 3550, 6.4.1). Round trip: now minus our report's time minus its delay. */
  noteReport(block: ReportBlock, now: number): void {
    if (block.ssrc !== this.ssrc) return
    this.lost = Math.max(0, block.lost)
    if (block.lastReport === 0) return
    const units = (ntpMiddle(now) - block.lastReport - block.delay) | 0
    if (units >= 0) this.roundTripMs = (units / 65_536) * 1_000
  }
}
