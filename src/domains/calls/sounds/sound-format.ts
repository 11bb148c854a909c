import { UnusableSound } from './unusable-sound.ts'
import { type ReadAt, readWavHeader, wavSeconds } from './wav-reader.ts'

/** Sound as a reader yields it: samples of one channel, in the range of 16 bits. MP3 files may change their rate. */
export type SoundPiece = { readonly rate: number; readonly samples: Float32Array }

/** Whether a file begins as RIFF with sound. */
export const isWav = (head: Buffer): boolean =>
  head.toString('latin1', 0, 4) === 'RIFF' && head.toString('latin1', 8, 12) === 'WAVE'

/** Whether a file begins with an ID3 tag, or with a frame of MPEG audio, layer III (ISO/IEC 11172-3, 2.4.1.3). */
export const isMp3 = (head: Buffer): boolean => {
  const [first = 0, second = 0] = head
  const isFrame = first === 0xff && (second & 0xe0) === 0xe0 && (second & 0x18) !== 0x08 && (second & 0x06) === 0x02
  return head.toString('latin1', 0, 3) === 'ID3' || isFrame
}

export const neither = () => new UnusableSound('format', 'the file is neither WAV nor MP3')

/**
 * Describes a sound by its beginning. The frames of an MP3 file are not read, so its duration is null.
 * @param size bytes of the file @throws UnusableSound
 */
export const describeSound = (
  head: Buffer,
  size: number,
): { readonly mediaType: 'audio/wav' | 'audio/mpeg'; readonly seconds: number | null } => {
  const readAt: ReadAt = (position, length) => head.subarray(position, position + length)
  if (isWav(head)) return { mediaType: 'audio/wav', seconds: wavSeconds(readWavHeader(readAt, size)) }
  if (isMp3(head)) return { mediaType: 'audio/mpeg', seconds: null }
  throw neither()
}
