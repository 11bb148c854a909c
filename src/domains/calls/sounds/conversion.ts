import { createHash } from 'node:crypto'
import { closeSync, fstatSync, openSync, readSync, writeSync } from 'node:fs'
import { encodeSample, silence } from '@trunkline/rtp/g711.ts'
import { maxConvertedBytes } from '../limits.ts'
import { readMp3 } from './mp3-reader.ts'
import { Resampler } from './resampler.ts'
import { isMp3, isWav, neither, type SoundPiece } from './sound-format.ts'
import { UnusableSound } from './unusable-sound.ts'
import { type ReadAt, readWavHeader, readWavSamples, wavSeconds } from './wav-reader.ts'

/** A conversion of a file to µ-law, 8 kHz, without a header. */
export type ConversionRequest = {
  readonly input: string
  readonly output: string
  /** The lengths of a WAV header are placeholders, as in the output of a program. */
  readonly isStreamed: boolean
}

/** `octets`: 8,000 for each second. `isSilent`: no octet differs from silence. `sha256`: of the output, hexadecimal. */
export type Conversion = { readonly octets: number; readonly sha256: string; readonly isSilent: boolean }

const tooLong = () =>
  new UnusableSound('too_large', `the sound is longer than ${Math.floor(maxConvertedBytes / 480_000)} minutes`)

/** Writes sound to a file as µ-law, 8 kHz. */
class UlawWriter {
  readonly #file: number
  #resampler: Resampler | null = null
  #rate = 0
  readonly #hash = createHash('sha256')
  #octets = 0
  #isSilent = true

  constructor(file: number) {
    this.#file = file
  }

  /** @throws UnusableSound if the output is too long */
  write({ rate, samples }: SoundPiece): void {
    if (!this.#resampler || this.#rate !== rate) {
      if (this.#resampler) this.#append(this.#resampler.end())
      this.#resampler = new Resampler(rate)
      this.#rate = rate
    }
    this.#append(this.#resampler.push(samples))
  }

  /** Writes the rest. @throws UnusableSound if nothing was written */
  end(): Conversion {
    if (!this.#resampler) throw new UnusableSound('format', 'the file has no sound')
    this.#append(this.#resampler.end())
    return { octets: this.#octets, sha256: this.#hash.digest('hex'), isSilent: this.#isSilent }
  }

  #append(samples: Float32Array): void {
    this.#octets += samples.length
    if (this.#octets > maxConvertedBytes) throw tooLong()
    const piece = Buffer.allocUnsafe(samples.length)
    for (let i = 0; i < piece.length; i++) {
      const octet = encodeSample('pcmu', Math.max(-32_768, Math.min(32_767, Math.round(samples[i] ?? 0))))
      piece[i] = octet
      this.#isSilent &&= octet === silence.pcmu
    }
    this.#hash.update(piece)
    for (let at = 0; at < piece.length; ) at += writeSync(this.#file, piece, at)
  }
}

function* wavPieces(readAt: ReadAt, size: number, isStreamed: boolean): Generator<SoundPiece> {
  const format = readWavHeader(readAt, size, isStreamed)
  if (wavSeconds(format) * 8_000 > maxConvertedBytes) throw tooLong()
  for (const samples of readWavSamples(readAt, format)) yield { rate: format.rate, samples }
}

const piecesOf = (readAt: ReadAt, size: number, isStreamed: boolean) => {
  const head = readAt(0, 12)
  if (isWav(head)) return wavPieces(readAt, size, isStreamed)
  if (isMp3(head)) return readMp3(readAt, size)
  throw neither()
}

const convertOpen = async (input: number, output: number, isStreamed: boolean): Promise<Conversion> => {
  const { size } = fstatSync(input)
  const readAt: ReadAt = (position, length) => {
    const bytes = Buffer.alloc(length)
    return bytes.subarray(0, readSync(input, bytes, 0, length, position))
  }
  const writer = new UlawWriter(output)
  for await (const piece of piecesOf(readAt, size, isStreamed)) writer.write(piece)
  return writer.end()
}

/**
 * Converts a WAV or MP3 file. Blocks its thread: conversion-worker.ts has one for it.
 * @throws UnusableSound for a file that is no such sound, and errors of the file system
 */
export const convert = async ({ input, output, isStreamed }: ConversionRequest): Promise<Conversion> => {
  const from = openSync(input, 'r')
  try {
    const to = openSync(output, 'wx', 0o600)
    try {
      return await convertOpen(from, to, isStreamed)
    } finally {
      closeSync(to)
    }
  } finally {
    closeSync(from)
  }
}
