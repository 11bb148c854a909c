import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { createSocket, type Socket } from 'node:dgram'
import { once } from 'node:events'
import { after, describe, test } from 'node:test'
import type { Worker } from 'node:worker_threads'
import { readRtp, writeRtp } from '@trunkline/rtp/rtp.ts'
import { makeSoftphone } from '../../../../test/media/softphone.ts'
import { makeTelephone } from '../../../../test/media/telephone.ts'
import { until } from '../../../../test/platform.ts'
import type { MediaEngine } from '../../../ports/media.ts'
import { connectPeers, latestAudio, logEvents, mediaSuite, unwrap, waitForTone } from '../media.conformance.ts'
import { soundSuite } from '../sounds.conformance.ts'
import { energyShare } from '../tone-testing.ts'
import { type EmbeddedSettings, startEmbedded } from './embedded-engine.ts'
import { loopback } from './embedded-testing.ts'

/** Worker threads in their start order, as Node reports them. */
const threads: Worker[] = []
process.on('worker', (worker) => threads.push(worker))

const faults: string[] = []
const settings: EmbeddedSettings = {
  ...loopback,
  fault: (reason) => faults.push(reason),
}

const ending: (() => Promise<void>)[] = []
after(async () => {
  for (const end of ending) await end()
  assert.deepEqual(faults, [])
})

const start = async (more: Partial<EmbeddedSettings> = {}): Promise<MediaEngine> => {
  const engine = await startEmbedded({ ...settings, ...more })
  ending.push(() => engine.close())
  return engine
}
const phone = async (...options: Parameters<typeof makeTelephone>) => {
  const telephone = await makeTelephone(...options)
  ending.push(telephone.close)
  return telephone
}
const browser = async () => {
  const softphone = await makeSoftphone()
  ending.push(softphone.close)
  return softphone
}

const engine = await start()
const noted: string[] = []
// Its worker stays for the last tests, however long the first ones take.
const brittle = await start({ idleSeconds: 3_600, fault: (reason) => noted.push(reason) })
await unwrap(await brittle.openCall(logEvents().events)).close()
const doomed = threads.at(-1)

mediaSuite(() => startEmbedded(settings))
soundSuite(() => startEmbedded(settings))

describe('the embedded engine', { concurrency: true }, () => {
  test('µ-law on one side is transcoded to A-law on the other', async () => {
    const [one, other] = [await phone('pcmu'), await phone('pcma')]
    const { call } = await connectPeers(engine, [one, 'rtp', ['pcmu']], [other, 'rtp', ['pcma']])
    one.sendTone(1_000)
    other.sendTone(620)
    await Promise.all([waitForTone(one, 620), waitForTone(other, 1_000)])
    await call.close()
  })

  test('only the peer can inject audio into a call or divert it', async () => {
    const [one, other] = [await phone(), await phone()]
    const { call, caller } = await connectPeers(engine, [one, 'rtp'], [other, 'rtp'])
    one.sendTone(1_000)
    await waitForTone(other, 1_000)
    const stranger = createSocket('udp4')
    stranger.bind(0, '127.0.0.1')
    await once(stranger, 'listening')
    ending.push(async () => void stranger.close())
    const drawn: Buffer[] = []
    stranger.on('message', (packet) => drawn.push(packet))
    const before = unwrap(await call.stats()).find(({ leg }) => leg === caller.id)
    const packet = { payloadType: 0, marker: false, ssrc: 7, payload: Buffer.alloc(160, 0x20) }
    for (let i = 0; i < 50; i++)
      await one.sendPacket(writeRtp({ ...packet, sequence: i, timestamp: i * 160 }), stranger)
    const samples = await latestAudio(other)
    assert.ok(energyShare(samples, 1_000) > 0.95)
    assert.equal(unwrap(await call.stats()).find(({ leg }) => leg === caller.id)?.remote, before?.remote)
    assert.deepEqual(drawn, [])
    await call.close()
  })

  test('media of a peer with a private address are accepted only from the address of its signalling', async () => {
    const { log, events } = logEvents()
    const call = unwrap(await engine.openCall(events))
    const [hidden, foreign] = [await phone('pcmu', '192.168.7.7'), await phone('pcmu', '192.168.7.7')]
    const codecs = ['pcmu'] as const
    const options = { kind: 'rtp', codecs, source: '127.0.0.1' } as const
    const known = unwrap(await call.addLeg({ id: 'known', offer: await hidden.offer(), ...options }))
    const unknown = unwrap(
      await call.addLeg({ id: 'unknown', offer: await foreign.offer(), ...options, source: '203.0.113.9' }),
    )
    for (const [leg, peer] of [
      [known, hidden],
      [unknown, foreign],
    ] as const) {
      await peer.accept(unwrap(await leg.describe()))
      peer.sendTone(1_000)
    }
    await until(async () => log.connected.includes('known') && foreign.sent > 20)
    assert.deepEqual(log.connected, ['known'])
    const stats = unwrap(await call.stats())
    assert.equal(stats.find(({ leg }) => leg === 'known')?.remote, `127.0.0.1:${hidden.port}`)
    assert.equal(stats.find(({ leg }) => leg === 'unknown')?.received.packets, 0)
    await call.close()
  })

  test('key presses are detected once each despite lost, late or duplicate packets, and our keys reach the peer', async () => {
    const [one, other] = [await phone(), await phone('pcmu', '127.0.0.1', 96)]
    const { call, callee, log } = await connectPeers(engine, [one, 'rtp'], [other, 'rtp'])
    await until(async () => {
      one.sendTone(0)
      return log.connected.includes('caller')
    })
    one.sendTone(null)
    // A press has seven packets. The first press loses its start, the second all ends, the others every second packet.
    await one.press('0123456789*#ABCD', (i) => i < 4 || (i >= 11 && i < 14) || (i >= 14 && i % 2 === 0))
    await until(async () => log.digits.length >= 16)
    assert.deepEqual(
      log.digits,
      [...'0123456789*#ABCD'].map((digit) => `caller ${digit}`),
    )
    await until(async () => other.digits.length >= 16)
    assert.equal(other.digits, '0123456789*#ABCD')
    unwrap(await callee.sendKeys('5#'))
    await until(async () => other.digits.length >= 18)
    assert.equal(other.digits.slice(16), '5#')
    // A key counts from its first packet; the end packets come later.
    const ends = await until(async () => {
      const last = other.packets
        .map(readRtp)
        .filter((packet) => packet?.payloadType === 96 && (packet.payload[1] ?? 0) & 0x80)
        .slice(-6)
      return new Set(last.map((packet) => packet?.timestamp)).size === 2 && last
    })
    assert.deepEqual(
      ends.map((packet) => packet?.payload.readUInt16BE(2)),
      [800, 800, 800, 800, 800, 800],
    )
    assert.equal((await callee.sendKeys('x')).outcome, 'refused')
    await call.close()
  })

  test('a tone replaces the bridged media within the same stream', async () => {
    const [one, other] = [await phone(), await phone()]
    const { call, callee } = await connectPeers(engine, [one, 'rtp'], [other, 'rtp'])
    one.sendTone(1_000)
    await waitForTone(other, 1_000)
    unwrap(await callee.playTone(440))
    await waitForTone(other, 440)
    unwrap(await callee.playTone(null))
    await waitForTone(other, 1_000)
    const read = other.packets.map(readRtp).filter((packet) => packet !== null)
    assert.equal(new Set(read.map(({ ssrc }) => ssrc)).size, 1)
    for (const [i, { sequence }] of read.entries())
      if (i > 0) assert.equal(sequence, ((read[i - 1]?.sequence ?? 0) + 1) & 0xffff)
    await call.close()
  })

  test('sequence numbers of a peer wrap at 65,535 without a gap or loss', async () => {
    const [one, other] = [await phone(), await phone()]
    const { call } = await connectPeers(engine, [one, 'rtp'], [other, 'rtp'])
    const packet = { payloadType: 0, marker: false, ssrc: 7, payload: Buffer.alloc(160, 0x20) }
    for (let i = 0; i < 80; i++)
      await one.sendPacket(writeRtp({ ...packet, sequence: (65_500 + i) & 0xffff, timestamp: i * 160 }))
    await until(async () => other.received >= 80)
    const [first = 0] = other.sequences
    assert.deepEqual(
      other.sequences.map((sequence) => (sequence - first) & 0xffff),
      Array.from({ length: 80 }, (_, i) => i),
    )
    await call.close()
  })

  test('a peer that restarts below its last number is heard at once, and no number is sent twice', async () => {
    const [one, other] = [await phone(), await phone()]
    const { call } = await connectPeers(engine, [one, 'rtp'], [other, 'rtp'])
    const packet = { payloadType: 0, marker: false, ssrc: 7, payload: Buffer.alloc(160, 0x20) }
    const say = async (sequence: number) => one.sendPacket(writeRtp({ ...packet, sequence, timestamp: sequence * 160 }))
    for (let i = 0; i < 50; i++) await say(1_000 + i)
    // A late packet is not a restart; 149 below the highest number is.
    await say(1_050)
    await say(1_052)
    await say(1_051)
    for (let i = 0; i < 50; i++) await say(903 + i)
    await until(async () => other.received >= 103)
    const [first = 0] = other.sequences
    const expected = Array.from({ length: 103 }, (_, i) => (first + i) & 0xffff)
    assert.deepEqual(
      other.sequences.map((sequence) => (sequence - first) & 0xffff).toSorted((a, b) => a - b),
      expected.map((sequence) => (sequence - first) & 0xffff),
    )
    await call.close()
  })

  test('round trip and loss are derived from the reports of the peer', async () => {
    const [one, other] = [await phone(), await phone()]
    const { call } = await connectPeers(engine, [one, 'rtp'], [other, 'rtp'])
    one.sendTone(1_000)
    other.sendTone(620)
    const stats = await until(async () => {
      const legs = unwrap(await call.stats())
      return legs.every(({ roundTripMs }) => roundTripMs !== null) && legs
    })
    for (const { roundTripMs, received } of stats) {
      assert.ok(roundTripMs !== null && roundTripMs >= 0 && roundTripMs < 5_000, String(roundTripMs))
      assert.ok((received.jitterMs ?? 0) < 1_000)
    }
    await call.close()
  })

  test('silence of a leg is reported once', async () => {
    const short = await start({ silenceSeconds: 1 })
    const [one, other] = [await phone(), await phone()]
    const { call, log } = await connectPeers(short, [one, 'rtp'], [other, 'rtp'])
    // On a busy machine an active speaker may also seem silent, so the test waits until no further reports come.
    const silent = async (before: number) => {
      one.sendTone(1_000)
      await waitForTone(other, 1_000)
      one.sendTone(null)
      other.sendTone(620)
      return until(async () => {
        const [count, spoken] = [log.silences.length, other.sent]
        if (count === before) return null
        await until(async () => other.sent > spoken + 60)
        return log.silences.length === count && count
      })
    }
    await silent(await silent(0))
    assert.deepEqual(new Set(log.silences), new Set(['caller']))
    await call.close()
  })

  test('when a worker dies, its calls fail with a reason, and the next call gets a new worker', async () => {
    const [one, other] = [await phone(), await phone()]
    const { call, log } = await connectPeers(brittle, [one, 'rtp'], [other, 'rtp'])
    one.sendTone(1_000)
    await waitForTone(other, 1_000)
    await doomed?.terminate()
    await until(async () => log.failures.length > 0)
    assert.match(log.failures[0] ?? '', /^null: the media worker has ended/)
    assert.equal((await call.stats()).outcome, 'refused')
    await call.close()
    assert.equal(brittle.state().calls, 0)
    const again = await until(async () => {
      const opened = await brittle.openCall(logEvents().events)
      return opened.outcome === 'done' && opened.value
    })
    unwrap(await again.stats())
    assert.match(noted[0] ?? '', /is restarted/)
  })

  test('a call beyond the capacity is refused with a reason, and capacity is released', async () => {
    const small = await start({ callsPerWorker: 2 })
    const calls = [unwrap(await small.openCall(logEvents().events)), unwrap(await small.openCall(logEvents().events))]
    const { calls: open, capacity } = small.state()
    assert.deepEqual([open, capacity], [2, 2])
    assert.deepEqual(await small.openCall(logEvents().events), {
      outcome: 'refused',
      cause: 'full',
      reason: 'the limit of 2 concurrent calls of this server is reached',
    })
    await calls[0]?.close()
    unwrap(await small.openCall(logEvents().events))
  })

  /** Returns an even port that is free together with the next three. */
  const freeFour = () =>
    until(async () => {
      const sockets: Socket[] = []
      const take = async (port: number) => {
        const socket = createSocket('udp4')
        sockets.push(socket)
        const listening = once(socket, 'listening')
        socket.bind(port, '127.0.0.1')
        await listening
        return socket.address().port
      }
      try {
        const first = (await take(0)) & ~1
        for (let port = first; port < first + 4; port++) if (sockets[0]?.address().port !== port) await take(port)
        return first
      } catch {
        return null
      } finally {
        for (const socket of sockets) socket.close()
      }
    })

  test('legs allocate distinct ports of their range and release them', async () => {
    const options = { kind: 'rtp', codecs: ['pcmu'], offer: null } as const
    // Another program may take the ports meanwhile; then others are tried.
    const { ranged, call, first, legs } = await until(async () => {
      const first = await freeFour()
      const ranged = await start({ rtpPorts: [first, first + 3] })
      const call = unwrap(await ranged.openCall(logEvents().events))
      const legs = [await call.addLeg({ id: 'a', ...options }), await call.addLeg({ id: 'b', ...options })]
      return legs.every(({ outcome }) => outcome === 'done') && { ranged, call, first, legs }
    })
    const ports = []
    for (const leg of legs) ports.push(Number(unwrap(await unwrap(leg).describe()).match(/m=audio (\d+)/)?.[1]))
    assert.deepEqual(ports, [first, first + 2])
    const none = await call.addLeg({ id: 'c', ...options })
    assert.equal(none.outcome === 'refused' && none.cause, 'full')
    await call.close()
    const next = unwrap(await ranged.openCall(logEvents().events))
    await until(async () => (await next.addLeg({ id: 'a', ...options })).outcome === 'done')
  })
})

// Runs alone, as it keeps the machine busy.
test('a flood of invalid packets neither ends a call nor is answered', async () => {
  const [one, other] = [await browser(), await phone()]
  const { call, caller, callee, log } = await connectPeers(engine, [one, 'webrtc'], [other, 'rtp'])
  one.sendTone(1_000)
  other.sendTone(620)
  await Promise.all([waitForTone(one, 620), waitForTone(other, 1_000)])
  const local = new Map(unwrap(await call.stats()).map(({ leg, local: address }) => [leg, address?.split(':')[1]]))
  const stranger = createSocket('udp4')
  stranger.bind(0, '127.0.0.1')
  await once(stranger, 'listening')
  ending.push(async () => void stranger.close())
  const answers: Buffer[] = []
  stranger.on('message', (packet) => answers.push(packet))
  const starts = [[0, 1], [22, 254, 253], [0x80, 0], [0x80, 0xc8], [20, 255], []]
  for (let i = 0; i < 3_000; i++) {
    const packet = Buffer.concat([Buffer.from(starts[i % starts.length] ?? []), randomBytes(i % 97)])
    const port = Number(local.get(i % 2 ? caller.id : callee.id))
    await new Promise((resolve) => stranger.send(packet, port, '127.0.0.1', resolve))
    if (i % 5 === 0) await other.sendPacket(packet)
  }
  await Promise.all([waitForTone(one, 620), waitForTone(other, 1_000)])
  assert.deepEqual(answers, [])
  assert.deepEqual(log.failures, [])
  await call.close()
})
