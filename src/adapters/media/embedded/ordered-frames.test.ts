import assert from 'node:assert/strict'
import { test } from 'node:test'
import { otherLaw, silence } from '@trunkline/rtp/g711.ts'
import { OrderedFrames } from './ordered-frames.ts'

/** A packet whose octets are its number. */
const packet = (number: number, { timestamp = number * 160, length = 160, ssrc = 1, sequence = number } = {}) => ({
  ...{ payloadType: 0, marker: false, ssrc, sequence: sequence & 0xffff, timestamp: timestamp >>> 0 },
  payload: Buffer.alloc(length, number),
})

/** Frames by the number of their octets; a dot for silence, and x for a mix. */
const collect = () => {
  const given: string[] = []
  const frames = new OrderedFrames((frame) => {
    assert.equal(frame.length, 160)
    const [first] = frame
    if (!frame.every((octet) => octet === first)) given.push('x')
    else given.push(first === silence.pcmu ? '.' : String(first))
  }, 0)
  const take = (at: number, ...packets: ReturnType<typeof packet>[]) => {
    for (const one of packets) frames.take('pcmu', one, at)
  }
  return { take, tick: (at: number) => frames.tick(at), text: () => given.join(' ') }
}

test('packets in order wait for nothing, and late ones come in their place', () => {
  const { take, text } = collect()
  take(0, packet(1), packet(2))
  assert.equal(text(), '1 2')
  take(40, packet(5), packet(4))
  assert.equal(text(), '1 2')
  take(60, packet(3))
  assert.equal(text(), '1 2 3 4 5')
  take(80, packet(4), packet(6))
  assert.equal(text(), '1 2 3 4 5 6')
})

test('a lost packet becomes silence after 40 ms, and is dropped when it comes later', () => {
  const { take, tick, text } = collect()
  take(0, packet(1))
  take(40, packet(3))
  tick(60)
  assert.equal(text(), '1')
  take(60, packet(4))
  tick(80)
  assert.equal(text(), '1 . 3 4')
  take(85, packet(2), packet(5))
  assert.equal(text(), '1 . 3 4 5')
})

test('suppressed silence is given in time, and speech after it at once', () => {
  const { take, tick, text } = collect()
  take(0, packet(1))
  for (let at = 20; at <= 200; at += 20) tick(at)
  assert.equal(text(), '1 . . . . . . . .')
  take(210, packet(2, { timestamp: 160 + 160 * 10 }), packet(3, { timestamp: 160 + 160 * 11 }))
  assert.equal(text(), '1 . . . . . . . . . 2 3')
})

test('before the first packet there is silence, and another stream or a clock that stands still is heard at once', () => {
  const { take, tick, text } = collect()
  tick(80)
  take(100, packet(1), packet(7, { ssrc: 2, timestamp: 2 ** 32 - 160 }), packet(8, { ssrc: 2, timestamp: 0 }))
  assert.equal(text(), '. . 1 7 8')
  for (let at = 120; at <= 180; at += 20) tick(at)
  take(190, packet(9, { ssrc: 2, timestamp: 160 }))
  assert.equal(text(), '. . 1 7 8 . . 9')
})

test('packets of other lengths and of A-law become frames of µ-law', () => {
  const { take, text } = collect()
  take(0, packet(1, { timestamp: 0, length: 80 }), packet(2, { timestamp: 80, length: 240 }))
  assert.equal(text(), 'x 2')
  const given: Buffer[] = []
  const payload = Buffer.alloc(160, 0x55)
  new OrderedFrames((frame) => given.push(frame), 0).take('pcma', { ...packet(1), payload }, 0)
  assert.deepEqual(given, [otherLaw('pcma', payload)])
})
