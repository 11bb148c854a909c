import type { RtpPacket } from '@trunkline/rtp/rtp.ts'
import { digitOf, eventOf, readEvent, writeEvent } from '@trunkline/rtp/telephone-event.ts'

/**
 * Detects each key press once, despite lost, duplicate or late packets: all packets of an event have its timestamp
 * (RFC 4733, 2.5.1.3). The first packet counts, so that a press is detected even if all end packets are lost.
 */
export class DtmfDetector {
  /** SSRC and timestamp of the last presses, as packets of an earlier press may come after the next has started. */
  private readonly detected: string[] = []

  /** @returns the digit if the packet is the first of a press, otherwise null */
  detect(packet: RtpPacket): string | null {
    const event = readEvent(packet.payload)
    const digit = event && digitOf(event.event)
    if (!digit) return null
    const press = `${packet.ssrc} ${packet.timestamp}`
    if (this.detected.includes(press)) return null
    this.detected.push(press)
    if (this.detected.length > 8) this.detected.shift()
    return digit
  }
}

export type DtmfPacket = {
  readonly timestamp: number
  readonly marker: boolean
  readonly payload: Buffer
  readonly delayMs: number
}

const pressMs = 100
const pauseMs = 50
const packetMs = 20

/**
 * Yields the packets of key presses: one every 20 ms, the last one three times (RFC 4733, 2.5.1.4). `delayMs`: delay
 * before the packet. @param clock of the telephone-event, units per second
 */
export const dtmfPackets = function* (digits: string, clock: number): Generator<DtmfPacket> {
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
