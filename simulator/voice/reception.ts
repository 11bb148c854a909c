import type { ReportBlock } from '../../src/connectors/media/codec/rtcp.ts'
import { type RtpPacket, sequenceAhead } from '../../src/connectors/media/codec/rtp.ts'

/** What came of a stream, as its sender is told of it (RFC 3550, 6.4.1 and A.3). */
export class Reception {
  private ssrc = -1
  private first = 0
  /** With the cycles of its 16 bits. */
  private highest = 0
  private received = 0
  private told = { expected: 0, received: 0 }

  take({ ssrc, sequence }: RtpPacket): void {
    if (ssrc !== this.ssrc) {
      this.ssrc = ssrc
      this.first = sequence
      this.highest = sequence
      this.received = 0
      this.told = { expected: 0, received: 0 }
    }
    this.received++
    const ahead = sequenceAhead(this.highest & 0xffff, sequence)
    if (ahead > 0) this.highest += ahead
  }

  /** Null for a stream of which nothing came. @param middle of the sender's own report, which came just now */
  report(ssrc: number, middle: number): ReportBlock | null {
    if (ssrc !== this.ssrc) return null
    const expected = this.highest - this.first + 1
    const [due, came] = [expected - this.told.expected, this.received - this.told.received]
    this.told = { expected, received: this.received }
    const fraction = due > 0 && due > came ? Math.floor(((due - came) / due) * 256) : 0
    const counts = { fraction: Math.min(255, fraction), lost: expected - this.received, highest: this.highest }
    return { ssrc, ...counts, jitter: 0, lastReport: middle, delay: 0 }
  }
}
