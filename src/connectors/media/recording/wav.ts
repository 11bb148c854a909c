import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'
import type { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { MediaRecording } from '../../port.ts'

/** Samples a second of each channel. */
export const rate = 8_000
/** A frame: one sample of 16 bits for each of two channels. */
export const frameBytes = 4
export const headerBytes = 44

/** The RIFF header of so many frames of stereo PCM. */
export const header = (frames: number): Buffer => {
  const written = Buffer.alloc(headerBytes)
  const bytes = frames * frameBytes
  written.write('RIFF', 0)
  written.writeUInt32LE(bytes + headerBytes - 8, 4)
  written.write('WAVEfmt ', 8)
  written.writeUInt32LE(16, 16)
  written.writeUInt16LE(1, 20)
  written.writeUInt16LE(2, 22)
  written.writeUInt32LE(rate, 24)
  written.writeUInt32LE(rate * frameBytes, 28)
  written.writeUInt16LE(frameBytes, 32)
  written.writeUInt16LE(16, 34)
  written.write('data', 36)
  written.writeUInt32LE(bytes, 40)
  return written
}

/** Reads the whole content once: seconds, bytes and checksum of a recording that is complete. */
export const summarise = async (recording: Readable): Promise<MediaRecording> => {
  const hash = createHash('sha256')
  let bytes = 0
  await pipeline(recording, async (chunks) => {
    for await (const chunk of chunks) {
      bytes += chunk.length
      hash.update(chunk)
    }
  })
  return { seconds: (bytes - headerBytes) / frameBytes / rate, bytes, sha256: hash.digest('hex') }
}

const complete = async (file: FileHandle, path: string): Promise<void> => {
  const { size } = await file.stat()
  const start = Buffer.alloc(headerBytes)
  await file.read(start, 0, headerBytes, 0)
  // A header that is cut off, or that was never written through: what stands after it is sound all the same.
  if (size >= headerBytes && start.some((byte) => byte !== 0) && start.toString('latin1', 0, 4) !== 'RIFF')
    throw new Error(`${path} is no recording`)
  const frames = Math.max(0, Math.floor((size - headerBytes) / frameBytes))
  const whole = header(frames)
  if (size === headerBytes + frames * frameBytes && whole.equals(start)) return
  await file.truncate(headerBytes + frames * frameBytes)
  await file.write(whole, 0, headerBytes, 0)
  await file.datasync()
}

/**
 * Makes a recording whole that was left when its process was killed: its header says 0, and its last frame may be half there. One that is
 * whole stays as it is.
 * @throws Error when there is no such file, or it is no recording
 */
export const repair = async (path: string): Promise<MediaRecording> => {
  const file = await open(path, 'r+')
  try {
    await complete(file, path)
  } finally {
    await file.close()
  }
  return summarise(createReadStream(path))
}
