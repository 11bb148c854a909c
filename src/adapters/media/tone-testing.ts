import { readFileSync } from 'node:fs'
import { encodeSample, type G711 } from '@trunkline/rtp/g711.ts'

/** Returns G.711 frames of 20 ms of a tone. */
export const toneFrames = (hertz: number, count: number, codec: G711 = 'pcmu'): Buffer[] =>
  Array.from({ length: count }, (_, frame) =>
    Buffer.from(
      Array.from({ length: 160 }, (_, i) =>
        encodeSample(codec, Math.round(12_000 * Math.sin((2 * Math.PI * hertz * (frame * 160 + i)) / 8_000))),
      ),
    ),
  )

/** Returns the share (0 to 1) of the samples' energy at a frequency: Goertzel's filter, 8,000 samples per second. */
export const energyShare = (samples: ArrayLike<number>, hertz: number): number => {
  const turn = 2 * Math.cos((2 * Math.PI * hertz) / 8_000)
  let [before, last, energy] = [0, 0, 0]
  for (let i = 0; i < samples.length; i++) {
    const sample = samples[i] ?? 0
    ;[before, last] = [last, sample + turn * last - before]
    energy += sample * sample
  }
  const power = before * before + last * last - turn * before * last
  return energy === 0 ? 0 : (2 * power) / (samples.length * energy)
}

/** Returns the largest energy share of a frequency in any quarter of a second. A busy machine leaves gaps elsewhere. */
export const maxEnergyShare = (samples: Int16Array, hertz: number): number => {
  let most = 0
  for (let from = 0; from + 2_000 <= samples.length; from += 500)
    most = Math.max(most, energyShare(samples.subarray(from, from + 2_000), hertz))
  return most
}

/** Returns the samples of a channel of a recording: 0 left, 1 right. */
export const channelOf = (file: string, channel: 0 | 1): Int16Array => {
  const bytes = readFileSync(file).subarray(44)
  return Int16Array.from({ length: bytes.length / 4 }, (_, i) => bytes.readInt16LE(i * 4 + channel * 2))
}

/** Returns the samples of a recording of one channel. */
export const monoOf = (file: string): Int16Array => {
  const bytes = readFileSync(file).subarray(44)
  return Int16Array.from({ length: bytes.length / 2 }, (_, i) => bytes.readInt16LE(i * 2))
}
