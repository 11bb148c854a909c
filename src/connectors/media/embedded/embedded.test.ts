import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { createSocket, type Socket } from 'node:dgram'
import { once } from 'node:events'
import { after, describe, test } from 'node:test'
import type { Worker } from 'node:worker_threads'
import { makeSoftphone } from '../../../../test/media/softphone.ts'
import { makeTelephone } from '../../../../test/media/telephone.ts'
import { until } from '../../../../test/platform.ts'
import type { MediaEngine } from '../../port.ts'
import { readRtp, writeRtp } from '../codec/rtp.ts'
import { connect, done, hears, latest, listen, mediaSuite } from '../media.conformance.ts'
import { share } from '../testing.ts'
import { type EmbeddedSettings, startEmbedded } from './engine.ts'

/** The workers that were started, in their order: Node tells of each one. */
const threads: Worker[] = []
process.on('worker', (worker) => threads.push(worker))

const faults: string[] = []
const settings: EmbeddedSettings = {
  bind: '127.0.0.1',
  advertised: '127.0.0.1',
  rtpPorts: [0, 0],
  webrtcPorts: [0, 0],
  workers: 1,
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
const phone = async (...wish: Parameters<typeof makeTelephone>) => {
  const made = await makeTelephone(...wish)
  ending.push(made.close)
  return made
}
const browser = async () => {
  const made = await makeSoftphone()
  ending.push(made.close)
  return made
}

const engine = await start()
const noted: string[] = []
const brittle = await start({ fault: (reason) => noted.push(reason) })
const doomed = threads.at(-1)

mediaSuite(() => startEmbedded(settings))

describe('the embedded engine', { concurrency: true }, () => {
  test('µ-law on the one side is A-law on the other', async () => {
    const [one, other] = [await phone('pcmu'), await phone('pcma')]
    const { call } = await connect(engine, [one, 'rtp', ['pcmu']], [other, 'rtp', ['pcma']])
    one.say(1_000)
    other.say(620)
    await Promise.all([hears(one, 620), hears(other, 1_000)])
    await call.close()
  })

  test('nobody but the peer puts sound into a call, nor draws it away', async () => {
    const [one, other] = [await phone(), await phone()]
    const { call, caller } = await connect(engine, [one, 'rtp'], [other, 'rtp'])
    one.say(1_000)
    await hears(other, 1_000)
    const stranger = createSocket('udp4')
    stranger.bind(0, '127.0.0.1')
    await once(stranger, 'listening')
    ending.push(async () => void stranger.close())
    const drawn: Buffer[] = []
    stranger.on('message', (packet) => drawn.push(packet))
    const before = done(await call.stats()).find(({ leg }) => leg === caller.id)
    const packet = { payloadType: 0, marker: false, ssrc: 7, payload: Buffer.alloc(160, 0x20) }
    for (let i = 0; i < 50; i++) await one.throw(writeRtp({ ...packet, sequence: i, timestamp: i * 160 }), stranger)
    const samples = await latest(other)
    assert.ok(share(samples, 1_000) > 0.95)
    assert.equal(done(await call.stats()).find(({ leg }) => leg === caller.id)?.remote, before?.remote)
    assert.deepEqual(drawn, [])
    await call.close()
  })

  test('a peer that names an address of its own net is heard from where its signalling comes from, and from nowhere else', async () => {
    const { told, events } = listen()
    const call = done(await engine.openCall(events))
    const [hidden, foreign] = [await phone('pcmu', '192.168.7.7'), await phone('pcmu', '192.168.7.7')]
    const codecs = ['pcmu'] as const
    const wish = { kind: 'rtp', codecs, source: '127.0.0.1' } as const
    const known = done(await call.addLeg({ id: 'known', offer: await hidden.offer(), ...wish }))
    const unknown = done(
      await call.addLeg({ id: 'unknown', offer: await foreign.offer(), ...wish, source: '203.0.113.9' }),
    )
    for (const [leg, peer] of [
      [known, hidden],
      [unknown, foreign],
    ] as const) {
      await peer.accept(done(await leg.describe()))
      peer.say(1_000)
    }
    await until(async () => told.connected.includes('known') && foreign.sent > 20)
    assert.deepEqual(told.connected, ['known'])
    const stats = done(await call.stats())
    assert.equal(stats.find(({ leg }) => leg === 'known')?.remote, `127.0.0.1:${hidden.port}`)
    assert.equal(stats.find(({ leg }) => leg === 'unknown')?.received.packets, 0)
    await call.close()
  })

  test('keys that were pressed count once each, though packets are lost, late or twice there; ours reach the peer so', async () => {
    const [one, other] = [await phone(), await phone('pcmu', '127.0.0.1', 96)]
    const { call, callee, told } = await connect(engine, [one, 'rtp'], [other, 'rtp'])
    await until(async () => {
      one.say(0)
      return told.connected.includes('caller')
    })
    one.say(null)
    // Each press is seven packets: of the first the beginning is lost, of the second all ends, of the others every other one.
    await one.press('0123456789*#ABCD', (i) => i < 4 || (i >= 11 && i < 14) || (i >= 14 && i % 2 === 0))
    await until(async () => told.digits.length >= 16)
    assert.deepEqual(
      told.digits,
      [...'0123456789*#ABCD'].map((digit) => `caller ${digit}`),
    )
    await until(async () => other.digits.length >= 16)
    assert.equal(other.digits, '0123456789*#ABCD')
    done(await callee.press('5#'))
    await until(async () => other.digits.length >= 18)
    assert.equal(other.digits.slice(16), '5#')
    // A key is known by its first packet: the last of its end come after that.
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
    assert.equal((await callee.press('x')).outcome, 'refused')
    await call.close()
  })

  test('a tone is played instead of what the bridge brings, and one stream goes on', async () => {
    const [one, other] = [await phone(), await phone()]
    const { call, callee } = await connect(engine, [one, 'rtp'], [other, 'rtp'])
    one.say(1_000)
    await hears(other, 1_000)
    done(await callee.play(440))
    await hears(other, 440)
    done(await callee.play(null))
    await hears(other, 1_000)
    const read = other.packets.map(readRtp).filter((packet) => packet !== null)
    assert.equal(new Set(read.map(({ ssrc }) => ssrc)).size, 1)
    for (const [i, { sequence }] of read.entries())
      if (i > 0) assert.equal(sequence, ((read[i - 1]?.sequence ?? 0) + 1) & 0xffff)
    await call.close()
  })

  test('a peer that begins anew behind its last number is heard on at once, and no number goes out twice', async () => {
    const [one, other] = [await phone(), await phone()]
    const { call } = await connect(engine, [one, 'rtp'], [other, 'rtp'])
    const packet = { payloadType: 0, marker: false, ssrc: 7, payload: Buffer.alloc(160, 0x20) }
    const say = async (sequence: number) => one.throw(writeRtp({ ...packet, sequence, timestamp: sequence * 160 }))
    for (let i = 0; i < 50; i++) await say(1_000 + i)
    // One that is late, which is none that begins; 149 behind the highest is one.
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

  test('the round trip and what the peer lost are known from its reports', async () => {
    const [one, other] = [await phone(), await phone()]
    const { call } = await connect(engine, [one, 'rtp'], [other, 'rtp'])
    one.say(1_000)
    other.say(620)
    const stats = await until(async () => {
      const legs = done(await call.stats())
      return legs.every(({ roundTripMs }) => roundTripMs !== null) && legs
    })
    for (const { roundTripMs, received } of stats) {
      assert.ok(roundTripMs !== null && roundTripMs >= 0 && roundTripMs < 5_000, String(roundTripMs))
      assert.ok((received.jitterMs ?? 0) < 1_000)
    }
    await call.close()
  })

  test('silence of a leg is told once, and not of one that is held', async () => {
    const short = await start({ silenceSeconds: 1 })
    const [one, other] = [await phone(), await phone()]
    const { call, callee, told } = await connect(short, [one, 'rtp'], [other, 'rtp'])
    const answer = (await other.answer(done(await callee.reoffer('sendonly')))).replace('sendrecv', 'recvonly')
    done(await callee.accept(answer))
    // On a machine that does much else, a second may pass without a word of one who speaks, too: what counts is that no more come.
    const silent = async (before: number) => {
      one.say(1_000)
      await hears(other, 1_000)
      one.say(null)
      other.say(620)
      return until(async () => {
        const [count, spoken] = [told.silences.length, other.sent]
        if (count === before) return null
        await until(async () => other.sent > spoken + 60)
        return told.silences.length === count && count
      })
    }
    await silent(await silent(0))
    assert.deepEqual(new Set(told.silences), new Set(['caller']))
    await call.close()
  })

  test('when a worker dies its calls end in words, and the next call finds another one', async () => {
    const [one, other] = [await phone(), await phone()]
    const { call, told } = await connect(brittle, [one, 'rtp'], [other, 'rtp'])
    one.say(1_000)
    await hears(other, 1_000)
    await doomed?.terminate()
    await until(async () => told.failures.length > 0)
    assert.match(told.failures[0] ?? '', /^null: the media worker has ended/)
    assert.equal((await call.stats()).outcome, 'refused')
    await call.close()
    assert.equal(brittle.state().calls, 0)
    const again = await until(async () => {
      const opened = await brittle.openCall(listen().events)
      return opened.outcome === 'done' && opened.value
    })
    done(await again.stats())
    assert.match(noted[0] ?? '', /is started anew/)
  })

  test('one call more than there is room for is refused in words; room comes back', async () => {
    const small = await start({ callsPerWorker: 2 })
    const calls = [done(await small.openCall(listen().events)), done(await small.openCall(listen().events))]
    assert.deepEqual(small.state(), { calls: 2, room: 2 })
    assert.deepEqual(await small.openCall(listen().events), {
      outcome: 'refused',
      cause: 'full',
      reason: 'all 2 calls that this server takes at a time are taken',
    })
    await calls[0]?.close()
    done(await small.openCall(listen().events))
  })

  /** An even port of the system's choice that is free with the three above it. */
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

  test('legs take ports of their range, each its own, and give them back', async () => {
    const wish = { kind: 'rtp', codecs: ['pcmu'], offer: null } as const
    // Ports that were free just now may be somebody else's by the time they are asked for: then others are tried.
    const { ranged, call, first, legs } = await until(async () => {
      const first = await freeFour()
      const ranged = await start({ rtpPorts: [first, first + 3] })
      const call = done(await ranged.openCall(listen().events))
      const legs = [await call.addLeg({ id: 'a', ...wish }), await call.addLeg({ id: 'b', ...wish })]
      return legs.every(({ outcome }) => outcome === 'done') && { ranged, call, first, legs }
    })
    const ports = []
    for (const leg of legs) ports.push(Number(done(await done(leg).describe()).match(/m=audio (\d+)/)?.[1]))
    assert.deepEqual(ports, [first, first + 2])
    const none = await call.addLeg({ id: 'c', ...wish })
    assert.equal(none.outcome === 'refused' && none.cause, 'full')
    await call.close()
    const next = done(await ranged.openCall(listen().events))
    await until(async () => (await next.addLeg({ id: 'a', ...wish })).outcome === 'done')
  })
})

// By itself: it keeps the machine busy.
test('a flood of nonsense neither ends a call nor is answered', async () => {
  const [one, other] = [await browser(), await phone()]
  const { call, caller, callee, told } = await connect(engine, [one, 'webrtc'], [other, 'rtp'])
  one.say(1_000)
  other.say(620)
  await Promise.all([hears(one, 620), hears(other, 1_000)])
  const local = new Map(done(await call.stats()).map(({ leg, local: address }) => [leg, address?.split(':')[1]]))
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
    if (i % 5 === 0) await other.throw(packet)
  }
  await Promise.all([hears(one, 620), hears(other, 1_000)])
  assert.deepEqual(answers, [])
  assert.deepEqual(told.failures, [])
  await call.close()
})
