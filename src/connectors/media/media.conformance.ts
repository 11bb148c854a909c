import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, describe, test } from 'node:test'
import type { Peer } from '../../../test/media/peer.ts'
import { makeSoftphone } from '../../../test/media/softphone.ts'
import { makeTelephone } from '../../../test/media/telephone.ts'
import { until } from '../../../test/platform.ts'
import { temporaryFolder } from '../../../test/servers.ts'
import type { MediaAnswer, MediaCall, MediaCodec, MediaEngine, MediaEvents, MediaLeg } from '../port.ts'
import { repair } from './recording/wav.ts'
import { clearest, share } from './testing.ts'

const g711: readonly MediaCodec[] = ['pcmu', 'pcma']

/** The value of an answer. */
export const done = <T>(answer: MediaAnswer<T>): T => {
  if (answer.outcome === 'refused') throw new Error(`${answer.cause}: ${answer.reason}`)
  return answer.value
}

/** What a call told. */
export type Told = { connected: string[]; digits: string[]; silences: string[]; failures: string[]; dropped: string[] }

export const listen = (): { told: Told; events: MediaEvents } => {
  const told: Told = { connected: [], digits: [], silences: [], failures: [], dropped: [] }
  const events: MediaEvents = {
    connected: (leg) => told.connected.push(leg),
    dtmf: (leg, digit) => told.digits.push(`${leg} ${digit}`),
    silence: (leg) => told.silences.push(leg),
    dropped: (leg, from) => told.dropped.push(`${leg} ${from}`),
    failed: (leg, reason) => told.failures.push(`${leg}: ${reason}`),
  }
  return { told, events }
}

/** Two peers through the engine: the first one calls, the second one answers. */
export type Talk = { call: MediaCall; caller: MediaLeg; callee: MediaLeg; told: Told }

export const connect = async (
  engine: MediaEngine,
  [one, kind, codecs = g711]: readonly [Peer, 'webrtc' | 'rtp', (readonly MediaCodec[])?],
  [other, otherKind, otherCodecs = g711]: readonly [Peer, 'webrtc' | 'rtp', (readonly MediaCodec[])?],
): Promise<Talk> => {
  const { told, events } = listen()
  const call = done(await engine.openCall(events))
  const caller = done(await call.addLeg({ id: 'caller', kind, offer: await one.offer(), codecs, source: '127.0.0.1' }))
  const wish = { id: 'callee', kind: otherKind, offer: null, codecs: otherCodecs, source: '127.0.0.1' }
  const callee = done(await call.addLeg(wish))
  done(await call.bridge(caller, callee))
  done(await callee.accept(await other.answer(done(await callee.describe()))))
  await one.accept(done(await caller.describe()))
  return { call, caller, callee, told }
}

/** Half a second of the latest that a peer heard, once there is that much since it was asked. */
export const latest = async (peer: Peer): Promise<number[]> => {
  const from = peer.heard.length
  return until(async () => peer.heard.length >= from + 6_000 && peer.heard.slice(-4_000), 60)
}

/** Comes true once half a second of what a peer heard is that tone: what was under way before may come first. */
export const hears = async (peer: Peer, hertz: number): Promise<void> => {
  const from = peer.heard.length
  await until(async () => peer.heard.length >= from + 6_000 && share(peer.heard.slice(-4_000), hertz) > 0.95, 60)
}

const samplesOf = (file: string, channel: 0 | 1): Int16Array => {
  const bytes = readFileSync(file).subarray(44)
  return Int16Array.from({ length: bytes.length / 4 }, (_, i) => bytes.readInt16LE(i * 4 + channel * 2))
}

const repeated = (sequences: readonly number[]) => sequences.length - new Set(sequences).size

/** Every engine passes this. */
export const mediaSuite = (start: () => Promise<MediaEngine>): void => {
  describe('every engine', { concurrency: true }, () => suite(start))
}

const suite = (start: () => Promise<MediaEngine>): void => {
  const peers: Peer[] = []
  const kept = async <P extends Peer>(making: Promise<P>): Promise<P> => {
    const peer = await making
    peers.push(peer)
    return peer
  }
  const starting = start()
  after(async () => {
    await Promise.all(peers.map((peer) => peer.close()))
    await (await starting).close()
  })

  test('two telephones hear each other’s tone, no packet twice, and their keys arrive once each', async () => {
    const engine = await starting
    const [one, other] = [await kept(makeTelephone()), await kept(makeTelephone())]
    const { call, told, callee } = await connect(engine, [one, 'rtp'], [other, 'rtp'])
    one.say(1_000)
    other.say(620)
    await Promise.all([hears(one, 620), hears(other, 1_000)])
    await until(async () => told.connected.length === 2)
    one.say(null)
    await one.press('12#')
    await until(async () => other.digits.length >= 3 && told.digits.length >= 3)
    assert.equal(other.digits, '12#')
    assert.deepEqual(told.digits, ['caller 1', 'caller 2', 'caller #'])
    assert.equal(repeated(one.sequences) + repeated(other.sequences), 0)
    const stats = done(await call.stats())
    for (const leg of stats) {
      assert.equal(leg.codec, 'pcmu')
      assert.ok(leg.received.packets > 30 && leg.sent.packets > 30 && leg.lastMediaAt !== null, JSON.stringify(leg))
      assert.ok(!leg.received.lost, JSON.stringify(leg))
    }
    assert.deepEqual(stats.find(({ leg }) => leg === callee.id)?.remote, `127.0.0.1:${other.port}`)
    await call.close()
    await call.close()
    assert.equal((await call.stats()).outcome, 'refused')
  })

  test('a browser and a telephone hear each other, whoever calls', async () => {
    const engine = await starting
    for (const direction of ['out', 'in']) {
      const [browser, telephone] = [await kept(makeSoftphone()), await kept(makeTelephone())]
      const { call, told } =
        direction === 'out'
          ? await connect(engine, [browser, 'webrtc'], [telephone, 'rtp'])
          : await connect(engine, [telephone, 'rtp'], [browser, 'webrtc'])
      browser.say(1_000)
      telephone.say(620)
      await Promise.all([hears(browser, 620), hears(telephone, 1_000)])
      await until(async () => told.connected.length === 2)
      assert.deepEqual(told.connected.toSorted(), ['callee', 'caller'])
      assert.equal(repeated(browser.sequences) + repeated(telephone.sequences), 0)
      await call.close()
    }
  })

  test('Opus goes from browser to browser as it is', async () => {
    const engine = await starting
    const [one, other] = [await kept(makeSoftphone('opus')), await kept(makeSoftphone('opus'))]
    const codecs: readonly MediaCodec[] = ['opus', 'pcmu']
    const { call } = await connect(engine, [one, 'webrtc', codecs], [other, 'webrtc', codecs])
    one.say(1_000)
    other.say(620)
    await until(async () => one.received > 20 && other.received > 20)
    assert.deepEqual(new Set(done(await call.stats()).map(({ codec }) => codec)), new Set(['opus']))
    await call.close()
  })

  test('a call is held and taken back, without a packet twice', async () => {
    const engine = await starting
    const [browser, telephone] = [await kept(makeSoftphone()), await kept(makeTelephone())]
    const { call, caller } = await connect(engine, [browser, 'webrtc'], [telephone, 'rtp'])
    browser.say(1_000)
    telephone.say(620)
    await Promise.all([hears(browser, 620), hears(telephone, 1_000)])
    browser.direct('sendonly')
    browser.say(null)
    const answer = done(await caller.renegotiate(await browser.offer()))
    assert.match(answer, /a=recvonly/)
    await browser.accept(answer)
    // What was under way arrives first; then nothing does, though the telephone speaks.
    await until(async () => {
      const [heard, spoken] = [browser.received, telephone.sent]
      await until(async () => telephone.sent > spoken + 25)
      return browser.received === heard
    })
    browser.direct('sendrecv')
    browser.say(1_000)
    await browser.accept(done(await caller.renegotiate(await browser.offer())))
    await Promise.all([hears(browser, 620), hears(telephone, 1_000)])
    assert.equal(repeated(browser.sequences) + repeated(telephone.sequences), 0)
    await call.close()
  })

  test('a recording has the one side left and the other one right', async () => {
    const engine = await starting
    const [browser, telephone] = [await kept(makeSoftphone()), await kept(makeTelephone())]
    const { call, caller, callee } = await connect(engine, [browser, 'webrtc'], [telephone, 'rtp'])
    browser.say(1_000)
    telephone.say(620)
    await hears(telephone, 1_000)
    const path = join(temporaryFolder(), 'call.wav')
    const asked = performance.now()
    done(await call.startRecording(path, caller, callee))
    const began = performance.now()
    assert.equal((await call.startRecording(`${path}2`, caller, callee)).outcome, 'refused')
    const from = telephone.sent
    await until(async () => telephone.sent > from + 100)
    const least = (performance.now() - began) / 1_000 - 0.5
    const recording = done(await call.stopRecording())
    const most = (performance.now() - asked) / 1_000 + 0.5
    assert.ok(recording.seconds > least && recording.seconds < most, `${recording.seconds} s, ${least} to ${most}`)
    for (const [channel, own, others] of [[0, 1_000, 620] as const, [1, 620, 1_000] as const]) {
      const samples = samplesOf(path, channel)
      assert.ok(clearest(samples, own) > 0.95, `${own} Hz: ${clearest(samples, own)}`)
      assert.ok(share(samples, others) < 0.05, `${others} Hz: ${share(samples, others)}`)
    }
    assert.deepEqual(await repair(path), recording)
    await call.close()
  })

  test('a description without a common codec, or that is none, is refused with a reason', async () => {
    const engine = await starting
    const call = done(await engine.openCall(listen().events))
    const offer = (await (await kept(makeTelephone())).offer()).replaceAll('PCMU', 'G729').replace('AVP 0', 'AVP 18')
    const wish = { kind: 'rtp', codecs: g711 } as const
    const deaf = await call.addLeg({ id: 'deaf', offer: offer.replace('rtpmap:0', 'rtpmap:18'), ...wish })
    assert.deepEqual([deaf.outcome, deaf.outcome === 'refused' && deaf.cause], ['refused', 'codec'])
    const named = await (await kept(makeTelephone('pcmu', 'media.carrier.test'))).offer()
    for (const [id, wrong] of [['none', 'hello'] as const, ['named', named] as const]) {
      const none = await call.addLeg({ id, offer: wrong, ...wish })
      assert.deepEqual([none.outcome, none.outcome === 'refused' && none.cause], ['refused', 'description'], id)
    }
    await call.close()
  })
}
