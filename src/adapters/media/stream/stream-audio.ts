import { encodeSample, samplesOf } from '@trunkline/rtp/g711.ts'
import type { MediaStreamFormat } from '../../../ports/media-stream.ts'
import { makeDownsampler, makeUpsampler } from './sample-rate.ts'

/** A format as the frame `start` states it. */
export type StreamEncoding = { readonly encoding: string; readonly sampleRate: number; readonly channels: 1 }

export const encodingOf = (format: MediaStreamFormat): StreamEncoding => {
  const [encoding = '', rate] = format.split(';rate=')
  return { encoding, sampleRate: Number(rate), channels: 1 }
}

/** Converts the audio of a stream, in chunks of any length. */
export type AudioConverter = (octets: Buffer) => Buffer

/** Returns a converter from µ-law to the octets of a format. */
export const makeAudioEncoder = (format: MediaStreamFormat): AudioConverter => {
  if (format === 'audio/x-mulaw;rate=8000') return (octets) => octets
  const upsample = makeUpsampler(encodingOf(format).sampleRate / 8_000)
  return (octets) => {
    const samples = upsample(Int16Array.from(octets, (octet) => samplesOf.pcmu[octet] ?? 0))
    const encoded = Buffer.allocUnsafe(samples.length * 2)
    for (const [i, sample] of samples.entries()) encoded.writeInt16LE(sample, i * 2)
    return encoded
  }
}

/** Returns a converter from a format to µ-law. Half a sample at the end of a chunk is kept for the next one. */
export const makeAudioDecoder = (format: MediaStreamFormat): AudioConverter => {
  if (format === 'audio/x-mulaw;rate=8000') return (octets) => octets
  const downsample = makeDownsampler(encodingOf(format).sampleRate / 8_000)
  let half: Buffer = Buffer.alloc(0)
  return (chunk) => {
    const octets = half.length === 0 ? chunk : Buffer.concat([half, chunk])
    const count = octets.length >> 1
    const samples = new Int16Array(count)
    for (let i = 0; i < count; i++) samples[i] = octets.readInt16LE(i * 2)
    half = Buffer.from(octets.subarray(count * 2))
    return Buffer.from(Uint8Array.from(downsample(samples), (sample) => encodeSample('pcmu', sample)))
  }
}
