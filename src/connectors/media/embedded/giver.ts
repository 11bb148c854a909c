import { setTimeout as pause } from 'node:timers/promises'
import { encodeSample, type G711 } from '../codec/g711.ts'
import { presses } from './keypad.ts'
import type { Given } from './outlet.ts'

/** What a leg is told to send of its own: a tone, or keys. */
export type Giver = { stop(): void }

const packetMs = 20
const packetFrames = 160
/** About -10 dBm0: as loud as speech. */
const amplitude = 9_000

/** A tone, a packet every 20 ms; a late timer is made up for, at most by five packets. */
export const playTone = (hertz: number, codec: G711, payloadType: number, send: (given: Given) => void): Giver => {
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

/** Sends the packets of a row of keys in their time. @param isOn false once nobody waits for it any more */
export const pressKeys = async (
  digits: string,
  clock: number,
  payloadType: number,
  send: (given: Given) => void,
  isOn: () => boolean,
): Promise<void> => {
  let sequence = 0
  let due = performance.now()
  // Each row begins anew: one right behind another would else seem to repeat it.
  const source = `keys ${due}`
  for (const { timestamp, marker, payload, delayMs } of presses(digits, clock)) {
    due += delayMs
    const wait = due - performance.now()
    if (wait > 0) await pause(wait)
    if (!isOn()) return
    send({ source, sequence: sequence++, timestamp, marker, payloadType, payload })
  }
}
