import { ReplayWindow } from '@trunkline/rtp/replay-window.ts'
import type { ReportBlock } from '@trunkline/rtp/rtcp.ts'
import { type RtpPacket, sequenceAhead } from '@trunkline/rtp/rtp.ts'
import { maxDropout, maxMisorder } from '../limits.ts'

/** Receives a stream: refuses duplicates and counts the rest (RFC 3550, 6.4.1 and appendix A). */
export class RtpReceiver {
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
  private window = new ReplayWindow()
  /** Sum over earlier streams of this leg, as a peer may start another one. */
  private lostBefore = 0
  packets = 0
  bytes = 0

  /**
   * @param at milliseconds of a monotonic clock
   * @param clock of the codec, units per second
   * @returns false for a duplicate, or a packet too old to be distinguished from one
   */
  receive(packet: RtpPacket, at: number, clock: number): boolean {
    const isNew = this.track(packet)
    if (!isNew) return false
    this.packets++
    this.count++
    this.bytes += packet.payload.length
    const transit = (at * clock) / 1_000 - packet.timestamp
    if (this.transit !== null) {
      // Timestamps wrap at 2^32; the wrap must not count as jitter.
      const change = Math.abs(transit - this.transit) % 2 ** 32
      this.jitter += (Math.min(change, clock) - this.jitter) / 16
    }
    this.transit = transit
    return true
  }

  private track(packet: RtpPacket): boolean {
    if (packet.ssrc !== this.ssrc) return this.restart(packet)
    const ahead = sequenceAhead(this.highest, packet.sequence)
    if (ahead > maxDropout || ahead < -maxMisorder) return this.restart(packet)
    if (ahead > 0) {
      if (packet.sequence < this.highest) this.cycles += 0x10000
      this.highest = packet.sequence
      this.window.advance(ahead)
      return true
    }
    if (-ahead >= ReplayWindow.size || this.window.has(-ahead)) return false
    this.window.add(-ahead)
    return true
  }

  private restart(packet: RtpPacket): boolean {
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
    this.window = new ReplayWindow()
    this.window.add(0)
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

  /** Notes a sender report of the peer. */
  noteSenderReport(ssrc: number, middle: number, at: number): void {
    if (ssrc !== this.ssrc) return
    this.lastReport = middle
    this.lastReportAt = at
  }

  /** Returns our report block; null before the first packet. */
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
