import { encodeSample, samplesOf } from '@trunkline/rtp/g711.ts'
import type { WavFormat } from './wav-reader.ts'

// Sounds for tests.

type Coding = WavFormat['coding']

const tags: { readonly [coding in Coding]: readonly [tag: number, bits: number] } = {
  pcm8: [1, 8],
  pcm16: [1, 16],
  pcm24: [1, 24],
  pcmu: [7, 8],
  pcma: [6, 8],
}

const write: { readonly [coding in Coding]: (bytes: Buffer, sample: number, at: number) => void } = {
  pcm8: (bytes, sample, at) => void bytes.writeUInt8(Math.round(sample / 256) + 128, at),
  pcm16: (bytes, sample, at) => void bytes.writeInt16LE(sample, at),
  pcm24: (bytes, sample, at) => void bytes.writeIntLE(sample * 256, at, 3),
  pcmu: (bytes, sample, at) => void bytes.writeUInt8(encodeSample('pcmu', sample), at),
  pcma: (bytes, sample, at) => void bytes.writeUInt8(encodeSample('pcma', sample), at),
}

/** Returns a WAV file with a tone in each channel. */
export const toneWav = ({
  coding = 'pcm16' as Coding,
  rate = 8_000,
  channels = 1,
  hertz = 1_000,
  amplitude = 8_000,
  seconds = 0.5,
} = {}): Buffer => {
  const [tag, bits] = tags[coding]
  const frames = Math.round(rate * seconds)
  const bytes = bits / 8
  const data = Buffer.alloc(frames * channels * bytes)
  for (let i = 0; i < frames * channels; i++) {
    const sample = Math.round(amplitude * Math.sin((2 * Math.PI * hertz * Math.floor(i / channels)) / rate))
    write[coding](data, sample, i * bytes)
  }
  const header = Buffer.alloc(44)
  header.write('RIFF', 0)
  header.writeUInt32LE(36 + data.length, 4)
  header.write('WAVEfmt ', 8)
  header.writeUInt32LE(16, 16)
  header.writeUInt16LE(tag, 20)
  header.writeUInt16LE(channels, 22)
  header.writeUInt32LE(rate, 24)
  header.writeUInt32LE(rate * channels * bytes, 28)
  header.writeUInt16LE(channels * bytes, 32)
  header.writeUInt16LE(bits, 34)
  header.write('data', 36)
  header.writeUInt32LE(data.length, 40)
  return Buffer.concat([header, data])
}

/** A tone of 1 kHz for 0.38 s, at half of full scale: 16 kHz, 8 kbit/s. */
export const toneMp3 = Buffer.from(
  '//MYxAAEcAMCWUEQApAIIABQAAfB8P8EHYn/gg7wfYvEfhD6//MYxAUF2KrcAYGAAZIy/RLooUFnF2F5YuwvInTFQUr/yrZx//MYxAQFuLKQAcDgAJXiYABpgyIm7BuYyC6kaRyrW7PL//4R//MYxAQDiJoYAABugOmcGXT3+r////Wqy//+EemcGXT3+r////MYxAwDiJoYAABugP/11cv//hHpnBl09/q////1qsv//hHp//MYxBQDiJoYAABugJwZdPf6v///9dXL//4R6ZwZdPf6v/////MYxBwDiJoYAABugPWqy//+EemcGXT3+r////XVy//+Eemc//MYxCQDiJoYAABugBl09/q////1qv3+qTF4wKDgnHOEB0OC//MYxCwDiJoYAABugEg/lWXlqpyk5zJ2MD1ITJZd5oUwx8Hi//MYxDQDiJoYAABugGI5paMvLjIXOlUxNWfCQ4fVTEFNRTMu//MYxDwE0KqYAUDYATEwMFVVVVVVVVVVVVVVVVVVVVVVVVVV//MYxD8ISMLQAYKQAFVVVVVVVVVVVVVVVVVVVVVVVVVVVVVV//MYxDQAAANIAcAAAFVVVVVVVVVVVVVVVVVVVVVVVVVVVVVV',
  'base64',
)

export const linear = (octets: Uint8Array): Int16Array => Int16Array.from(octets, (octet) => samplesOf.pcmu[octet] ?? 0)

/** Returns the amplitude of a frequency in the middle half of a sound of 8 kHz. */
export const amplitudeOf = (samples: Int16Array, hertz: number): number => {
  const [from, to] = [Math.floor(samples.length / 4), Math.floor((samples.length * 3) / 4)]
  let [cosine, sine] = [0, 0]
  for (let i = from; i < to; i++) {
    cosine += (samples[i] ?? 0) * Math.cos((2 * Math.PI * hertz * i) / 8_000)
    sine += (samples[i] ?? 0) * Math.sin((2 * Math.PI * hertz * i) / 8_000)
  }
  return (2 * Math.hypot(cosine, sine)) / (to - from)
}
