import { createReadStream } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'
import { type G711, samplesOf } from '@trunkline/rtp/g711.ts'
import { type RtpPacket, timestampAhead } from '@trunkline/rtp/rtp.ts'
import type { MediaRecording } from '../../../ports/media.ts'
import { type Channels, frameBytesOf, headerBytes, sampleRate, summariseWav, wavHeader } from './wav.ts'

const framesPerMs = sampleRate / 1_000
/** Frames held in memory: packets may arrive up to this much later than others. */
const lagFrames = sampleRate
/** Larger deviations mean that the peer restarted or its clock drifted (100 ppm: half a second in 83 minutes). */
const toleranceFrames = sampleRate / 2
/** Frames buffered while the disk is blocked: 128 KB per call, or half with one channel. */
const windowFrames = sampleRate * 4

type Position = { ssrc: number; timestamp: number; frame: number }

/**
 * Writes two G.711 streams to a stereo file, channel 0 left and channel 1 right; or one to a file of one channel. The
 * timestamp of a packet sets its position, relative to the arrival of the stream's first packet. Missing packets are silence. Memory is bounded for
 * any input and any disk speed.
 */
export class Recorder {
  private readonly file: FileHandle
  private readonly path: string
  /** Later than the begin by the pauses that were skipped. */
  private start: number
  private paused: { readonly fill: 'silence' | 'skip'; readonly at: number } | null = null
  private readonly channels: Channels
  private readonly window: Int16Array
  private readonly positions: [Position | null, Position | null] = [null, null]
  /** First frame of the window; all frames before it are written. */
  private base = 0
  private writing: Promise<void> = Promise.resolve()
  private isWriting = false
  private error: unknown = null
  /** Packets dropped because they were late, or the disk was slow. */
  dropped = 0

  /** @param at milliseconds of the monotonic clock that also times packets */
  constructor(file: FileHandle, path: string, at: number, channels: Channels) {
    this.file = file
    this.path = path
    this.start = at
    this.channels = channels
    this.window = new Int16Array(windowFrames * channels)
  }

  addPacket(channel: 0 | 1, codec: G711, packet: RtpPacket, at: number): void {
    if (this.paused) return
    const frame = this.frameOf(channel, packet, this.frameAt(at)) - this.base
    const { length } = packet.payload
    if (frame < 0 || frame + length > windowFrames) {
      this.dropped++
      return
    }
    const samples = samplesOf[codec]
    const { channels } = this
    for (let i = 0; i < length; i++)
      this.window[(frame + i) * channels + channel] = samples[packet.payload[i] ?? 0] ?? 0
  }

  /** Records nothing until `resume`: silence, or as if the time had not passed. */
  pause(fill: 'silence' | 'skip', at: number): void {
    this.paused ??= { fill, at }
  }

  resume(at: number): void {
    if (this.paused?.fill === 'skip') {
      this.start += at - this.paused.at
      this.positions.fill(null)
    }
    this.paused = null
  }

  /** Writes complete frames; call it about every second. Does nothing while the last write is in progress. */
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

  /** Resolves when the last flush is written. */
  flushed(): Promise<void> {
    return this.writing
  }

  /**
   * Writes the remaining frames, then the length into the header.
   * @throws Error if a write failed; the file can then be repaired
   */
  async close(at: number): Promise<MediaRecording> {
    await this.writing
    try {
      if (this.error) throw this.error
      await this.write(this.frameAt(at))
      await this.file.write(wavHeader(this.base, this.channels), 0, headerBytes, 0)
      await this.file.datasync()
    } finally {
      await this.file.close()
    }
    return summariseWav(createReadStream(this.path))
  }

  private frameAt(at: number): number {
    const passed = this.paused?.fill === 'skip' ? this.paused.at : at
    return Math.max(0, Math.round((passed - this.start) * framesPerMs))
  }

  private frameOf(channel: 0 | 1, packet: RtpPacket, arrival: number): number {
    const known = this.positions[channel]
    if (known && known.ssrc === packet.ssrc) {
      const frame = known.frame + timestampAhead(known.timestamp, packet.timestamp)
      if (Math.abs(frame - arrival) <= toleranceFrames) return frame
    }
    this.positions[channel] = { ssrc: packet.ssrc, timestamp: packet.timestamp, frame: arrival }
    return arrival
  }

  private async write(until: number): Promise<void> {
    const { channels } = this
    while (this.base < until) {
      const frames = Math.min(until - this.base, windowFrames)
      const part = Buffer.from(this.window.slice(0, frames * channels).buffer)
      const position = headerBytes + this.base * frameBytesOf(channels)
      this.window.copyWithin(0, frames * channels)
      this.window.fill(0, (windowFrames - frames) * channels)
      this.base += frames
      await this.file.write(part, 0, part.length, position)
    }
  }
}

/**
 * Creates a file; does not overwrite an existing one.
 * @throws Error if it cannot be created
 */
export const openRecorder = async (path: string, at: number, channels: Channels = 2): Promise<Recorder> => {
  const file = await open(path, 'wx', 0o600)
  await file.write(wavHeader(0, channels), 0, headerBytes, 0)
  // After a loss of power, a file without its header would be taken for one of two channels.
  if (channels === 1) await file.datasync()
  return new Recorder(file, path, at, channels)
}
