import { type G711, samplesOf } from '@trunkline/rtp/g711.ts'
import { maxWavChunks } from '../limits.ts'
import { UnusableSound } from './unusable-sound.ts'

// WAV files: RIFF with the chunks `fmt ` and `data` (IBM and Microsoft, Multimedia Programming Interface 1.0, part 3).
// Every length of a file may be false.

/** Format tags of the chunk `fmt `. */
const tags = { pcm: 1, alaw: 6, mulaw: 7, extensible: 0xfffe }

const rates = { lowest: 4_000, highest: 192_000 }

/** Reads a file at a position. Returns fewer bytes at its end. */
export type ReadAt = (position: number, length: number) => Buffer

export type WavFormat = {
  readonly rate: number
  readonly channels: 1 | 2
  readonly coding: 'pcm8' | 'pcm16' | 'pcm24' | G711
  /** Position and length of the samples, in bytes. */
  readonly start: number
  readonly length: number
}

const unusable = (reason: string): never => {
  throw new UnusableSound('format', reason)
}

const codingOf = (tag: number, bits: number): WavFormat['coding'] => {
  if (tag === tags.pcm && bits === 8) return 'pcm8'
  if (tag === tags.pcm && bits === 16) return 'pcm16'
  if (tag === tags.pcm && bits === 24) return 'pcm24'
  if (tag === tags.mulaw && bits === 8) return 'pcmu'
  if (tag === tags.alaw && bits === 8) return 'pcma'
  return unusable(`a WAV file of format ${tag} with ${bits} bits: use PCM of 8, 16 or 24 bits, µ-law or A-law`)
}

const bytesOf = { pcm8: 1, pcm16: 2, pcm24: 3, pcmu: 1, pcma: 1 } as const

const formatOf = (chunk: Buffer): Omit<WavFormat, 'start' | 'length'> => {
  if (chunk.length < 16) return unusable('the format of the WAV file is truncated')
  const [tag, channels, rate] = [chunk.readUInt16LE(0), chunk.readUInt16LE(2), chunk.readUInt32LE(4)]
  const isExtensible = tag === tags.extensible && chunk.length >= 26
  const coding = codingOf(isExtensible ? chunk.readUInt16LE(24) : tag, chunk.readUInt16LE(14))
  if (channels !== 1 && channels !== 2) return unusable(`a WAV file of ${channels} channels: use one or two`)
  if (rate < rates.lowest || rate > rates.highest)
    return unusable(`a WAV file of ${rate} Hz: use ${rates.lowest} to ${rates.highest}`)
  if (chunk.readUInt16LE(12) !== channels * bytesOf[coding]) return unusable('the format of the WAV file is false')
  return { rate, channels, coding }
}

/**
 * Reads the header of a WAV file.
 * @param isStreamed the lengths are placeholders, as in the output of a pipe: the samples extend to the end
 * @throws UnusableSound
 */
export const readWavHeader = (readAt: ReadAt, size: number, isStreamed = false): WavFormat => {
  let format: ReturnType<typeof formatOf> | null = null
  for (let [position, chunks] = [12, 0]; position + 8 <= size && chunks < maxWavChunks; chunks++) {
    const header = readAt(position, 8)
    if (header.length < 8) break
    const [name, stated] = [header.toString('latin1', 0, 4), header.readUInt32LE(4)]
    const start = position + 8
    const length = name === 'data' && isStreamed ? size - start : stated
    if (start + length > size) unusable(`the WAV file has ${size} bytes, and should have ${start + length}`)
    if (name === 'fmt ') format ??= formatOf(readAt(start, Math.min(length, 40)))
    if (name === 'data') {
      if (!format) return unusable('the WAV file has samples before their format')
      const frame = format.channels * bytesOf[format.coding]
      if (length < frame) return unusable('the WAV file has no samples')
      return { ...format, start, length: length - (length % frame) }
    }
    // Chunks have even lengths.
    position = start + length + (length % 2)
  }
  return unusable('the WAV file has no samples')
}

/** Returns the duration of a file in seconds. */
export const wavSeconds = ({ rate, channels, coding, length }: WavFormat): number =>
  length / (rate * channels * bytesOf[coding])

const sampleReaders: { readonly [coding in WavFormat['coding']]: (bytes: Buffer, at: number) => number } = {
  pcm8: (bytes, at) => ((bytes[at] ?? 128) - 128) * 256,
  pcm16: (bytes, at) => bytes.readInt16LE(at),
  pcm24: (bytes, at) => bytes.readIntLE(at, 3) / 256,
  pcmu: (bytes, at) => samplesOf.pcmu[bytes[at] ?? 0] ?? 0,
  pcma: (bytes, at) => samplesOf.pcma[bytes[at] ?? 0] ?? 0,
}

/** Bytes that are read at once: a whole number of frames of every coding. */
const pieceBytes = 98_304

/** Yields the samples of a file, mixed to one channel, in the range of 16 bits. */
export function* readWavSamples(readAt: ReadAt, { channels, coding, start, length }: WavFormat) {
  const [read, bytes] = [sampleReaders[coding], bytesOf[coding]]
  const frame = bytes * channels
  for (let position = 0; position < length; ) {
    const piece = readAt(start + position, Math.min(pieceBytes, length - position))
    const samples = new Float32Array(Math.floor(piece.length / frame))
    if (samples.length === 0) return
    for (let i = 0; i < samples.length; i++) {
      const left = read(piece, i * frame)
      samples[i] = channels === 1 ? left : (left + read(piece, i * frame + bytes)) / 2
    }
    yield samples
    position += samples.length * frame
  }
}
