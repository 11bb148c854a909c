import assert from 'node:assert/strict'
import { test } from 'node:test'
import { samplesOf } from '@trunkline/rtp/g711.ts'
import { energyShare, toneFrames } from '../tone-testing.ts'
import { makeDownsampler, makeUpsampler, type RateConverter } from './sample-rate.ts'
import { encodingOf, makeAudioDecoder, makeAudioEncoder } from './stream-audio.ts'

const rateOf = (factor: number): number => 8_000 * factor

const tone = (hertz: number, rate: number, count: number): Int16Array =>
  Int16Array.from({ length: count }, (_, i) => Math.round(12_000 * Math.sin((2 * Math.PI * hertz * i) / rate)))

/** The amplitude of a tone, by its energy after the filter has begun. */
const levelOf = (samples: Int16Array): number => {
  const settled = samples.subarray(100)
  return Math.sqrt((2 * settled.reduce((sum, one) => sum + one * one, 0)) / settled.length)
}

/** Converts in chunks of 1, 2, 3 samples and so on. */
const inChunks = (convert: RateConverter, samples: Int16Array): number[] => {
  const converted: number[] = []
  for (let from = 0, length = 1; from < samples.length; from += length++)
    converted.push(...convert(samples.subarray(from, from + length)))
  return converted
}

for (const factor of [1, 2, 3]) {
  const rate = rateOf(factor)

  test(`a tone keeps its frequency and level at ${rate} samples per second, up and down`, () => {
    for (const hertz of [300, 1_000, 3_000]) {
      const up = makeUpsampler(factor)(tone(hertz, 8_000, 4_000))
      assert.equal(up.length, 4_000 * factor)
      const down = makeDownsampler(factor)(up)
      assert.ok(Math.abs(levelOf(up) - 12_000) < 400, `${hertz} Hz: ${levelOf(up)}`)
      assert.ok(Math.abs(levelOf(down) - 12_000) < 600, `${hertz} Hz: ${levelOf(down)}`)
      assert.ok(energyShare(down.subarray(100), hertz) > 0.99)
    }
  })

  test(`chunks of any length at ${rate} samples per second join without a gap or a click`, () => {
    const long = tone(700, 8_000, 3_000)
    assert.deepEqual(inChunks(makeUpsampler(factor), long), [...makeUpsampler(factor)(long)])
    const fine = tone(700, rate, 3_000 * factor)
    assert.deepEqual(inChunks(makeDownsampler(factor), fine), [...makeDownsampler(factor)(fine)])
  })
}

test('tones above the telephone band are not mirrored into it', () => {
  for (const factor of [2, 3])
    for (const hertz of [5_000, 6_500, 7_500]) {
      const level = levelOf(makeDownsampler(factor)(tone(hertz, rateOf(factor), 4_000 * factor)))
      assert.ok(level < 150, `${hertz} Hz of ${rateOf(factor)}: ${level}`)
    }
})

test('audio of every format is that of the telephone again after a way to a server and back', () => {
  const octets = Buffer.concat(toneFrames(1_000, 20))
  for (const format of [
    'audio/x-mulaw;rate=8000',
    'audio/l16;rate=8000',
    'audio/l16;rate=16000',
    'audio/l16;rate=24000',
  ] as const) {
    const { encoding, sampleRate } = encodingOf(format)
    const encoded = makeAudioEncoder(format)(octets)
    const octetsPerSample = encoding === 'audio/l16' ? 2 : 1
    assert.equal(encoded.length, (octets.length / 8_000) * sampleRate * octetsPerSample)
    const decode = makeAudioDecoder(format)
    const parts = []
    // Odd lengths split samples.
    for (let from = 0; from < encoded.length; from += 333) parts.push(decode(encoded.subarray(from, from + 333)))
    const back = Array.from(Buffer.concat(parts), (octet) => samplesOf.pcmu[octet] ?? 0)
    assert.ok(back.length >= octets.length - 24, `${format}: ${back.length}`)
    assert.ok(energyShare(back.slice(100), 1_000) > 0.99, format)
  }
})
