import type { ReportBlock } from '@trunkline/rtp/rtcp.ts'
import { type RtpPacket, sequenceAhead } from '@trunkline/rtp/rtp.ts'

/** Reception statistics of a stream for its sender (RFC 3550, 6.4.1 and A.3). */
export class ReceptionStats {
  private ssrc = -1
  private first = 0
  /** Extended sequence number, including cycles of its 16 bits. */
  private highest = 0
  private received = 0
  private lastReport = { expected: 0, received: 0 }

  addPacket({ ssrc, sequence }: RtpPacket): void {
    if (ssrc !== this.ssrc) {
      this.ssrc = ssrc
      this.first = sequence
      this.highest = sequence
      this.received = 0
      this.lastReport = { expected: 0, received: 0 }
    }
    this.received++
    const ahead = sequenceAhead(this.highest & 0xffff, sequence)
    if (ahead > 0) this.highest += ahead
  }

  /** Null for a stream without packets. @param middle of the sender report that just arrived */
  report(ssrc: number, middle: number): ReportBlock | null {
    if (ssrc !== this.ssrc) return null
    const expected = this.highest - this.first + 1
    const [due, came] = [expected - this.lastReport.expected, this.received - this.lastReport.received]
    this.lastReport = { expected, received: this.received }
    const fraction = due > 0 && due > came ? Math.floor(((due - came) / due) * 256) : 0
    const counts = { fraction: Math.min(255, fraction), lost: expected - this.received, highest: this.highest }
    return { ssrc, ...counts, jitter: 0, lastReport: middle, delay: 0 }
  }
}
