import { createReadStream } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'
import type { MediaRecording } from '../../port.ts'
import { type G711, samplesOf } from '../codec/g711.ts'
import { type RtpPacket, timestampAhead } from '../codec/rtp.ts'
import { frameBytes, header, headerBytes, rate, summarise } from './wav.ts'

const framesPerMs = rate / 1_000
/** What is still in memory: packets may come so much later than others. */
const lagFrames = rate
/** Above this, a timestamp is not believed: the peer began anew, or its clock has drifted (100 ppm: half a second in 83 minutes). */
const toleranceFrames = rate / 2
/** While the disk does not take anything, so much is kept: 128 KB a call. */
const windowFrames = rate * 4

type Channel = { ssrc: number; timestamp: number; frame: number }

/**
 * Writes two streams of G.711 side by side: left is channel 0, right is channel 1. A packet stands where its timestamp says, counted from
 * when the stream's first one came; what did not come is silence. Memory is bounded whatever comes and however slow the disk is.
 */
export class Recorder {
  private readonly file: FileHandle
  private readonly path: string
  private readonly start: number
  private readonly window = new Int16Array(windowFrames * 2)
  private readonly channels: [Channel | null, Channel | null] = [null, null]
  /** The frame at which the window begins: all before it are written. */
  private base = 0
  private writing: Promise<void> = Promise.resolve()
  private isWriting = false
  private error: unknown = null
  /** Packets that came too late, or while the disk was behind. */
  dropped = 0

  /** @param at milliseconds of the steady clock that packets are told by */
  constructor(file: FileHandle, path: string, at: number) {
    this.file = file
    this.path = path
    this.start = at
  }

  take(channel: 0 | 1, codec: G711, packet: RtpPacket, at: number): void {
    const frame = this.place(channel, packet, this.frameAt(at)) - this.base
    const { length } = packet.payload
    if (frame < 0 || frame + length > windowFrames) {
      this.dropped++
      return
    }
    const samples = samplesOf[codec]
    for (let i = 0; i < length; i++) this.window[(frame + i) * 2 + channel] = samples[packet.payload[i] ?? 0] ?? 0
  }

  /** Writes what is complete; call it about every second. Does nothing while the last write is still under way. */
  flush(at: number): void {
    if (this.isWriting || this.error) return
    this.isWriting = true
    this.writing = this.write(this.frameAt(at) - lagFrames)
      .catch((error: unknown) => {
        this.error = error
      })
      .finally(() => {
        this.isWriting = false
      })
  }

  /** When the last flush is on its way to the disk. */
  settle(): Promise<void> {
    return this.writing
  }

  /**
   * Writes the rest, then the length into the header.
   * @throws Error when the file could not be written; what is there can be repaired
   */
  async close(at: number): Promise<MediaRecording> {
    await this.writing
    try {
      if (this.error) throw this.error
      await this.write(this.frameAt(at))
      await this.file.write(header(this.base), 0, headerBytes, 0)
      await this.file.datasync()
    } finally {
      await this.file.close()
    }
    return summarise(createReadStream(this.path))
  }

  private frameAt(at: number): number {
    return Math.max(0, Math.round((at - this.start) * framesPerMs))
  }

  private place(channel: 0 | 1, packet: RtpPacket, arrival: number): number {
    const known = this.channels[channel]
    if (known && known.ssrc === packet.ssrc) {
      const frame = known.frame + timestampAhead(known.timestamp, packet.timestamp)
      if (Math.abs(frame - arrival) <= toleranceFrames) return frame
    }
    this.channels[channel] = { ssrc: packet.ssrc, timestamp: packet.timestamp, frame: arrival }
    return arrival
  }

  private async write(until: number): Promise<void> {
    while (this.base < until) {
      const frames = Math.min(until - this.base, windowFrames)
      const part = Buffer.from(this.window.slice(0, frames * 2).buffer)
      const position = headerBytes + this.base * frameBytes
      this.window.copyWithin(0, frames * 2)
      this.window.fill(0, (windowFrames - frames) * 2)
      this.base += frames
      await this.file.write(part, 0, part.length, position)
    }
  }
}

/**
 * Begins a file; an existing one is not overwritten.
 * @throws Error when it cannot be made
 */
export const openRecorder = async (path: string, at: number): Promise<Recorder> => {
  const file = await open(path, 'wx', 0o600)
  await file.write(header(0), 0, headerBytes, 0)
  return new Recorder(file, path, at)
}
