import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { readRtp, writeRtp } from '@trunkline/rtp/rtp.ts'
import { readEvent } from '@trunkline/rtp/telephone-event.ts'
import fc from 'fast-check'
import { makeSoftphone } from '../../../../test/media/softphone.ts'
import { makeTelephone, type Telephone, withDescription } from '../../../../test/media/telephone.ts'
import { until } from '../../../../test/platform.ts'
import { connectPeers, logEvents, unwrap, waitForTone } from '../media.conformance.ts'
import { startEmbedded } from './embedded-engine.ts'
import { loopback } from './embedded-testing.ts'
import { Packetizer, packetFramesOf } from './packetizer.ts'
import type { UnnumberedPacket } from './rtp-sender.ts'

const engine = await startEmbedded({
  ...loopback,
  fault: (reason) => assert.fail(reason),
})
const ending: (() => Promise<void>)[] = []
after(async () => {
  for (const end of ending) await end()
  await engine.close()
})
const phone = async (adds: readonly string[] = []): Promise<Telephone> => {
  const telephone = await makeTelephone()
  ending.push(telephone.close)
  return withDescription(telephone, { adds })
}

/** Octets by their place in the stream. */
const octetAt = (frame: number) => (frame * 7 + (frame >> 8)) & 0xff

/** Sends audio of known octets in packets of 20 ms. */
const sendAudio = async (telephone: Telephone, count: number, from = 0) => {
  for (let i = from; i < from + count; i++) {
    const payload = Buffer.from(Array.from({ length: 160 }, (_, j) => octetAt(i * 160 + j)))
    const packet = { payloadType: 0, marker: i === 0, sequence: i, timestamp: i * 160, ssrc: 77, payload }
    await telephone.sendPacket(writeRtp(packet))
  }
}

const audioOf = (telephone: Telephone) => telephone.packets.flatMap((packet) => readRtp(packet) ?? [])

for (const [lines, frames] of [
  [['a=ptime:10'], 80],
  [['a=ptime:30'], 240],
  [['a=ptime:40'], 320],
  [['a=maxptime:10'], 80],
  [['a=ptime:60', 'a=maxptime:30'], 240],
  [['a=ptime:20', 'a=maxptime:60'], 160],
  [['a=ptime:12.5'], 100],
  [['a=maxptime:1'], 40],
  [['a=ptime:0', 'a=maxptime:soon'], 160],
] as const)
  test(`a peer that describes ${lines.join(' and ')} gets ${frames / 8} ms in each packet, all audio in order`, async () => {
    for (const isCaller of [false, true]) {
      const [near, far] = [await phone(), await phone(lines)]
      const { call } = await (isCaller
        ? connectPeers(engine, [far, 'rtp'], [near, 'rtp'])
        : connectPeers(engine, [near, 'rtp'], [far, 'rtp']))
      await sendAudio(near, 24)
      const count = Math.floor((24 * 160) / frames)
      const packets = await until(async () => far.received >= count && audioOf(far))
      assert.deepEqual(new Set(packets.map(({ payload }) => payload.length)), new Set([frames]))
      const [first] = packets
      assert.ok(first?.marker)
      for (const [i, { sequence, timestamp, payload, marker }] of packets.entries()) {
        assert.deepEqual([sequence - first.sequence, timestamp - first.timestamp, marker], [i, i * frames, i === 0])
        assert.ok(payload.every((octet, j) => octet === octetAt(i * frames + j)))
      }
      // The other direction keeps its packets of 20 ms.
      await sendAudio(far, 5)
      await until(async () => near.received === 5)
      assert.ok(audioOf(near).every(({ payload }) => payload.length === 160))
      await call.close()
    }
  })

test('tones of ours, and a browser, reach a peer in packets of its length, and keys among them arrive once', async () => {
  const far = await phone(['a=maxptime:10'])
  const browser = await makeSoftphone()
  ending.push(browser.close)
  const { call, callee, log } = await connectPeers(engine, [browser, 'webrtc'], [far, 'rtp'])
  browser.sendTone(1_000)
  far.sendTone(620)
  await Promise.all([waitForTone(far, 1_000), waitForTone(browser, 620)])
  unwrap(await callee.playTone(440))
  await waitForTone(far, 440)
  unwrap(await callee.playTone(null))
  unwrap(await callee.sendKeys('42'))
  await until(async () => far.digits === '42')
  await waitForTone(far, 1_000)
  assert.equal(far.sequences.length, new Set(far.sequences).size)
  const audio = audioOf(far).filter(({ payloadType }) => payloadType === 0)
  assert.ok(audio.length > 100 && audio.every(({ payload }) => payload.length <= 80))
  await call.close()
  assert.deepEqual(log.failures, [])
})

test('a new offer changes the packets: with another ptime, and back to any', async () => {
  const [near, far] = [await makeTelephone(), await makeTelephone()]
  ending.push(near.close, far.close)
  const { call, callee } = await connectPeers(engine, [near, 'rtp'], [far, 'rtp'])
  for (const [adds, frames] of [
    [['a=ptime:30'], 240],
    [['a=maxptime:10'], 80],
    [[], 160],
  ] as const) {
    unwrap(await callee.renegotiate(await withDescription(far, { adds }).offer()))
    const from = far.packets.length
    near.sendTone(1_000)
    const packets = await until(async () => far.packets.length > from + 20 && audioOf(far).slice(from + 4))
    near.sendTone(null)
    assert.deepEqual(new Set(packets.map(({ payload }) => payload.length)), new Set([frames]))
  }
  assert.equal(far.sequences.length, new Set(far.sequences).size)
  await call.close()
})

test('after a hold no audio of the time before it is sent', async () => {
  const [near, far] = [await phone(), await phone(['a=ptime:30'])]
  const { call, caller, callee } = await connectPeers(engine, [near, 'rtp'], [far, 'rtp'])
  const send = async (from: number, count: number) => {
    await sendAudio(near, count, from)
    const all = from + count
    await until(async () => unwrap(await call.stats()).find(({ leg }) => leg === caller.id)?.received.packets === all)
  }
  await send(0, 1)
  unwrap(await callee.renegotiate((await far.offer()).replace('a=sendrecv', 'a=sendonly')))
  await send(1, 1)
  unwrap(await callee.renegotiate(await far.offer()))
  await send(2, 3)
  const packets = await until(async () => far.received >= 2 && audioOf(far))
  assert.deepEqual(
    packets.map(({ payload }) => payload),
    [0, 240].map((start) => Buffer.from(Array.from({ length: 240 }, (_, j) => octetAt(320 + start + j)))),
  )
  await call.close()
})

test('Opus is not agreed with a peer whose packets must be shorter than those of Opus', async () => {
  const call = unwrap(await engine.openCall(logEvents().events))
  const describe = async (id: string, adds: readonly string[], codecs: readonly ('opus' | 'pcmu')[]) => {
    const browser = await makeSoftphone('opus')
    ending.push(browser.close)
    const offer = (await withDescription(browser, { adds }).offer())
      .replace(/^(m=audio .*)$/m, '$1 0')
      .replace(/^a=rtpmap/m, 'a=rtpmap:0 PCMU/8000\r\na=rtpmap')
    const leg = await call.addLeg({ id, kind: 'webrtc', codecs, offer })
    return leg.outcome === 'refused'
      ? leg.cause
      : /^m=audio \S+ \S+ (\d+)/m.exec(unwrap(await leg.value.describe()))?.[1]
  }
  assert.notEqual(await describe('any', ['a=maxptime:20'], ['opus', 'pcmu']), '0')
  assert.equal(await describe('short', ['a=maxptime:10'], ['opus', 'pcmu']), '0')
  assert.equal(await describe('refused', ['a=maxptime:10'], ['opus']), 'codec')
  await call.close()
})

const packetOf = (
  sequence: number,
  timestamp: number,
  length: number,
  source: number | string = 1,
): UnnumberedPacket => ({
  ...{ source, sequence: sequence & 0xffff, timestamp: timestamp >>> 0, marker: false, payloadType: 0 },
  payload: Buffer.from(Array.from({ length }, (_, i) => octetAt(timestamp + i))),
})

test('any packet lengths become equal ones without a changed octet, around the end of the numbers too', () => {
  const lengths = fc.array(fc.integer({ min: 1, max: 480 }), { maxLength: 40 })
  fc.assert(
    fc.property(lengths, fc.integer({ min: 40, max: 960 }), (sizes, frames) => {
      const packetizer = new Packetizer(frames)
      let timestamp = 2 ** 32 - 3_000
      const sent = sizes.flatMap((size, i) => {
        const taken = packetizer.take(packetOf(65_530 + i, timestamp, size), false)
        timestamp += size
        return taken
      })
      const total = sizes.reduce((sum, size) => sum + size, 0)
      assert.equal(sent.length, Math.floor(total / frames))
      for (const [i, packet] of sent.entries()) {
        assert.deepEqual([packet.sequence, packet.payload.length], [i, frames])
        const start = 2 ** 32 - 3_000 + i * frames
        assert.equal(packet.timestamp, start >>> 0)
        assert.ok(packet.payload.every((octet, j) => octet === octetAt(start + j)))
      }
    }),
    { numRuns: 300 },
  )
})

test('a lost packet stays a gap, silence is none, a late packet is dropped, and a new source starts again', () => {
  const packetizer = new Packetizer(240)
  const taken = (...packets: readonly UnnumberedPacket[]) =>
    packets
      .flatMap((packet) => packetizer.take(packet, false))
      .map(({ sequence, timestamp, payload }) => [sequence, timestamp, payload.length])
  assert.deepEqual(taken(packetOf(0, 0, 160), packetOf(1, 160, 160)), [[0, 0, 240]])
  // 3 packets of 20 ms are lost: 2 of 30 ms are missing.
  assert.deepEqual(taken(packetOf(5, 800, 160), packetOf(6, 960, 160)), [
    [1, 240, 80],
    [4, 800, 240],
  ])
  assert.deepEqual(taken(packetOf(4, 640, 160), packetOf(6, 960, 160)), [])
  // Silence suppression: the numbers go on, the time jumps.
  assert.deepEqual(taken(packetOf(7, 8_000, 160), packetOf(8, 8_160, 80)), [
    [5, 1_040, 80],
    [6, 8_000, 240],
  ])
  const [old, other] = [packetOf(9, 8_240, 240), packetOf(3, 100, 240, 'another')]
  const names = [old, other].flatMap((packet) => packetizer.take(packet, false)).map(({ source }) => source)
  assert.equal(new Set(names).size, 2)
})

test('a key between packets of audio is passed on unchanged, after the audio before it', () => {
  const packetizer = new Packetizer(240)
  const key = { ...packetOf(1, 160, 4), payloadType: 101, payload: Buffer.from([5, 10, 0, 160]) }
  const sent = [packetizer.take(packetOf(0, 0, 160), false), packetizer.take(key, true)].flat()
  assert.deepEqual(
    sent.map(({ sequence, timestamp, payloadType, payload }) => [sequence, timestamp, payloadType, payload.length]),
    [
      [0, 0, 0, 160],
      [1, 160, 101, 4],
    ],
  )
  assert.equal(readEvent(sent[1]?.payload ?? Buffer.alloc(0))?.event, 5)
})

test('a peer that names neither ptime nor maxptime gets packets as they come', () => {
  assert.equal(packetFramesOf({ ptime: null, maxptime: null }), null)
  assert.equal(packetFramesOf({ ptime: 500, maxptime: null }), 960)
})
