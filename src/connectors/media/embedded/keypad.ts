import { digitOf, eventOf, readEvent, writeEvent } from '../codec/event.ts'
import type { RtpPacket } from '../codec/rtp.ts'

/**
 * Tells each press once (RFC 4733, 2.5.1.3: all packets of an event carry its timestamp), whatever packets were lost, came twice or late.
 * A press is told by its first packet, so that it holds even when every end is lost.
 */
export class Keypad {
  /** Timestamps of the last presses: a packet of an earlier one may come after the next has begun. */
  private readonly told: string[] = []

  /** @returns the digit when the packet is the first one of a press */
  take(packet: RtpPacket): string | null {
    const event = readEvent(packet.payload)
    const digit = event && digitOf(event.event)
    if (!digit) return null
    const press = `${packet.ssrc} ${packet.timestamp}`
    if (this.told.includes(press)) return null
    this.told.push(press)
    if (this.told.length > 8) this.told.shift()
    return digit
  }
}

export type Press = {
  readonly timestamp: number
  readonly marker: boolean
  readonly payload: Buffer
  readonly delayMs: number
}

const pressMs = 100
const pauseMs = 50
const packetMs = 20

/**
 * The packets of a row of presses: one every 20 ms, the last one three times (RFC 4733, 2.5.1.4). `delayMs` is the time before a packet.
 * @param clock of the telephone-event, units a second
 */
export const presses = function* (digits: string, clock: number): Generator<Press> {
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
