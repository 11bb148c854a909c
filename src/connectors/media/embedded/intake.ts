import type { ReportBlock } from '../codec/rtcp.ts'
import { type RtpPacket, sequenceAhead } from '../codec/rtp.ts'
import { Recent } from './recent.ts'

/** Beyond these, a sequence number is no loss and no late packet but a peer that began anew (RFC 3550, A.1). */
const maxDropout = 3_000
const maxMisorder = 100

/** One stream as it comes in: what came twice is refused, the rest is counted (RFC 3550, 6.4.1 and appendix A). */
export class Intake {
  private ssrc: number | null = null
  private base = 0
  private highest = 0
  private cycles = 0
  private count = 0
  private transit: number | null = null
  private jitter = 0
  private expectedBefore = 0
  private countBefore = 0
  private lastReport = 0
  private lastReportAt = 0
  private recent = new Recent()
  /** Sums over all streams of this leg: a peer may begin another one. */
  private lostBefore = 0
  packets = 0
  bytes = 0

  /**
   * @param at milliseconds of a steady clock
   * @param clock of the codec, units a second
   * @returns false for a packet that has come already, or is too old to be told from one
   */
  take(packet: RtpPacket, at: number, clock: number): boolean {
    const isNew = this.place(packet)
    if (!isNew) return false
    this.packets++
    this.count++
    this.bytes += packet.payload.length
    const transit = (at * clock) / 1_000 - packet.timestamp
    if (this.transit !== null) {
      // Timestamps wrap after 2^32, which is no jitter.
      const change = Math.abs(transit - this.transit) % 2 ** 32
      this.jitter += (Math.min(change, clock) - this.jitter) / 16
    }
    this.transit = transit
    return true
  }

  private place(packet: RtpPacket): boolean {
    if (packet.ssrc !== this.ssrc) return this.begin(packet)
    const ahead = sequenceAhead(this.highest, packet.sequence)
    if (ahead > maxDropout || ahead < -maxMisorder) return this.begin(packet)
    if (ahead > 0) {
      if (packet.sequence < this.highest) this.cycles += 0x10000
      this.highest = packet.sequence
      this.recent.advance(ahead)
      return true
    }
    if (-ahead >= Recent.size || this.recent.has(-ahead)) return false
    this.recent.add(-ahead)
    return true
  }

  private begin(packet: RtpPacket): boolean {
    this.lostBefore = this.lost
    this.ssrc = packet.ssrc
    this.base = packet.sequence
    this.highest = packet.sequence
    this.cycles = 0
    this.count = 0
    this.transit = null
    this.expectedBefore = 0
    this.countBefore = 0
    this.lastReport = 0
    this.recent = new Recent()
    this.recent.add(0)
    return true
  }

  private get expected(): number {
    return this.ssrc === null ? 0 : this.cycles + this.highest - this.base + 1
  }

  get lost(): number {
    return this.lostBefore + Math.max(0, this.expected - this.count)
  }

  jitterMs(clock: number): number {
    return (this.jitter / clock) * 1_000
  }

  /** The peer's sender report came. */
  reported(ssrc: number, middle: number, at: number): void {
    if (ssrc !== this.ssrc) return
    this.lastReport = middle
    this.lastReportAt = at
  }

  /** What we report of it; null before the first packet. */
  report(at: number): ReportBlock | null {
    if (this.ssrc === null) return null
    const expected = this.expected - this.expectedBefore
    const lost = expected - (this.count - this.countBefore)
    this.expectedBefore = this.expected
    this.countBefore = this.count
    return {
      ssrc: this.ssrc,
      fraction: expected > 0 && lost > 0 ? Math.min(255, Math.floor((lost * 256) / expected)) : 0,
      lost: this.expected - this.count,
      highest: this.cycles + this.highest,
      jitter: this.jitter,
      lastReport: this.lastReport,
      delay: this.lastReport === 0 ? 0 : Math.round(((at - this.lastReportAt) * 65_536) / 1_000),
    }
  }
}
