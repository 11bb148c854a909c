import { type G711, samplesOf } from '@trunkline/rtp/g711.ts'
import type { RtpPacket } from '@trunkline/rtp/rtp.ts'
import type { MediaSpeechOptions } from '../../../ports/media.ts'
import { octetsPerMs } from './g711-frame.ts'

/** Mean square of a sine of a level in dBm0 (G.711: 3.17 dBm0 is the highest one). */
const powerOf = (level: number): number => (32_124 ** 2 / 2) * 10 ** ((level - 3.17) / 10)

/** Quieter packets are no speech. */
const leastPower = powerOf(-42)

/** Louder ones always are, whatever the noise. */
const surePower = powerOf(-20)

/** Power of speech over that of the noise: 8 dB. */
const leastRatio = 6.3

/** The noise rises by this factor in a millisecond without a quieter packet: 1 dB in a second. */
const risePerMs = 1.000_23

/** Share of the difference by which a quieter packet lowers the noise. */
const fall = 0.2

/** Detects when a peer begins and ends to speak: by its level over a noise that adapts. */
export class SpeechDetector {
  private readonly options: MediaSpeechOptions
  private readonly detected: (change: 'began' | 'ended') => void
  private noise = leastPower / leastRatio
  /** Milliseconds of sound, less those of quiet, while the peer does not speak. */
  private loudMs = 0
  private lastLoudAt = 0
  private isSpeaking = false

  constructor(options: MediaSpeechOptions, detected: (change: 'began' | 'ended') => void) {
    this.options = options
    this.detected = detected
  }

  /** @param at milliseconds of a monotonic clock */
  detect(codec: G711, { payload }: Pick<RtpPacket, 'payload'>, at: number): void {
    const { length } = payload
    if (length === 0) return
    const samples = samplesOf[codec]
    let sum = 0
    for (let i = 0; i < length; i++) sum += (samples[payload[i] ?? 0] ?? 0) ** 2
    const [power, milliseconds] = [sum / length, length / octetsPerMs]
    const isLoud = power > surePower || power > Math.max(leastPower, this.noise * leastRatio)
    if (power < this.noise) this.noise += (power - this.noise) * fall
    else this.noise = Math.min(power, this.noise * risePerMs ** milliseconds)
    if (isLoud) this.lastLoudAt = at
    if (!this.isSpeaking) {
      this.loudMs = Math.max(0, this.loudMs + (isLoud ? milliseconds : -milliseconds))
      if (this.loudMs >= this.options.leastMs) {
        this.isSpeaking = true
        this.detected('began')
      }
    }
    this.checkEnd(at)
  }

  /** Called with the time, as peers that suppress silence send no packets. */
  checkEnd(at: number): void {
    if (!this.isSpeaking || at - this.lastLoudAt < this.options.silenceMs) return
    this.isSpeaking = false
    this.loudMs = 0
    this.detected('ended')
  }
}
