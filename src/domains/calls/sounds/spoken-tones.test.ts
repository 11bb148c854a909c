import assert from 'node:assert/strict'
import { test } from 'node:test'
import { encodeSample } from '@trunkline/rtp/g711.ts'
import { maxToneBytes } from '../limits.ts'
import { linear } from './sound-testing.ts'
import { readSpokenTones, speakTones } from './spoken-tones.ts'

/** A generator of numbers from 0 to 1 (mulberry32). */
const makeRandom = (seed: number) => () => {
  seed = (seed + 0x6d2b79f5) | 0
  let t = Math.imul(seed ^ (seed >>> 15), 1 | seed)
  t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
  return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296
}

const sentences = [
  'For sales press 1.',
  'Für den Verkauf drücken Sie die Eins.',
  'Pour les ventes, tapez 1 ; sinon, restez en ligne.',
  'Para ventas, pulse 1. ¿Desea continuar?',
  'Чтобы поговорить с отделом продаж, нажмите 1.',
  'Για πωλήσεις πατήστε το 1.',
  '销售请按1。',
  '営業は1を押してください。',
  '영업은 1번을 누르세요.',
  'للمبيعات اضغط ١',
  'למכירות הקש 1',
  'बिक्री के लिए 1 दबाएँ। 👍',
]

test('200 texts in 12 languages are read back after G.711, at half level, with noise, from any sample on', () => {
  const random = makeRandom(39)
  for (let n = 0; n < 200; n++) {
    const text = `${sentences[n % sentences.length]} ${n}`
    const shift = Math.floor(random() * 400)
    const said = linear(speakTones(text))
    const heard = new Int16Array(shift + said.length)
    for (let i = 0; i < said.length; i++) heard[shift + i] = Math.round((said[i] ?? 0) / 2 + (random() - 0.5) * 1_000)
    const coded = linear(Uint8Array.from(heard, (sample) => encodeSample('pcmu', sample)))
    assert.deepEqual(readSpokenTones(coded), [text])
  }
})

test('several texts in one recording are read apart, with silence and speech between them', () => {
  const random = makeRandom(1)
  const noise = Int16Array.from({ length: 8_000 }, (_, i) => Math.sin(i / 9) * 4_000 * random())
  const [first, second] = ['Please hold. '.repeat(12), 'Goodbye.']
  const pieces = [noise, linear(speakTones(first)), new Int16Array(3_333), noise, linear(speakTones(second))]
  const all = new Int16Array(pieces.reduce((sum, { length }) => sum + length, 0))
  let at = 0
  for (const piece of pieces) {
    all.set(piece, at)
    at += piece.length
  }
  assert.deepEqual(readSpokenTones(all), [first, second])
  assert.deepEqual(readSpokenTones(noise), [])
  assert.deepEqual(readSpokenTones(new Int16Array()), [])
})

test('a damaged part of a text is marked, and the rest is read', () => {
  const text = 'a'.repeat(64) + 'b'.repeat(64) + 'c'.repeat(10)
  const samples = linear(speakTones(text))
  // 100 ms are lost within the second chunk.
  const lost = Math.floor(samples.length * 0.6)
  samples.fill(0, lost, lost + 800)
  const marked = [`${'a'.repeat(64)}\ufffd${'c'.repeat(10)}`]
  assert.deepEqual(readSpokenTones(samples), marked)
  // The checksum finds a symbol that another one has replaced.
  const replaced = linear(speakTones(text))
  const symbol = 160 * Math.floor(lost / 160)
  replaced.copyWithin(symbol, symbol + 160, symbol + 320)
  assert.deepEqual(readSpokenTones(replaced), marked)
})

test('a text of 64 characters takes three seconds, and a long one is cut at a whole character', () => {
  const { length } = speakTones('x'.repeat(64))
  assert.ok(length >= 2.5 * 8_000 && length <= 3.1 * 8_000, `${length / 8_000} s`)
  const [heard = ''] = readSpokenTones(linear(speakTones('é'.repeat(maxToneBytes))))
  assert.equal(heard, 'é'.repeat(maxToneBytes / 2))
  assert.equal(speakTones('').length, 0)
})
