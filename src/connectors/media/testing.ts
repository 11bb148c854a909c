import { encodeSample, type G711 } from './codec/g711.ts'

/** Frames of 20 ms of a tone, in G.711. */
export const toneFrames = (hertz: number, count: number, codec: G711 = 'pcmu'): Buffer[] =>
  Array.from({ length: count }, (_, frame) =>
    Buffer.from(
      Array.from({ length: 160 }, (_, i) =>
        encodeSample(codec, Math.round(12_000 * Math.sin((2 * Math.PI * hertz * (frame * 160 + i)) / 8_000))),
      ),
    ),
  )

/** How much of the energy of samples (8,000 a second) is at a frequency: Goertzel's filter; 0 to 1. */
export const share = (samples: ArrayLike<number>, hertz: number): number => {
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

/** The most that a frequency has of any quarter of a second: a busy machine leaves gaps elsewhere. */
export const clearest = (samples: Int16Array, hertz: number): number => {
  let most = 0
  for (let from = 0; from + 2_000 <= samples.length; from += 500)
    most = Math.max(most, share(samples.subarray(from, from + 2_000), hertz))
  return most
}
