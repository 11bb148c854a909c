import assert from 'node:assert/strict'
import { test } from 'node:test'
import { encodeSample, type G711 } from '@trunkline/rtp/g711.ts'
import { dtmfTonePackets } from './dtmf-tones.ts'
import { ToneKeyDetector } from './tone-key-detector.ts'

// ITU-T Q.24, with the limits of its annex: 40 ms of tone and of pause, 1.5 % and 2 Hz, -8 to +4 dB of twist.

// Q.23, with a table of its own.
const [lowTones, highTones] = [
  [697, 770, 852, 941],
  [1_209, 1_336, 1_477, 1_633],
]
const allKeys = '123A456B789C*0#D'

type Tone = {
  readonly key: string
  readonly ms?: number
  /** Decibels by which the high tone exceeds the low one. */
  readonly twist?: number
  /** Factor of both frequencies, and hertz added. */
  readonly factor?: number
  readonly offset?: number
  /** Level of the low tone, dBm0. */
  readonly level?: number
}

/** A generator of pseudo-random numbers from 0 to 1, the same in each run. */
const randomFrom = (seed: number) => {
  let state = seed
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state / 2 ** 32
  }
}

const amplitudeAt = (level: number) => 32_124 * 10 ** ((level - 3.17) / 20)

const tone = ({ key, ms = 40, twist = 0, factor = 1, offset = 0, level = -12 }: Tone): number[] => {
  const index = allKeys.indexOf(key)
  const step = (hertz = 0) => (2 * Math.PI * (hertz * factor + offset)) / 8_000
  const [low, high] = [step(lowTones[index >> 2]), step(highTones[index & 3])]
  const [a, b] = [amplitudeAt(level), amplitudeAt(level + twist)]
  return Array.from({ length: Math.round(ms * 8) }, (_, i) => a * Math.sin(low * i) + b * Math.sin(high * i + 1))
}

const quiet = (ms: number): number[] => Array.from({ length: Math.round(ms * 8) }, () => 0)

/** Keys that a detector hears in samples, sent in packets of 20 ms. `change` may drop or renumber packets. */
const heardIn = (
  samples: readonly number[],
  {
    codec = 'pcmu',
    keep = () => true,
  }: { readonly codec?: G711; readonly keep?: (index: number, payload: Buffer) => boolean } = {},
): string => {
  const detector = new ToneKeyDetector()
  let keys = ''
  for (let i = 0; i * 160 < samples.length; i++) {
    const payload = Buffer.from(
      samples.slice(i * 160, i * 160 + 160).map((sample) => encodeSample(codec, Math.round(sample))),
    )
    const packet = {
      payloadType: 0,
      marker: false,
      sequence: (65_530 + i) & 0xffff,
      timestamp: i * 160,
      ssrc: 1,
      payload,
    }
    if (keep(i, payload)) keys += detector.detect(codec, packet)
  }
  return keys
}

/** Places a signal at each of 17 offsets to the windows of the detector. */
const everyPlace = (signal: readonly number[]): string[] =>
  Array.from({ length: 17 }, (_, i) => heardIn([...quiet(50 + (i * 3) / 8), ...signal, ...quiet(60)]))

const only = (found: readonly string[]) => [...new Set(found)]

test('each of the 16 keys is detected once, in either law, from 40 ms of its tones and as long as it is held', () => {
  for (const codec of ['pcmu', 'pcma'] as const)
    for (const ms of [40, 100, 3_000]) {
      const signal = [...allKeys].flatMap((key) => [...tone({ key, ms }), ...quiet(40)])
      assert.equal(heardIn(signal, { codec }), allKeys, `${codec} ${ms} ms`)
    }
})

test('a key is detected within the limits of frequency, twist and level, wherever it begins', () => {
  for (const key of allKeys)
    for (const [factor, offset] of [
      [1.015, 2],
      [0.985, -2],
    ] as const)
      for (const [twist, level] of [
        [0, -10],
        [4, -12],
        [-8, -6],
        [4, -28],
        [-8, -24],
      ] as const)
        assert.deepEqual(
          only(everyPlace(tone({ key, factor, offset, twist, level }))),
          [key],
          `${key} ${factor} ${twist}`,
        )
})

test('a key is detected with noise 15 dB below its tones', () => {
  const random = randomFrom(7)
  const noise = amplitudeAt(-12) * 10 ** (-15 / 20) * Math.sqrt(3)
  const signal = Array.from({ length: 20 }, () =>
    [...allKeys].flatMap((key) => [...tone({ key, ms: 50 }), ...quiet(50)]),
  ).flat()
  assert.equal(heardIn(signal.map((sample) => sample + noise * (2 * random() - 1))), allKeys.repeat(20))
})

test('tones of less than 20 ms, single tones, and tones outside the limits are no key', () => {
  for (const key of allKeys) {
    for (const ms of [5, 10, 15, 20]) assert.deepEqual(only(everyPlace(tone({ key, ms }))), [''], `${key} ${ms} ms`)
    for (const change of [{ twist: 9 }, { twist: -13 }, { factor: 1.035 }, { factor: 0.965 }, { level: -50 }])
      assert.deepEqual(only(everyPlace(tone({ key, ms: 200, ...change }))), [''], `${key} ${JSON.stringify(change)}`)
    assert.deepEqual(only(everyPlace(tone({ key, ms: 200, twist: -60 }))), [''], 'the low tone alone')
  }
})

test('an interruption of 10 ms does not repeat a key, and a pause of 40 ms makes it another one', () => {
  const [first, second] = [tone({ key: '5', ms: 45 }), tone({ key: '5', ms: 45 })]
  assert.deepEqual(only(everyPlace([...first, ...quiet(10), ...second])), ['5'])
  assert.deepEqual(only(everyPlace([...first, ...quiet(40), ...second])), ['55'])
})

test('lost packets within a key do not repeat it, and a pause that is not sent ends it', () => {
  const signal = [...quiet(100), ...tone({ key: '7', ms: 200 }), ...quiet(100), ...tone({ key: '7', ms: 200 })]
  for (let lost = 0; lost < 30; lost++)
    assert.equal(heardIn(signal, { keep: (i) => i !== lost && i !== lost + 1 }), '77')
  // Silence suppression: packets are missing, but their sequence numbers continue.
  const detector = new ToneKeyDetector()
  const payloads = [...dtmfTonePackets('777', 'pcmu')].filter((_, i) => i % 8 < 5)
  const keys = payloads.map(({ timestamp, payload }, sequence) =>
    detector.detect('pcmu', { payloadType: 0, marker: false, sequence, timestamp, ssrc: 1, payload }),
  )
  assert.equal(keys.join(''), '777')
})

test('a stream that restarts, and late packets, cause no key and lose none', () => {
  const packets = [...dtmfTonePackets('12', 'pcma')].map(({ timestamp, payload }, sequence) => ({
    ...{ payloadType: 8, marker: false, sequence, timestamp, ssrc: 1, payload },
  }))
  const detector = new ToneKeyDetector()
  const late = packets.flatMap((packet, i) => [packet, ...packets.slice(Math.max(0, i - 2), i)])
  assert.equal(late.map((packet) => detector.detect('pcma', packet)).join(''), '12')
  assert.equal(packets.map((packet) => detector.detect('pcma', { ...packet, ssrc: 2 })).join(''), '12')
})

/** Speech by the source-filter model: pulses of a glottis at a moving pitch through three moving formants, and breath. */
const speech = (seconds: number, seed: number): number[] => {
  const random = randomFrom(seed)
  const samples: number[] = []
  const memory = [0, 0, 0].map(() => ({ one: 0, two: 0 }))
  let phase = 0
  while (samples.length < seconds * 8_000) {
    const length = Math.round((0.06 + 0.2 * random()) * 8_000)
    const kind = random()
    const pitch = 80 + 220 * random()
    const glide = 0.8 + 0.4 * random()
    const formants = [250 + 700 * random(), 900 + 1_500 * random(), 2_200 + 1_200 * random()]
    const gain = 1_000 + 5_000 * random()
    for (let i = 0; i < length; i++) {
      phase += (pitch * glide ** (i / length)) / 8_000
      const isPulse = phase >= 1
      if (isPulse) phase -= 1
      const breath = random() - 0.5
      const source = kind < 0.15 ? 0 : kind < 0.3 ? breath * 0.5 : (isPulse ? 3 : -0.02) + 0.05 * breath
      let sound = 0
      for (const [f, state] of memory.entries()) {
        const radius = Math.exp((-Math.PI * (60 + 50 * f)) / 8_000)
        const out =
          source +
          2 * radius * Math.cos((2 * Math.PI * (formants[f] ?? 0)) / 8_000) * state.one -
          radius ** 2 * state.two
        state.two = state.one
        state.one = out
        sound += out / (f + 1)
      }
      samples.push(Math.max(-32_000, Math.min(32_000, sound * gain)))
    }
  }
  return samples
}

/** Music: chords of one to four notes with harmonics, in equal temperament. */
const music = (seconds: number, seed: number): number[] => {
  const random = randomFrom(seed)
  const samples: number[] = []
  while (samples.length < seconds * 8_000) {
    const length = Math.round((0.08 + 0.5 * random()) * 8_000)
    const notes = Array.from(
      { length: 1 + Math.floor(4 * random()) },
      () => 110 * 2 ** (Math.floor(48 * random()) / 12),
    )
    const harmonics = 2 + Math.floor(5 * random())
    for (let i = 0; i < length; i++) {
      let sound = 0
      for (const hertz of notes)
        for (let h = 1; h <= harmonics && h * hertz < 3_600; h++)
          sound += Math.sin((2 * Math.PI * h * hertz * i) / 8_000) / h
      samples.push((4_000 / notes.length) * sound * Math.exp((-2 * i) / length))
    }
  }
  return samples
}

test('two minutes of speech-like sound and two of music cause no key', () => {
  for (const [name, make] of Object.entries({ speech, music }))
    for (const seed of [1, 8]) assert.equal(heardIn(make(60, seed)), '', `${name} ${seed}`)
})
