import { type G711, samplesOf } from '@trunkline/rtp/g711.ts'
import { type RtpPacket, sequenceAhead, timestampAhead } from '@trunkline/rtp/rtp.ts'
import { dtmfFrequencies, dtmfKeys } from './dtmf-tones.ts'

/** Samples of a window, 12.75 ms, and from one window to the next. */
const windowSamples = 102
const stepSamples = 51

/**
 * Windows in a row with the same key that begin a press, and without it that end one. ITU-T Q.24, with tones of 15 dB
 * above noise: 40 ms of a tone fill 4 windows, 20 ms touch at most 3. An interruption of 10 ms costs at most 3 windows,
 * a pause of 40 ms at least 7.
 */
const beginWindows = 4
const endWindows = 5

/** Least level of each tone: a sine of -40 dBm0 (G.711: the highest is one of 3.17 dBm0). */
const leastAmplitude = 223

// The limits of Q.24 are 1.5 % and 2 Hz off, the low tone up to 8 dB above the high one or 4 dB below. Tones at them were
// measured as 0.70 of a window's energy, 5.1 dB above the others of their group, 0.97 of the energy of a press when
// corrected for the frequencies, 1.95 % off, and with a twist of 9.3 dB and 4.6 dB.

/** Least share of both tones in the energy of a window, and over the windows of a press, corrected. */
const leastWindowShare = 0.65
const leastShare = 0.9

/** Most deviation of a tone, as a share of its frequency. Q.24 lets receivers refuse from 3.5 %. */
const mostDeviation = 0.0215

/** Most power of the low tone over the high one, and the reverse. */
const mostLow = 10 ** 0.95
const mostHigh = 10 ** 0.5

/** Least power of a tone over the others of its group: 4 dB. */
const leastLead = 2.5

/** Lost packets in a row within which a press goes on. */
const maxLostPackets = 5

const frequencies = [...dtmfFrequencies.low, ...dtmfFrequencies.high]
const radians = frequencies.map((hertz) => (2 * Math.PI * hertz) / 8_000)
const coefficients = radians.map((step) => 2 * Math.cos(step))

/** Windows in a row with the same key: sums over them, for each of the two tones. */
type Run = {
  readonly row: number
  readonly column: number
  windows: number
  /** Shares of the energy. */
  readonly shares: [number, number]
  /** Phases in the last window, and how far they ran ahead of the nominal frequencies since the first one, radians. */
  phases: readonly [number, number]
  readonly ahead: [number, number]
}

/** Returns true if the tones of a run are those of a key. */
const isKey = ({ row, column, windows, shares, ahead }: Run): boolean => {
  const corrected = [row, column].map((f, i) => {
    const deviation = (ahead[i] ?? 0) / (windows - 1) / stepSamples
    if (Math.abs(deviation) > mostDeviation * (radians[f] ?? 0)) return 0
    // The filter of a window weakens a tone that is off its frequency.
    const x = (deviation * windowSamples) / 2
    return (shares[i] ?? 0) / windows / (x === 0 ? 1 : (Math.sin(x) / x) ** 2)
  })
  const [low = 0, high = 0] = corrected
  return low > 0 && high > 0 && low <= high * mostLow && high <= low * mostHigh && low + high >= leastShare
}

/** Index of the strongest of four powers; null if another one is near. */
const leader = (powers: Float64Array, from: number): number | null => {
  let best = from
  for (let i = from + 1; i < from + 4; i++) if ((powers[i] ?? 0) > (powers[best] ?? 0)) best = i
  const most = powers[best] ?? 0
  for (let i = from; i < from + 4; i++) if (i !== best && (powers[i] ?? 0) * leastLead > most) return null
  return best
}

/** Detects keys that a telephone sends as pairs of tones in its audio (ITU-T Q.23), each press once. */
export class ToneKeyDetector {
  private readonly window = new Int16Array(windowSamples)
  /** Power and phase of each frequency in the last window. */
  private readonly powers = new Float64Array(8)
  private readonly phases = new Float64Array(8)
  private filled = 0
  /** The press in progress, its windows without the key in a row, and windows that may begin another one. */
  private pressed: string | null = null
  private misses = 0
  private run: Run | null = null
  private last: Pick<RtpPacket, 'ssrc' | 'sequence' | 'timestamp'> | null = null
  private due = 0

  /**
   * Takes a packet of the stream. Late packets are ignored. Lost packets do not end a press; a pause of the sender, whose
   * timestamps go on without packets, does.
   * @returns the keys whose press begins
   */
  detect(codec: G711, packet: RtpPacket): string {
    const { last } = this
    const ahead = last?.ssrc === packet.ssrc ? sequenceAhead(last.sequence, packet.sequence) : null
    if (ahead !== null && ahead <= 0 && ahead > -100) return ''
    const isPause = ahead === 1 && timestampAhead(this.due, packet.timestamp) >= endWindows * stepSamples
    if (ahead === null || ahead <= 0 || ahead > maxLostPackets + 1 || isPause) this.reset()
    this.last = packet
    this.due = packet.timestamp + packet.payload.length
    const samples = samplesOf[codec]
    let keys = ''
    for (let i = 0; i < packet.payload.length; i++) {
      this.window[this.filled++] = samples[packet.payload[i] ?? 0] ?? 0
      if (this.filled < windowSamples) continue
      keys += this.noteWindow()
      this.window.copyWithin(0, stepSamples)
      this.filled = windowSamples - stepSamples
    }
    return keys
  }

  private reset(): void {
    this.filled = 0
    this.pressed = null
    this.run = null
  }

  /** Counts a window. Returns the key if a press begins, otherwise nothing. */
  private noteWindow(): string {
    this.run = this.continueRun()
    const { run } = this
    const key = run ? (dtmfKeys[run.row * 4 + run.column - 4] ?? null) : null
    this.misses = key !== null && key === this.pressed ? 0 : this.misses + 1
    if (this.misses >= endWindows) this.pressed = null
    if (!run || key === null || key === this.pressed || run.windows < beginWindows || !isKey(run)) return ''
    this.pressed = key
    this.misses = 0
    return key
  }

  /** Returns the run with this window, or a new one; null if no key fills the window. */
  private continueRun(): Run | null {
    const { powers, phases } = this
    const power = this.filter()
    if (power === 0) return null
    const [row, column] = [leader(powers, 0), leader(powers, 4)]
    if (row === null || column === null) return null
    const [low, high] = [powers[row] ?? 0, powers[column] ?? 0]
    if (Math.min(low, high) < leastAmplitude ** 2 / 4 || low + high < leastWindowShare * power) return null
    const now = [phases[row] ?? 0, phases[column] ?? 0] as const
    const before = this.run?.row === row && this.run.column === column ? this.run : null
    const run = before ?? { row, column, windows: 0, shares: [0, 0], phases: now, ahead: [0, 0] }
    run.windows++
    for (const [i, f] of ([row, column] as const).entries()) {
      run.shares[i === 0 ? 0 : 1] += (powers[f] ?? 0) / power
      if (!before) continue
      const turn = (now[i] ?? 0) - (run.phases[i] ?? 0) - (radians[f] ?? 0) * stepSamples
      run.ahead[i === 0 ? 0 : 1] += turn - 2 * Math.PI * Math.round(turn / (2 * Math.PI))
    }
    run.phases = now
    return run
  }

  /** Filters the window by each frequency (Goertzel). Returns its mean square; 0 if it is too quiet for a key. */
  private filter(): number {
    const { window, powers, phases } = this
    let energy = 0
    for (let i = 0; i < windowSamples; i++) energy += (window[i] ?? 0) ** 2
    // Two sines of the least amplitude.
    if (energy < windowSamples * leastAmplitude ** 2) return 0
    for (let f = 0; f < 8; f++) {
      const turn = coefficients[f] ?? 0
      let [before, last] = [0, 0]
      for (let i = 0; i < windowSamples; i++) {
        const next = (window[i] ?? 0) + turn * last - before
        before = last
        last = next
      }
      // The mean square of the sine.
      powers[f] = (2 * (before * before + last * last - turn * before * last)) / windowSamples ** 2
      phases[f] = Math.atan2(before * Math.sin(radians[f] ?? 0), last - (before * turn) / 2)
    }
    return energy / windowSamples
  }
}
