import { encodeSample, type G711, silence } from '@trunkline/rtp/g711.ts'
import type { TimedPacket } from './dtmf.ts'

/** Hertz of the tones of a key, one of each group (ITU-T Q.23). */
export const dtmfFrequencies = { low: [697, 770, 852, 941], high: [1_209, 1_336, 1_477, 1_633] } as const

/** Keys by the row of their low tone, then the column of their high one. */
export const dtmfKeys = '123A456B789C*0#D'

/** Amplitudes for -9 and -7 dBm0: high tones lose more on the way. */
const amplitudes = { low: 7_900, high: 9_950 }

const packetFrames = 160
const packetMs = 20
/** Packets of sound and of silence: 100 ms and 60 ms, as Q.24 asks for at least 40 ms of each. */
const soundPackets = 5
const pausePackets = 3

/** Yields packets of audio that sound the keys, one every 20 ms; each key ends with a pause. */
export const dtmfTonePackets = function* (digits: string, codec: G711): Generator<TimedPacket> {
  let frame = 0
  const quiet = Buffer.alloc(packetFrames, silence[codec])
  for (const digit of digits.toUpperCase()) {
    const index = dtmfKeys.indexOf(digit)
    if (index < 0) continue
    const step = (hertz = 0) => (2 * Math.PI * hertz) / 8_000
    const [low, high] = [step(dtmfFrequencies.low[index >> 2]), step(dtmfFrequencies.high[index & 3])]
    for (let i = 0; i < soundPackets + pausePackets; i++) {
      const from = i * packetFrames
      const payload =
        i >= soundPackets
          ? quiet
          : Buffer.from(
              Array.from({ length: packetFrames }, (_, j) =>
                encodeSample(
                  codec,
                  Math.round(
                    amplitudes.low * Math.sin((from + j) * low) + amplitudes.high * Math.sin((from + j) * high),
                  ),
                ),
              ),
            )
      yield { timestamp: frame, marker: frame === 0, payload, delayMs: frame === 0 ? 0 : packetMs }
      frame += packetFrames
    }
  }
}
