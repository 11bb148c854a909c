import { randomBytes, randomInt } from 'node:crypto'
import { ntpMiddle, type ReportBlock, type SenderInfo } from '../codec/rtcp.ts'
import { type RtpPacket, sequenceAhead, timestampAhead } from '../codec/rtp.ts'

/** What a packet is made of before it has a number. */
export type Given = {
  /** Tells one giver from another: an SSRC, or a name. */
  readonly source: number | string
  readonly sequence: number
  readonly timestamp: number
  readonly marker: boolean
  readonly payloadType: number
  readonly payload: Buffer
}

/**
 * A gap in what a source gives is kept, so that the listener can tell a loss; a larger jump is a source that began anew, and so is a
 * step back beyond what comes late: its numbers would be repeated, which no listener takes. As the intake judges (RFC 3550, A.1).
 */
const maxGap = 3_000
const maxLate = 100

/**
 * One stream as it goes out: one SSRC for the leg's whole life, whoever gives the packets. When the giver changes (a tone, a digit,
 * a peer that began anew), numbers go on by one and time by what has passed.
 */
export class Outlet {
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
  /** As the peer reports. */
  lost = 0
  roundTripMs: number | null = null

  /** @param at milliseconds of a steady clock */
  number(given: Given, at: number, clock: number): RtpPacket {
    const ahead = sequenceAhead(this.sourceSequence, given.sequence)
    const isSame =
      given.source === this.source &&
      ahead >= -maxLate &&
      ahead <= maxGap &&
      Math.abs(timestampAhead(this.sourceTimestamp, given.timestamp)) < clock * 60
    if (!isSame) {
      const passed = this.source === null ? 0 : Math.max(1, Math.round(((at - this.at) * clock) / 1_000))
      this.sequenceOffset = this.sequence + 1 - given.sequence
      this.timestampOffset = this.timestamp + passed - given.timestamp
    }
    const sequence = (given.sequence + this.sequenceOffset) & 0xffff
    const timestamp = (given.timestamp + this.timestampOffset) >>> 0
    this.source = given.source
    // The highest one: against one that came late, a step back would look smaller than it is.
    if (!isSame || ahead > 0) {
      this.sourceSequence = given.sequence
      this.sourceTimestamp = given.timestamp
    }
    if (sequenceAhead(this.sequence, sequence) > 0) this.sequence = sequence
    if (timestampAhead(this.timestamp, timestamp) > 0) {
      this.timestamp = timestamp
      this.at = at
    }
    this.packets++
    this.bytes += given.payload.length
    const { payloadType, payload } = given
    // A mark tells the listener that time may have jumped (RFC 3551, 4.1).
    return { payloadType, payload, marker: given.marker || !isSame, sequence, timestamp, ssrc: this.ssrc }
  }

  /** Something that was given was kept back, as during a hold: what comes next follows without a gap, which would look like a loss. */
  interrupt(): void {
    if (this.source !== null) this.source = ''
  }

  /** For a sender report; null before the first packet. */
  info(now: number, at: number, clock: number): SenderInfo | null {
    if (this.packets === 0) return null
    const timestamp = this.timestamp + Math.round(((at - this.at) * clock) / 1_000)
    return { time: now, timestamp, packets: this.packets, octets: this.bytes }
  }

  /** What the peer says of us (RFC 3550, 6.4.1): the round trip is now less when it was sent less what it lay there. */
  reported(block: ReportBlock, now: number): void {
    if (block.ssrc !== this.ssrc) return
    this.lost = Math.max(0, block.lost)
    if (block.lastReport === 0) return
    const units = (ntpMiddle(now) - block.lastReport - block.delay) | 0
    if (units >= 0) this.roundTripMs = (units / 65_536) * 1_000
  }
}
