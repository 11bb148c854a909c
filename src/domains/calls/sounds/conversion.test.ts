import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, test } from 'node:test'
import fc from 'fast-check'
import { randomInputs } from '../../../../test/needs.ts'
import { isQuick } from '../../../../test/quick.ts'
import { temporaryFolder } from '../../../../test/servers.ts'
import { maxConvertedBytes } from '../limits.ts'
import { makeSoundConverter } from './sound-converter.ts'
import { describeSound } from './sound-format.ts'
import { amplitudeOf, linear, toneMp3, toneWav } from './sound-testing.ts'
import { UnusableSound } from './unusable-sound.ts'
import { type ReadAt, readWavHeader, readWavSamples } from './wav-reader.ts'

const folder = temporaryFolder()
const converter = makeSoundConverter()
after(() => converter.close())

let files = 0
const convert = async (content: Buffer, isStreamed = false) => {
  const [input, output] = [join(folder, `in-${++files}`), join(folder, `out-${files}`)]
  writeFileSync(input, content)
  const conversion = await converter.convert('account', { input, output, isStreamed })
  return { ...conversion, samples: linear(readFileSync(output)) }
}

const fault = async (content: Buffer): Promise<string> => {
  const error = await convert(content).then(
    () => assert.fail('it was converted'),
    (thrown: unknown) => thrown,
  )
  assert.ok(error instanceof UnusableSound, String(error))
  return `${error.code}: ${error.message}`
}

/** Deviation from a level, in dB. */
const decibels = (amplitude: number, expected = 8_000) => 20 * Math.log10(amplitude / expected)

for (const coding of ['pcm8', 'pcm16', 'pcm24', 'pcmu', 'pcma'] as const)
  for (const channels of [1, 2])
    test(`a WAV file of ${coding} with ${channels} channels keeps its level, pitch and duration`, async () => {
      for (const rate of [4_000, 8_000, 11_025, 44_100, 192_000]) {
        const { samples, octets } = await convert(toneWav({ coding, channels, rate }))
        assert.ok(Math.abs(octets - 4_000) <= 1, `${rate} Hz: ${octets} octets`)
        const deviation = decibels(amplitudeOf(samples, 1_000))
        assert.ok(Math.abs(deviation) < 0.3, `${rate} Hz: ${deviation} dB`)
      }
    })

test('what a telephone carries passes, and what would be heard as another pitch is removed', async () => {
  for (const rate of [16_000, 22_050, 48_000, 96_000]) {
    for (const hertz of [300, 3_300])
      assert.ok(Math.abs(decibels(amplitudeOf((await convert(toneWav({ rate, hertz }))).samples, hertz))) < 1)
    // 5 kHz would be heard as 3 kHz.
    const { samples } = await convert(toneWav({ rate, hertz: 5_000 }))
    assert.ok(decibels(amplitudeOf(samples, 3_000)) < -40)
    assert.ok(samples.subarray(400, -400).every((sample) => Math.abs(sample) < 100))
  }
})

test('a rate without a common divisor with 8 kHz keeps level and duration', async () => {
  const { samples, octets } = await convert(toneWav({ rate: 15_737 }))
  assert.ok(Math.abs(octets - 4_000) <= 1)
  assert.ok(Math.abs(decibels(amplitudeOf(samples, 1_000))) < 0.3)
})

test('an MP3 file is converted, with an ID3 tag too', async () => {
  const tag = Buffer.from('ID3\x03\0\0\0\0\x01\0'.padEnd(10 + 128, '\0'), 'latin1')
  for (const content of [toneMp3, Buffer.concat([tag, toneMp3])]) {
    const { samples, octets } = await convert(content)
    assert.ok(octets > 2_500 && octets < 5_000, `${octets} octets`)
    assert.ok(Math.abs(decibels(amplitudeOf(samples, 1_000), 12_000)) < 1)
  }
})

test('a streamed WAV file has placeholders for lengths, which only our own programs may use', async () => {
  const wav = toneWav()
  wav.writeUInt32LE(0x7ffff000, 40)
  assert.equal((await convert(wav, true)).octets, 4_000)
  assert.match(await fault(wav), /^format: the WAV file has 8044 bytes, and should have/)
})

/** A WAV file with another number at a position of its header. */
const withNumber = (position: number, value: number, bytes: 2 | 4) => {
  const wav = toneWav()
  wav.writeUIntLE(value, position, bytes)
  return wav
}

const bomb = (): Buffer => {
  const header = toneWav({ seconds: 0 }).subarray(0, 36)
  return Buffer.concat([header, Buffer.alloc(20 * 1024 * 1024)])
}

const hostile: { readonly [name: string]: () => Buffer } = {
  'a length of 4 GiB': () => withNumber(40, 0xffffffff, 4),
  'a chunk of 4 GiB before the samples': () => withNumber(16, 0xfffffff0, 4),
  'a rate of 0': () => withNumber(24, 0, 4),
  'a rate of 4 GHz': () => withNumber(24, 0xffffffff, 4),
  'no channels': () => withNumber(22, 0, 2),
  '65,535 channels': () => withNumber(22, 0xffff, 2),
  '0 bits': () => withNumber(34, 0, 2),
  'a frame of 0 bytes': () => withNumber(32, 0, 2),
  'floating point': () => withNumber(20, 3, 2),
  'no samples': () => toneWav({ seconds: 0 }),
  'a truncated file': () => toneWav().subarray(0, 4_000),
  'a truncated header': () => toneWav().subarray(0, 30),
  'an empty file': () => Buffer.alloc(0),
  'ten minutes of random bytes': () => randomBytes(600 * 8_000),
  'random bytes that begin as WAV': () => Buffer.concat([toneWav().subarray(0, 12), randomBytes(1_000_000)]),
  'random bytes that begin as MP3': () => Buffer.concat([toneMp3.subarray(0, 4), Buffer.alloc(1_000_000, 0x55)]),
  'two million empty chunks': bomb,
}

for (const [name, content] of Object.entries(hostile))
  test(`a sound with ${name} is refused within a second, and the next one is converted`, async () => {
    await isQuick(1_000, async () => {
      const began = performance.now()
      assert.match(await fault(content()), /^format: /)
      return performance.now() - began
    })
    assert.equal((await convert(toneWav())).octets, 4_000)
  })

test('a sound that would be longer than its limit is refused', async () => {
  const samples = Buffer.alloc(maxConvertedBytes / 2 + 1)
  const content = Buffer.concat([toneWav({ rate: 4_000, coding: 'pcm8', seconds: 0 }), samples])
  content.writeUInt32LE(samples.length, 40)
  assert.match(await fault(content), /^too_large: the sound is longer than 43 minutes/)
})

test('a mutated file is converted or refused as unusable, without another error', () => {
  const original = toneWav({ channels: 2, seconds: 0.02 })
  const mutation = fc.tuple(fc.nat(original.length - 1), fc.nat(255))
  const mutations = fc.tuple(fc.array(mutation, { minLength: 1, maxLength: 8 }), fc.nat(original.length))
  fc.assert(
    fc.property(mutations, ([changes, cut]) => {
      const content = Buffer.from(original)
      // Most faults of a header are in its first bytes.
      for (const [at, value] of changes) content[at % 2 === 0 ? at % 48 : at] = value
      const file = cut % 4 === 0 ? content.subarray(0, cut) : content
      const readAt: ReadAt = (position, length) => file.subarray(position, position + length)
      try {
        describeSound(file, file.length)
        let samples = 0
        for (const piece of readWavSamples(readAt, readWavHeader(readAt, file.length))) samples += piece.length
        assert.ok(samples > 0 && samples <= file.length)
      } catch (error) {
        assert.ok(error instanceof UnusableSound, String(error))
      }
    }),
    { numRuns: randomInputs(10_000), seed: 39 },
  )
})

test('sounds are converted without blocking the main thread for 10 ms', async () => {
  const content = toneWav({ rate: 44_100, channels: 2, seconds: 20 })
  await isQuick(10, async () => {
    const input = join(folder, `long-${++files}`)
    writeFileSync(input, content)
    // Processor time: other programs may hold up the thread, and the conversion takes far more wherever it runs.
    const before = process.threadCpuUsage()
    const { octets } = await converter.convert('account', { input, output: `${input}.ulaw`, isStreamed: false })
    const { user, system } = process.threadCpuUsage(before)
    assert.equal(octets, 160_000)
    return (user + system) / 1e3
  })
})
