import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { type FileHandle, open, stat, truncate } from 'node:fs/promises'
import type { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { MediaRecording } from '../../../ports/media.ts'

/** Samples per second and channel. */
export const sampleRate = 8_000
/** Bytes of a frame: a 16-bit sample for each of two channels. */
export const frameBytes = 4
export const headerBytes = 44

/** Returns the RIFF header for a number of frames of stereo PCM. */
export const wavHeader = (frames: number): Buffer => {
  const written = Buffer.alloc(headerBytes)
  const bytes = frames * frameBytes
  written.write('RIFF', 0)
  written.writeUInt32LE(bytes + headerBytes - 8, 4)
  written.write('WAVEfmt ', 8)
  written.writeUInt32LE(16, 16)
  written.writeUInt16LE(1, 20)
  written.writeUInt16LE(2, 22)
  written.writeUInt32LE(sampleRate, 24)
  written.writeUInt32LE(sampleRate * frameBytes, 28)
  written.writeUInt16LE(frameBytes, 32)
  written.writeUInt16LE(16, 34)
  written.write('data', 36)
  written.writeUInt32LE(bytes, 40)
  return written
}

/** Returns seconds, bytes and checksum of a complete recording. Reads the whole content once. */
export const summariseWav = async (recording: Readable): Promise<MediaRecording> => {
  const hash = createHash('sha256')
  let bytes = 0
  await pipeline(recording, async (chunks) => {
    for await (const chunk of chunks) {
      bytes += chunk.length
      hash.update(chunk)
    }
  })
  return { seconds: (bytes - headerBytes) / frameBytes / sampleRate, bytes, sha256: hash.digest('hex') }
}

const completeFile = async (file: FileHandle, path: string): Promise<void> => {
  const { size } = await file.stat()
  const start = Buffer.alloc(headerBytes)
  await file.read(start, 0, headerBytes, 0)
  // The header may be truncated or never flushed; the samples after it are valid nevertheless.
  if (size >= headerBytes && start.some((byte) => byte !== 0) && start.toString('latin1', 0, 4) !== 'RIFF')
    throw new Error(`${path} is not a recording`)
  const frames = Math.max(0, Math.floor((size - headerBytes) / frameBytes))
  const whole = wavHeader(frames)
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
  const { size } = await stat(path)
  const frames = Math.floor((size - headerBytes) / frameBytes) - Math.round(seconds * sampleRate)
  await truncate(path, headerBytes + Math.max(0, frames) * frameBytes)
  return repairWav(path)
}
