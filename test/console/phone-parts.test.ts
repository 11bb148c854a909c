import assert from 'node:assert/strict'
import { test } from 'node:test'
import { peaksOf } from '../../console/calls/wav.ts'
import { qualityOf } from '../../console/phone/call-quality.ts'
import { outcomeOf } from '../../console/phone/outcome.ts'

/** A stereo recording of 8,000 samples a second: loud on the left in its first half, on the right in its second. */
const recording = (seconds: number): ArrayBuffer => {
  const frames = 8_000 * seconds
  const file = Buffer.alloc(44 + 4 * frames)
  file.write('RIFF')
  file.write('WAVEfmt ', 8)
  file.writeUInt32LE(16, 16)
  for (const [value, at] of [
    [1, 20],
    [2, 22],
    [4, 32],
    [16, 34],
  ] as const)
    file.writeUInt16LE(value, at)
  file.writeUInt32LE(8_000, 24)
  file.write('data', 36)
  file.writeUInt32LE(4 * frames, 40)
  for (let frame = 0; frame < frames; frame += 1)
    file.writeInt16LE(frame % 2 ? 16_384 : -16_384, 44 + 4 * frame + (frame < frames / 2 ? 0 : 2))
  return file.buffer.slice(file.byteOffset, file.byteOffset + file.byteLength)
}

test('the peaks of a recording show which side is loud, and when', () => {
  const peaks = peaksOf(recording(2), 4)
  assert.equal(peaks?.seconds, 2)
  assert.deepEqual(
    peaks?.channels.map((channel) => [...channel]),
    [
      [0.5, 0.5, 0, 0],
      [0, 0, 0.5, 0.5],
    ],
  )
})

test('a file of another format has no peaks', () => {
  assert.equal(peaksOf(new ArrayBuffer(100), 4), null)
  assert.equal(peaksOf(recording(1).slice(0, 40), 4), null)
})

test('the quality of a call names what is worst', () => {
  const good = {
    mos: 4.3,
    lossPercent: 0,
    jitterMs: 3,
    roundTripMs: 20,
  }
  assert.deepEqual(qualityOf(good), { bars: 4, mos: 4.3, cause: 'none' })
  assert.equal(qualityOf({ ...good, mos: 3.2, lossPercent: 8 }).cause, 'loss')
  assert.equal(qualityOf({ ...good, mos: 2.9, roundTripMs: 900 }).cause, 'delay')
  assert.deepEqual(qualityOf({ ...good, mos: 1, lossPercent: 100 }), { bars: 1, mos: 1, cause: 'silence' })
})

test('a call that the caller gave up is missed, and one that we gave up is canceled', () => {
  assert.equal(outcomeOf({ reason: 'canceled', by: 'remote' }, { direction: 'inbound' }), 'missed')
  assert.equal(outcomeOf({ reason: 'canceled', by: 'local' }, { direction: 'outbound' }), 'canceled')
  assert.equal(outcomeOf({ reason: 'rejected', by: 'local' }, { direction: 'inbound' }), 'declined')
  assert.equal(outcomeOf({ reason: 'rejected', by: 'remote' }, { direction: 'outbound' }), 'rejected')
})
