import { maxResamplerPhases } from '../limits.ts'

// Conversion of a sampling rate to 8 kHz by a windowed-sinc low-pass (J. O. Smith, Digital Audio Resampling): each
// output sample is a weighted sum of the input samples around it.

const outputRate = 8_000

/** Zero crossings of the filter on each side: a transition of 600 Hz. */
const crossings = 24

/** Share of the band that passes: up to 3.4 kHz of a telephone's 4 kHz. */
const passing = 0.925

/** Shape of the Kaiser window: 60 dB below in the stop band, more than G.711 can hold. */
const beta = 5.65

/** Modified Bessel function of the first kind, order 0. */
const bessel = (x: number): number => {
  let [sum, term] = [1, 1]
  for (let k = 1; term > sum * 1e-9; k++) {
    term *= (x / (2 * k)) ** 2
    sum += term
  }
  return sum
}

const divisor = (a: number, b: number): number => (b === 0 ? a : divisor(b, a % b))

const sinc = (x: number): number => (x === 0 ? 1 : Math.sin(Math.PI * x) / (Math.PI * x))

/** Returns the weights of each phase: `taps` of them, with the sum 1, so that the level stays. */
const weightsOf = (rate: number, half: number, phases: number): readonly Float32Array[] => {
  const cutoff = (passing * Math.min(rate, outputRate)) / rate
  const full = bessel(beta)
  return Array.from({ length: phases }, (_, phase) => {
    const weights = new Float32Array(2 * half)
    let sum = 0
    for (let i = 0; i < weights.length; i++) {
      const x = i - half + 1 - phase / phases
      const share = x / half
      const window = Math.abs(share) >= 1 ? 0 : bessel(beta * Math.sqrt(1 - share * share)) / full
      const weight = cutoff * sinc(cutoff * x) * window
      weights[i] = weight
      sum += weight
    }
    return weights.map((weight) => weight / sum)
  })
}

/** Four sums at a time: each addition waits for the one before it in its sum, which takes three times as long. */
const weightedSum = (weights: Float32Array, samples: Float32Array, first: number): number => {
  let [a, b, c, d] = [0, 0, 0, 0]
  for (let i = 0; i < weights.length; i += 4) {
    const at = first + i
    a += (weights[i] ?? 0) * (samples[at] ?? 0)
    b += (weights[i + 1] ?? 0) * (samples[at + 1] ?? 0)
    c += (weights[i + 2] ?? 0) * (samples[at + 2] ?? 0)
    d += (weights[i + 3] ?? 0) * (samples[at + 3] ?? 0)
  }
  return a + b + c + d
}

/** Converts samples of one channel to 8 kHz, piece by piece. */
export class Resampler {
  readonly #rate: number
  /** Input samples on each side of an output sample. */
  readonly #half: number
  readonly #phases: number
  readonly #weights: readonly Float32Array[]
  /** Input that later output needs, and the position of its first sample. The first output needs silence before it. */
  #held: Float32Array
  #start: number
  #received = 0
  #written = 0

  /** @param rate of the input, in Hz */
  constructor(rate: number) {
    this.#rate = rate
    // Even: sums take four weights at a time.
    this.#half = 2 * Math.ceil((crossings * Math.max(1, rate / outputRate)) / 2)
    this.#phases = Math.min(maxResamplerPhases, outputRate / divisor(rate, outputRate))
    this.#weights = rate === outputRate ? [] : weightsOf(rate, this.#half, this.#phases)
    this.#held = new Float32Array(this.#half)
    this.#start = -this.#half
  }

  /** Returns the output that this input completes. */
  push(samples: Float32Array): Float32Array {
    this.#received += samples.length
    if (this.#rate === outputRate) return samples
    const joined = new Float32Array(this.#held.length + samples.length)
    joined.set(this.#held)
    joined.set(samples, this.#held.length)
    this.#held = joined
    return this.#take(this.#start + joined.length)
  }

  /** Returns the rest of the output. */
  end(): Float32Array {
    if (this.#rate === outputRate) return new Float32Array()
    const total = Math.ceil((this.#received * outputRate) / this.#rate)
    const joined = new Float32Array(this.#held.length + 2 * this.#half)
    joined.set(this.#held)
    this.#held = joined
    return this.#take(this.#start + joined.length).subarray(0, Math.max(0, total - this.#before))
  }

  /** Output samples before the last `#take`. */
  #before = 0

  /** @param end position after the last input sample */
  #take(end: number): Float32Array {
    const [rate, half, phases, start, held] = [this.#rate, this.#half, this.#phases, this.#start, this.#held]
    this.#before = this.#written
    // Outputs whose input is complete.
    const ready = Math.max(0, Math.floor(((end - half - 1) * outputRate) / rate) - this.#written)
    const output = new Float32Array(ready)
    for (let n = 0; n < ready; n++) {
      const position = this.#written * rate
      let at = Math.floor(position / outputRate)
      let phase = Math.round(((position % outputRate) * phases) / outputRate)
      if (phase === phases) {
        phase = 0
        at++
      }
      const weights = this.#weights[phase] ?? new Float32Array()
      const first = at - half + 1 - start
      output[n] = weightedSum(weights, held, first)
      this.#written++
    }
    const next = Math.floor((this.#written * rate) / outputRate) - half + 1
    const drop = Math.max(0, Math.min(held.length, next - start))
    this.#held = held.slice(drop)
    this.#start = start + drop
    return output
  }
}
