import { type RtpPacket, sequenceAhead, timestampAhead } from '@trunkline/rtp/rtp.ts'
import { digitOf, eventOf, type NamedEvent, readEvent, writeEvent } from '@trunkline/rtp/telephone-event.ts'

/** A press whose packets come. */
type Press = {
  readonly ssrc: number
  readonly event: number
  /** Timestamp of the first packet. */
  readonly timestamp: number
  last: { readonly sequence: number; readonly timestamp: number; readonly duration: number }
  isEnded: boolean
}

/** Repetitions of the end of a press (RFC 4733, 2.5.1.4). */
const maxRepeatedEnds = 2

/** Packets of a press that may be lost in a row. */
const maxLostPackets = 8

/**
 * Detects each key press once, despite lost, duplicate or late packets: all packets of an event have its timestamp
 * (RFC 4733, 2.5.1.3). The first packet counts, so that a press is detected even if all end packets are lost. Some
 * peers move the timestamp within a press: their packets get that of the first one.
 */
export class DtmfDetector {
  /** SSRC and timestamp of the last presses, as packets of an earlier press may come after the next has started. */
  private readonly detected: string[] = []
  private press: Press | null = null

  /**
   * Returns the digit if the packet is the first of a press, otherwise null, and the packet as it is passed on.
   * @param clock of the telephone-event, units per second
   */
  detect(packet: RtpPacket, clock: number): { readonly digit: string | null; readonly packet: RtpPacket } {
    const event = readEvent(packet.payload)
    const digit = event && digitOf(event.event)
    if (!event || !digit) return { digit: null, packet }
    const { ssrc, timestamp, sequence } = packet
    const last = { sequence, timestamp, duration: event.duration }
    const name = `${ssrc} ${timestamp}`
    const isKnown = this.detected.includes(name)
    const { press } = this
    if (press && (isKnown ? press.timestamp === timestamp : continues(press, packet, event, clock))) {
      const passed = timestampAhead(press.timestamp, timestamp)
      // Counted from the start of the press, or from the moved timestamp.
      const duration = passed === 0 || event.duration > press.last.duration ? event.duration : passed + event.duration
      press.last = { ...last, duration: event.duration }
      press.isEnded ||= event.end
      const payload = passed === 0 ? packet.payload : writeEvent({ ...event, duration })
      return { digit: null, packet: { ...packet, timestamp: press.timestamp, payload } }
    }
    if (isKnown) return { digit: null, packet }
    this.press = { ssrc, event: event.event, timestamp, last, isEnded: event.end }
    this.detected.push(name)
    if (this.detected.length > 8) this.detected.shift()
    return { digit, packet }
  }
}

/** True if a packet with another timestamp belongs to the press. */
const continues = (press: Press, packet: RtpPacket, event: NamedEvent, clock: number): boolean => {
  const { last, isEnded } = press
  if (packet.ssrc !== press.ssrc || event.event !== press.event || packet.marker) return false
  const ahead = sequenceAhead(last.sequence, packet.sequence)
  const passed = timestampAhead(last.timestamp, packet.timestamp)
  if (ahead < 1 || ahead > maxLostPackets || passed < 0 || passed > (clock * maxLostPackets) / 20) return false
  // The duration of another press starts again; the end of a press is repeated at once.
  return isEnded ? event.end && ahead <= maxRepeatedEnds : event.duration >= last.duration
}

/** A packet of a sequence of keys; `delayMs`: delay before it. */
export type TimedPacket = {
  readonly timestamp: number
  readonly marker: boolean
  readonly payload: Buffer
  readonly delayMs: number
}

const pressMs = 100
const pauseMs = 50
const packetMs = 20

/**
 * Yields the packets of key presses: one every 20 ms, the last one three times (RFC 4733, 2.5.1.4).
 * @param clock of the telephone-event, units per second
 */
export const dtmfPackets = function* (digits: string, clock: number): Generator<TimedPacket> {
  const unit = clock / 1_000
  for (const [i, digit] of [...digits].entries()) {
    const event = eventOf(digit)
    if (event === null) continue
    const timestamp = i * (pressMs + pauseMs) * unit
    for (let ms = packetMs; ms <= pressMs; ms += packetMs) {
      const payload = writeEvent({ event, end: ms === pressMs, duration: ms * unit })
      const isFirst = ms === packetMs
      yield { timestamp, marker: isFirst, payload, delayMs: isFirst && i === 0 ? 0 : isFirst ? pauseMs : packetMs }
      if (ms === pressMs)
        for (let again = 0; again < 2; again++) yield { timestamp, marker: false, payload, delayMs: 0 }
    }
  }
}
