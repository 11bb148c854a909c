import { closeSync, openSync, writeSync } from 'node:fs'
import { lookSamples, strongest } from './spectrum.ts'

/** Seconds from the answer on; hertz to the nearest whole one. */
export type Tone = { readonly hertz: number; readonly from: number; readonly seconds: number }

const rate = 8_000
/** How long the file is at most, and how many tones are told of a call. */
const mostSeconds = 60
const mostTones = 200
/** A packet that comes later than this behind what was heard so far left a gap of silence, ms. */
const patienceMs = 1_000
/** What belongs to a tone. */
const leastShare = 0.8
const sameHertz = 8

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

/** What a handset hears: told as tones, and kept as a WAV of one channel, its first minute. */
export class Ear {
  private readonly file: number
  private readonly began: number
  /** A second that is not in the file yet. */
  private readonly pending = Buffer.alloc(rate * 2)
  private waiting = 0
  private written = 0
  /** Samples so far, silence where nothing came. */
  private length = 0
  private readonly window = new Float64Array(lookSamples)
  private filled = 0
  private readonly list: { hertz: number; from: number; looks: number }[] = []

  /** @param now milliseconds of a clock that only goes forward */
  constructor(path: string, now: number) {
    this.began = now
    this.file = openSync(path, 'w')
    writeSync(this.file, header(0), 0, 44, 0)
  }

  get tones(): Tone[] {
    return this.list.map(({ hertz, from, looks }) => ({
      hertz: Math.round(hertz),
      from: Math.round((from / rate) * 100) / 100,
      seconds: Math.round(((looks * lookSamples) / rate) * 100) / 100,
    }))
  }

  hear(samples: ArrayLike<number>, now: number): void {
    const due = Math.floor(((now - this.began - patienceMs) * rate) / 1_000)
    const most = Math.min(due - this.length, mostSeconds * rate)
    // Silence that lasts is not written sample by sample.
    if (due - this.length > most) this.length = due - most
    for (let i = 0; i < most; i++) this.take(0)
    for (let i = 0; i < samples.length; i++) this.take(samples[i] ?? 0)
  }

  close(): void {
    this.write()
    writeSync(this.file, header(this.written), 0, 44, 0)
    closeSync(this.file)
  }

  private take(sample: number): void {
    if (this.length++ < mostSeconds * rate) this.waiting = this.pending.writeInt16LE(sample, this.waiting)
    if (this.waiting === this.pending.length) this.write()
    this.window[this.filled++] = sample
    if (this.filled < lookSamples) return
    this.filled = 0
    this.look()
  }

  private look(): void {
    const found = strongest(this.window)
    if (!found || found.share < leastShare) return
    const from = this.length - lookSamples
    const last = this.list.at(-1)
    // One look that met a packet's border is no end of a tone.
    const goesOn = last && from - (last.from + last.looks * lookSamples) <= lookSamples
    if (goesOn && Math.abs(last.hertz - found.hertz) <= sameHertz) {
      last.hertz += (found.hertz - last.hertz) / (last.looks + 1)
      last.looks = Math.round((this.length - last.from) / lookSamples)
    } else if (this.list.length < mostTones) this.list.push({ hertz: found.hertz, from, looks: 1 })
  }

  private write(): void {
    writeSync(this.file, this.pending, 0, this.waiting, 44 + this.written * 2)
    this.written += this.waiting / 2
    this.waiting = 0
  }
}
