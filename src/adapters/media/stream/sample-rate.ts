// Changes of the sample rate by whole factors, for the 8,000 samples per second of G.711. Both keep the last samples, so
// that chunks of a stream join without a click.

/** Coefficients per sample of 8,000 Hz: a delay of 1.5 ms, and 40 dB less of what would be mirrored above 4,500 Hz. */
const tapsPerSample = 24

/** Hertz of the edge: the telephone band ends at 3,400 Hz. */
const edge = 3_700

/** Returns a low-pass filter at `factor` times 8,000 Hz: a sinc in a Hamming window, with gain 1. */
const lowPass = (factor: number): Float64Array => {
  const length = tapsPerSample * factor
  const middle = (length - 1) / 2
  const turn = (2 * edge) / (8_000 * factor)
  const filter = Float64Array.from({ length }, (_, i) => {
    const x = Math.PI * turn * (i - middle)
    return (x === 0 ? 1 : Math.sin(x) / x) * (0.54 - 0.46 * Math.cos((2 * Math.PI * i) / (length - 1)))
  })
  const sum = filter.reduce((total, one) => total + one, 0)
  return filter.map((one) => one / sum)
}

const clamped = (sample: number): number => Math.max(-32_768, Math.min(32_767, Math.round(sample)))

/** Converts samples of a stream, in chunks of any length. */
export type RateConverter = (samples: Int16Array) => Int16Array

const unchanged: RateConverter = (samples) => samples

/** From 8,000 samples per second to `factor` times as many. */
export const makeUpsampler = (factor: number): RateConverter => {
  if (factor === 1) return unchanged
  const filter = lowPass(factor)
  let past = new Int16Array(tapsPerSample - 1)
  return (samples) => {
    const input = new Int16Array(past.length + samples.length)
    input.set(past)
    input.set(samples, past.length)
    const output = new Int16Array(samples.length * factor)
    for (let i = 0; i < samples.length; i++)
      for (let phase = 0; phase < factor; phase++) {
        let sum = 0
        // The samples between are 0, so that a phase has every `factor`th coefficient.
        for (let tap = 0, at = i + past.length; tap < tapsPerSample; tap++, at--)
          sum += (filter[tap * factor + phase] ?? 0) * (input[at] ?? 0)
        output[i * factor + phase] = clamped(sum * factor)
      }
    past = input.slice(samples.length)
    return output
  }
}

/** From `factor` times 8,000 samples per second. A rest of a chunk is kept for the next one. */
export const makeDownsampler = (factor: number): RateConverter => {
  if (factor === 1) return unchanged
  const filter = lowPass(factor)
  let held = new Int16Array(filter.length - factor)
  return (samples) => {
    const input = new Int16Array(held.length + samples.length)
    input.set(held)
    input.set(samples, held.length)
    const count = Math.max(0, Math.floor((input.length - filter.length) / factor) + 1)
    const output = new Int16Array(count)
    for (let i = 0; i < count; i++) {
      let sum = 0
      for (let tap = 0, at = i * factor; tap < filter.length; tap++, at++) sum += (filter[tap] ?? 0) * (input[at] ?? 0)
      output[i] = clamped(sum)
    }
    held = input.slice(count * factor)
    return output
  }
}
