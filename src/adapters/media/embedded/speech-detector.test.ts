import assert from 'node:assert/strict'
import { test } from 'node:test'
import { encodeSample } from '@trunkline/rtp/g711.ts'
import { SpeechDetector } from './speech-detector.ts'

/** Packets of noise of a seeded generator. @param amplitude of the loudest sample */
const noise = (amplitude: number, packets: number): Buffer[] => {
  let seed = 1
  return Array.from({ length: packets }, () =>
    Buffer.from(
      Array.from({ length: 160 }, () => {
        seed = (seed * 1_103_515_245 + 12_345) % 2 ** 31
        return encodeSample('pcmu', Math.round((seed / 2 ** 30 - 1) * amplitude))
      }),
    ),
  )
}

/** Changes that a detector reports for packets one after the other, each with its milliseconds. */
const changesIn = (packets: readonly Buffer[], silentMs = 0): string[] => {
  const changes: string[] = []
  let at = 0
  const detector = new SpeechDetector({ leastMs: 100, silenceMs: 500 }, (change) => changes.push(`${change} ${at}`))
  for (const payload of packets) {
    at += 20
    detector.detect('pcmu', { payload }, at)
  }
  for (let passed = 0; passed < silentMs; passed += 20) {
    at += 20
    detector.checkEnd(at)
  }
  return changes
}

test('speech begins after its least time, and ends after the silence, but for pauses that are shorter', () => {
  const [loud, quiet] = [noise(4_000, 50), noise(40, 50)]
  const packets = [...quiet, ...loud, ...quiet.slice(0, 20), ...loud, ...quiet]
  assert.deepEqual(changesIn(packets), ['began 1100', 'ended 3900'])
})

test('a click is no speech', () => {
  assert.deepEqual(changesIn([...noise(40, 20), ...noise(8_000, 3), ...noise(40, 50)]), [])
})

test('speech of a peer that suppresses silence ends without packets', () => {
  assert.deepEqual(changesIn(noise(4_000, 50), 600), ['began 100', 'ended 1500'])
})

test('steady noise becomes the background, above which speech begins and ends', () => {
  const background = noise(800, 1_000)
  const changes = changesIn([...background, ...noise(8_000, 50), ...background.slice(0, 50)])
  assert.deepEqual(changes.slice(-2), ['began 20100', 'ended 21500'])
  assert.ok(changes.length <= 4, changes.join(', '))
})

test('loud speech without pauses does not end', () => {
  assert.deepEqual(changesIn(noise(12_000, 3_000)), ['began 100'])
})
