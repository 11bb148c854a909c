import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'
import type { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { MediaRecording } from '../../../ports/media.ts'

/** Samples per second and channel. */
export const sampleRate = 8_000
export type Channels = MediaRecording['channels']
/** Returns the bytes of a frame: a 16-bit sample for each channel. */
export const frameBytesOf = (channels: Channels): number => channels * 2
export const headerBytes = 44

/** Reads the channels of a header. One that was never flushed has zeros: the file is taken for one of two channels. */
const channelsOf = (header: Buffer): Channels => (header.length >= headerBytes && header.readUInt16LE(22) === 1 ? 1 : 2)

/** Returns the RIFF header for a number of frames of PCM. */
export const wavHeader = (frames: number, channels: Channels = 2): Buffer => {
  const written = Buffer.alloc(headerBytes)
  const frameBytes = frameBytesOf(channels)
  const bytes = frames * frameBytes
  written.write('RIFF', 0)
  written.writeUInt32LE(bytes + headerBytes - 8, 4)
  written.write('WAVEfmt ', 8)
  written.writeUInt32LE(16, 16)
  written.writeUInt16LE(1, 20)
  written.writeUInt16LE(channels, 22)
  written.writeUInt32LE(sampleRate, 24)
  written.writeUInt32LE(sampleRate * frameBytes, 28)
  written.writeUInt16LE(frameBytes, 32)
  written.writeUInt16LE(16, 34)
  written.write('data', 36)
  written.writeUInt32LE(bytes, 40)
  return written
}

/** Returns seconds, bytes, checksum and channels of a complete recording. Reads the whole content once. */
export const summariseWav = async (recording: Readable): Promise<MediaRecording> => {
  const hash = createHash('sha256')
  let bytes = 0
  let header: Buffer = Buffer.alloc(0)
  await pipeline(recording, async (chunks) => {
    for await (const chunk of chunks) {
      if (header.length < headerBytes) header = Buffer.concat([header, chunk.subarray(0, headerBytes)])
      bytes += chunk.length
      hash.update(chunk)
    }
  })
  const channels = channelsOf(header)
  const seconds = (bytes - headerBytes) / frameBytesOf(channels) / sampleRate
  return { seconds, bytes, sha256: hash.digest('hex'), channels }
}

const completeFile = async (file: FileHandle, path: string): Promise<void> => {
  const { size } = await file.stat()
  const start = Buffer.alloc(headerBytes)
  await file.read(start, 0, headerBytes, 0)
  // The header may be truncated or never flushed; the samples after it are valid nevertheless.
  if (size >= headerBytes && start.some((byte) => byte !== 0) && start.toString('latin1', 0, 4) !== 'RIFF')
    throw new Error(`${path} is not a recording`)
  const channels = channelsOf(start)
  const frameBytes = frameBytesOf(channels)
  const frames = Math.max(0, Math.floor((size - headerBytes) / frameBytes))
  const whole = wavHeader(frames, channels)
  if (size === headerBytes + frames * frameBytes && whole.equals(start)) return
  await file.truncate(headerBytes + frames * frameBytes)
  await file.write(whole, 0, headerBytes, 0)
  await file.datasync()
}

/**
 * Repairs a recording whose process was killed: its header states length 0, and its last frame may be partial.
 * A complete recording stays unchanged.
 * @throws Error if the file does not exist or is not a recording
 */
export const repairWav = async (path: string): Promise<MediaRecording> => {
  const file = await open(path, 'r+')
  try {
    await completeFile(file, path)
  } finally {
    await file.close()
  }
  return summariseWav(createReadStream(path))
}

/** Removes this many seconds from the end of a complete recording. */
export const trimWav = async (path: string, seconds: number): Promise<MediaRecording> => {
  const file = await open(path, 'r+')
  try {
    const { size } = await file.stat()
    const header = Buffer.alloc(headerBytes)
    await file.read(header, 0, headerBytes, 0)
    const frameBytes = frameBytesOf(channelsOf(header))
    const frames = Math.floor((size - headerBytes) / frameBytes) - Math.round(seconds * sampleRate)
    await file.truncate(headerBytes + Math.max(0, frames) * frameBytes)
  } finally {
    await file.close()
  }
  return repairWav(path)
}
