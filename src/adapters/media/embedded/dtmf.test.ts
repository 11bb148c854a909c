import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readEvent, writeEvent } from '@trunkline/rtp/telephone-event.ts'
import { DtmfDetector } from './dtmf.ts'

type KeyPacket = readonly [
  sequence: number,
  timestamp: number,
  duration: number,
  more?: { end?: boolean; marker?: boolean },
]

const five = 5

/** The keys that a detector hears in packets of the key 5, and the packets that it passes on. */
const detected = (packets: readonly KeyPacket[]) => {
  const detector = new DtmfDetector()
  const passed = packets.map(([sequence, timestamp, duration, { end = false, marker = false } = {}]) => {
    const payload = writeEvent({ event: five, end, duration })
    return detector.detect({ payloadType: 101, ssrc: 1, sequence, timestamp, marker, payload }, 8_000)
  })
  return {
    keys: passed.map(({ digit }) => digit ?? '').join(''),
    timestamps: [...new Set(passed.map(({ packet }) => packet.timestamp))],
    durations: passed.map(({ packet }) => readEvent(packet.payload)?.duration),
  }
}

const first = { marker: true }
const end = { end: true }

test('a key whose timestamp moves with each packet is one press, and passed on with one timestamp', () => {
  const growing: KeyPacket[] = [
    [1, 0, 160, first],
    [2, 160, 320],
    [3, 320, 480],
    [4, 480, 640, end],
    [5, 640, 640, end],
  ]
  assert.deepEqual(detected(growing), { keys: '5', timestamps: [0], durations: [160, 320, 480, 640, 1_280] })
  const constant: KeyPacket[] = [
    [1, 0, 160, first],
    [2, 160, 160],
    [3, 320, 160],
    [5, 640, 160, end],
    [6, 640, 160, end],
  ]
  assert.deepEqual(detected(constant), { keys: '5', timestamps: [0], durations: [160, 320, 480, 800, 800] })
})

test('the same key pressed again is another press, also if packets of its begin and of the end before are lost', () => {
  const press = (sequence: number, timestamp: number): KeyPacket[] => [
    [sequence, timestamp, 160, first],
    [sequence + 1, timestamp, 320],
    [sequence + 2, timestamp, 480, end],
    [sequence + 3, timestamp, 480, end],
  ]
  const [one, again] = [press(1, 0), press(5, 1_200)]
  assert.deepEqual(detected([...one, ...again]), {
    ...{ keys: '55', timestamps: [0, 1_200] },
    durations: [160, 320, 480, 480, 160, 320, 480, 480],
  })
  assert.equal(detected([...one, ...again.slice(1)]).keys, '55')
  assert.equal(detected([...one.slice(0, 2), ...again.slice(0, 1)]).keys, '55')
  // The end of the second press arrives alone.
  assert.equal(detected([...one.slice(0, 3), ...again.slice(3)]).keys, '55')
  // A packet of the earlier press that comes late is no press.
  assert.equal(detected([...one.slice(0, 2), ...again, ...one.slice(2)]).keys, '55')
})
