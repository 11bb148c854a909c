import { closeSync, openSync, writeSync } from 'node:fs'
import { strongestTone, windowSamples } from './spectrum.ts'

/** Seconds from the answer on; hertz rounded to an integer. */
export type Tone = { readonly hertz: number; readonly from: number; readonly seconds: number }

const rate = 8_000
/** Maximum seconds of the file, and maximum tones reported of a call. */
const maxSeconds = 60
const maxTones = 200
/** Milliseconds without packets after which silence is inserted. */
const gapMs = 1_000
/** Limits within which a window belongs to a tone. */
const minShare = 0.8
const toleranceHertz = 8

const header = (samples: number): Buffer => {
  const written = Buffer.alloc(44)
  written.write('RIFF', 0)
  written.writeUInt32LE(36 + samples * 2, 4)
  written.write('WAVEfmt ', 8)
  written.writeUInt32LE(16, 16)
  written.writeUInt16LE(1, 20)
  written.writeUInt16LE(1, 22)
  written.writeUInt32LE(rate, 24)
  written.writeUInt32LE(rate * 2, 28)
  written.writeUInt16LE(2, 32)
  written.writeUInt16LE(16, 34)
  written.write('data', 36)
  written.writeUInt32LE(samples * 2, 40)
  return written
}

/** Detects tones in a handset's audio and records its first minute as a mono WAV. */
export class ToneDetector {
  private readonly file: number
  private readonly startedAt: number
  /** One second that is not yet in the file. */
  private readonly pending = Buffer.alloc(rate * 2)
  private pendingBytes = 0
  private written = 0
  /** Samples so far, with silence inserted for gaps. */
  private length = 0
  private readonly window = new Float64Array(windowSamples)
  private filled = 0
  private readonly list: { hertz: number; from: number; looks: number }[] = []

  /** @param now milliseconds of a monotonic clock */
  constructor(path: string, now: number) {
    this.startedAt = now
    this.file = openSync(path, 'w')
    writeSync(this.file, header(0), 0, 44, 0)
  }

  get tones(): Tone[] {
    return this.list.map(({ hertz, from, looks }) => ({
      hertz: Math.round(hertz),
      from: Math.round((from / rate) * 100) / 100,
      seconds: Math.round(((looks * windowSamples) / rate) * 100) / 100,
    }))
  }

  addSamples(samples: ArrayLike<number>, now: number): void {
    const due = Math.floor(((now - this.startedAt - gapMs) * rate) / 1_000)
    const most = Math.min(due - this.length, maxSeconds * rate)
    // Long silence is skipped instead of written sample by sample.
    if (due - this.length > most) this.length = due - most
    for (let i = 0; i < most; i++) this.addSample(0)
    for (let i = 0; i < samples.length; i++) this.addSample(samples[i] ?? 0)
  }

  close(): void {
    this.write()
    writeSync(this.file, header(this.written), 0, 44, 0)
    closeSync(this.file)
  }

  private addSample(sample: number): void {
    if (this.length++ < maxSeconds * rate) this.pendingBytes = this.pending.writeInt16LE(sample, this.pendingBytes)
    if (this.pendingBytes === this.pending.length) this.write()
    this.window[this.filled++] = sample
    if (this.filled < windowSamples) return
    this.filled = 0
    this.analyse()
  }

  private analyse(): void {
    const found = strongestTone(this.window)
    if (!found || found.share < minShare) return
    const from = this.length - windowSamples
    const last = this.list.at(-1)
    // One window at a packet border does not end a tone.
    const goesOn = last && from - (last.from + last.looks * windowSamples) <= windowSamples
    if (goesOn && Math.abs(last.hertz - found.hertz) <= toleranceHertz) {
      last.hertz += (found.hertz - last.hertz) / (last.looks + 1)
      last.looks = Math.round((this.length - last.from) / windowSamples)
    } else if (this.list.length < maxTones) this.list.push({ hertz: found.hertz, from, looks: 1 })
  }

  private write(): void {
    writeSync(this.file, this.pending, 0, this.pendingBytes, 44 + this.written * 2)
    this.written += this.pendingBytes / 2
    this.pendingBytes = 0
  }
}
