import { encodeSample, silence } from '@trunkline/rtp/g711.ts'
import type { MediaSound } from '../../../ports/media.ts'
import type { AudioFeed } from './audio-feed.ts'
import { frameBytes, octetsPerMs } from './g711-frame.ts'
import type { SoundFiles } from './sound-files.ts'
import type { SoundReader } from './sound-reader.ts'

/** About -10 dBm0: as loud as speech. */
const amplitude = 9_000

type Tones = Extract<MediaSound, { readonly tones: unknown }>

const readTones = ({ tones, onMs, offMs, loop }: Tones): SoundReader => {
  const period = (onMs + offMs) * octetsPerMs
  const end = loop === 0 ? Number.POSITIVE_INFINITY : loop * period
  const steps = tones.map((hertz) => (2 * Math.PI * hertz) / 8_000)
  let position = 0
  return () => {
    if (position >= end) return null
    const frame = Buffer.alloc(frameBytes, silence.pcmu)
    for (let i = 0; i < frameBytes && position < end; i++, position++) {
      if (position % period >= onMs * octetsPerMs) continue
      let sum = 0
      for (const step of steps) sum += Math.sin(position * step)
      frame[i] = encodeSample('pcmu', Math.round((amplitude * sum) / steps.length))
    }
    return frame
  }
}

const readSilence = (milliseconds: number): SoundReader => {
  let frames = Math.ceil((milliseconds * octetsPerMs) / frameBytes)
  return () => (frames-- > 0 ? Buffer.alloc(frameBytes, silence.pcmu) : null)
}

const isCount = (...numbers: readonly number[]): boolean => numbers.every((one) => Number.isInteger(one) && one >= 0)

/** @returns the reader, or the reason why the sound cannot be played @throws Error for a file that cannot be read */
export const openSound = async (
  sound: MediaSound,
  feeds: Map<string, AudioFeed>,
  files: SoundFiles,
): Promise<SoundReader | string> => {
  if ('silenceMs' in sound)
    return isCount(sound.silenceMs) ? readSilence(sound.silenceMs) : 'silence has a whole number of milliseconds'
  if ('feed' in sound) {
    const feed = feeds.get(sound.feed)
    if (!feed) return `there is no feed ${sound.feed}`
    return () => {
      const frame = feed.read()
      if (!frame) feeds.delete(sound.feed)
      return frame
    }
  }
  if ('tones' in sound) {
    const { tones, onMs, offMs, loop } = sound
    const isValid = isCount(onMs, offMs, loop) && onMs > 0 && tones.length > 0
    return isValid && tones.every((hertz) => hertz > 0 && hertz < 4_000)
      ? readTones(sound)
      : 'tones have frequencies below 4,000 Hz and a duration'
  }
  const { file, fromMs, loop } = sound
  if (!isCount(fromMs, loop)) return 'a file has a start and a number of repetitions'
  return files.open(file, fromMs * octetsPerMs, loop)
}
