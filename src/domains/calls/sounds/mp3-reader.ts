import { maxMp3Faults } from '../limits.ts'
import type { SoundPiece } from './sound-format.ts'
import { UnusableSound } from './unusable-sound.ts'
import type { ReadAt } from './wav-reader.ts'

/** Bytes that are decoded at once: about 4 s. */
const pieceBytes = 65_536

/** Samples of a frame, at most. */
const frameSamples = 1_152

/** Yields the sound of an MP3 file. The decoder is loaded on first use: 0.1 MB. @throws UnusableSound */
export async function* readMp3(readAt: ReadAt, size: number): AsyncGenerator<SoundPiece> {
  const { MPEGDecoder } = await import('mpg123-decoder')
  const decoder = new MPEGDecoder()
  await decoder.ready
  try {
    let [frames, faults] = [0, 0]
    for (let position = 0; position < size; position += pieceBytes) {
      const { channelData, samplesDecoded, sampleRate, errors } = decoder.decode(readAt(position, pieceBytes))
      const [left, right] = channelData
      frames += samplesDecoded / frameSamples
      faults += errors.length
      // Tags at the end of a file are a few faults.
      if (faults > frames + maxMp3Faults) throw new UnusableSound('format', 'the MP3 file is damaged')
      if (!left || samplesDecoded === 0) continue
      const samples = new Float32Array(samplesDecoded)
      for (let i = 0; i < samplesDecoded; i++) {
        const one = left[i] ?? 0
        samples[i] = ((one + (right?.[i] ?? one)) / 2) * 32_768
      }
      yield { rate: sampleRate, samples }
    }
    if (frames === 0) throw new UnusableSound('format', 'the MP3 file has no sound')
  } finally {
    decoder.free()
  }
}
