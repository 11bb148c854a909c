import { type G711, otherLaw, silence } from '@trunkline/rtp/g711.ts'
import { type RtpPacket, sequenceAhead, timestampAhead } from '@trunkline/rtp/rtp.ts'
import { defaultPacketMs, maxFrameGapMs, maxReorderMs } from '../limits.ts'
import { frameBytes, octetsPerMs } from './g711-frame.ts'

type WaitingPacket = { readonly packet: RtpPacket; readonly octets: Buffer; readonly until: number }

/** Milliseconds without packets after which silence is given: the peer suppresses it, or a packet is late. */
const idleMs = maxReorderMs + defaultPacketMs

/**
 * Makes frames of 20 ms of µ-law from the packets of a stream, in order. A packet after a lost or late one waits for it
 * for `maxReorderMs`, others for nothing. Time without packets is silence.
 */
export class OrderedFrames {
  private readonly give: (frame: Buffer) => void
  private held: Buffer = Buffer.alloc(0)
  /** The last packet in order, and the timestamp of the octet after it. */
  private last: Pick<RtpPacket, 'ssrc' | 'sequence'> | null = null
  private due = 0
  /** By their timestamps. */
  private waiting: WaitingPacket[] = []
  /** The time up to which frames were given. */
  private givenAt: number

  /** @param at milliseconds of a monotonic clock */
  constructor(give: (frame: Buffer) => void, at: number) {
    this.give = give
    this.givenAt = at
  }

  take(codec: G711, packet: RtpPacket, at: number): void {
    const octets = codec === 'pcmu' ? packet.payload : otherLaw(codec, packet.payload)
    const { last } = this
    const newer = last?.ssrc === packet.ssrc ? sequenceAhead(last.sequence, packet.sequence) : null
    const ahead = timestampAhead(this.due, packet.timestamp)
    if (newer === null || Math.abs(ahead) > maxFrameGapMs * octetsPerMs || (newer === 1 && ahead < 0)) {
      // Another stream, or one whose clock stood still or jumped.
      for (const one of this.waiting.splice(0)) this.append(one.packet, one.octets, at)
      this.due = packet.timestamp
      this.append(packet, octets, at)
      return
    }
    if (newer <= 0 || ahead < 0) return
    // Without a lost packet, a gap is silence that the peer suppressed.
    if (ahead === 0 || newer === 1) this.append(packet, octets, at)
    else {
      this.waiting.push({ packet, octets, until: at + maxReorderMs })
      this.waiting.sort((a, b) => timestampAhead(b.packet.timestamp, a.packet.timestamp))
    }
    this.drain(at, false)
  }

  /** Gives what has waited too long, and silence while no packets come. */
  tick(at: number): void {
    this.drain(at, true)
    while (this.waiting.length === 0 && at - this.givenAt >= idleMs) {
      this.fill(frameBytes)
      this.givenAt += defaultPacketMs
    }
  }

  private drain(at: number, isTimed: boolean): void {
    for (let [first] = this.waiting; first; [first] = this.waiting) {
      const ahead = timestampAhead(this.due, first.packet.timestamp)
      if (ahead > 0 && !(isTimed && first.until <= at)) return
      this.waiting.shift()
      if (ahead >= 0) this.append(first.packet, first.octets, at)
    }
  }

  private append({ ssrc, sequence, timestamp }: RtpPacket, octets: Buffer, at: number): void {
    const gap = timestampAhead(this.due, timestamp)
    if (gap > 0) this.fill(gap)
    this.last = { ssrc, sequence }
    this.givenAt = at
    this.add(octets)
  }

  private fill(octets: number): void {
    this.add(Buffer.alloc(octets, silence.pcmu))
  }

  private add(octets: Buffer): void {
    this.due = (this.due + octets.length) >>> 0
    this.held = this.held.length === 0 ? octets : Buffer.concat([this.held, octets])
    while (this.held.length >= frameBytes) {
      this.give(this.held.subarray(0, frameBytes))
      this.held = this.held.subarray(frameBytes)
    }
  }
}
