import { setTimeout as pause } from 'node:timers/promises'
import { encodeSample, type G711 } from '@trunkline/rtp/g711.ts'
import type { TimedPacket } from './dtmf.ts'
import type { UnnumberedPacket } from './rtp-sender.ts'

/** A running tone of a leg. */
export type ToneSource = { stop(): void }

const packetMs = 20
const packetFrames = 160
/** About -10 dBm0: as loud as speech. */
const amplitude = 9_000

/** Sends a tone, a packet every 20 ms. A late timer is compensated by at most five packets. */
export const startTone = (
  hertz: number,
  codec: G711,
  payloadType: number,
  send: (packet: UnnumberedPacket) => void,
): ToneSource => {
  const start = performance.now()
  let [sent, sequence] = [0, 0]
  const step = (2 * Math.PI * hertz) / 8_000
  const next = () => {
    const due = Math.floor((performance.now() - start) / packetMs) + 1
    if (due - sent > 5) sent = due - 5
    for (; sent < due; sent++) {
      const frame = sent * packetFrames
      const payload = Buffer.allocUnsafe(packetFrames)
      for (let i = 0; i < packetFrames; i++)
        payload[i] = encodeSample(codec, Math.round(amplitude * Math.sin((frame + i) * step)))
      const number = sequence++ & 0xffff
      send({ source: `tone ${start}`, sequence: number, timestamp: frame >>> 0, marker: false, payloadType, payload })
    }
  }
  next()
  const timer = setInterval(next, packetMs)
  return { stop: () => clearInterval(timer) }
}

/** Sends the packets of key presses, events or tones, at their times. @param isOn returns false to stop */
export const sendKeys = async (
  packets: Iterable<TimedPacket>,
  payloadType: number,
  send: (packet: UnnumberedPacket) => void,
  isOn: () => boolean,
): Promise<void> => {
  let sequence = 0
  let due = performance.now()
  // Every sequence of keys is a new source. Otherwise one right after another would seem to repeat it.
  const source = `keys ${due}`
  for (const { timestamp, marker, payload, delayMs } of packets) {
    due += delayMs
    const wait = due - performance.now()
    if (wait > 0) await pause(wait)
    if (!isOn()) return
    send({ source, sequence: sequence++, timestamp, marker, payloadType, payload })
  }
}
