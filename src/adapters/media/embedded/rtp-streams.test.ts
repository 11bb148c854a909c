import assert from 'node:assert/strict'
import { test } from 'node:test'
import { RtpReceiver } from './rtp-receiver.ts'
import { RtpSender } from './rtp-sender.ts'

// RFC 3550, 5.1 and A.1: sequence numbers have 16 bits, and 0 follows 65,535.

const clock = 8_000
const payload = Buffer.alloc(160)
/** Returns the packet at a position of a stream that starts at sequence number 0. */
const packetAt = (place: number) => ({
  payloadType: 0,
  marker: false,
  sequence: place & 0xffff,
  timestamp: (place * 160) >>> 0,
  ssrc: 7,
  payload,
})

test('a received stream wraps at 65,535: nothing counts as lost, and the report continues', () => {
  const intake = new RtpReceiver()
  const take = (place: number) => intake.receive(packetAt(place), place * 20, clock)
  for (let place = 65_000; place < 65_536 + 131_072; place++) assert.equal(take(place), true, `packet ${place}`)
  const end = 65_535 + 131_072
  assert.deepEqual([intake.packets, intake.lost, intake.jitterMs(clock)], [end - 64_999, 0, 0])
  const report = intake.report(end * 20)
  assert.deepEqual([report?.highest, report?.lost, report?.fraction], [end, 0, 0])
})

test('around 65,535 a late packet is accepted once, a repeated one is refused, and a missing one is lost', () => {
  const intake = new RtpReceiver()
  const take = (place: number) => intake.receive(packetAt(place), place * 20, clock)
  const places = [65_530, 65_531, 65_533, 65_534, 65_536, 65_537]
  for (const place of places) assert.equal(take(place), true)
  assert.equal(intake.lost, 2)
  assert.equal(take(65_535), true)
  assert.deepEqual([take(65_535), take(65_536), take(65_530)], [false, false, false])
  assert.equal(intake.lost, 1)
  assert.equal(take(65_532), true)
  assert.equal(intake.lost, 0)
  assert.equal(intake.report(0)?.highest, 65_537)
})

test('a sent stream wraps at 65,535 with consecutive numbers', () => {
  const outlet = new RtpSender()
  let before: number | null = null
  for (let place = 60_000; place < 60_000 + 140_000; place++) {
    const { sequence, ssrc } = outlet.renumber({ ...packetAt(place), source: 7 }, place * 20, clock)
    assert.equal(ssrc, outlet.ssrc)
    assert.ok(Number.isInteger(sequence) && sequence >= 0 && sequence <= 65_535, `number ${sequence}`)
    if (before !== null) assert.equal(sequence, (before + 1) & 0xffff, `packet ${place}`)
    before = sequence
  }
  assert.equal(outlet.packets, 140_000)
})

test('numbers stay consecutive when the source changes around 65,535', () => {
  const outlet = new RtpSender()
  let before: number | null = null
  // Each source sends 50 packets with numbers of its own, also across the wrap.
  for (let turn = 0; turn < 3_000; turn++)
    for (let i = 0; i < 50; i++) {
      const packet = { ...packetAt(65_510 + i + turn * 7_919), source: turn % 2 }
      const { sequence } = outlet.renumber(packet, (turn * 50 + i) * 20, clock)
      if (before !== null) assert.equal(sequence, (before + 1) & 0xffff, `turn ${turn}, packet ${i}`)
      before = sequence
    }
})
