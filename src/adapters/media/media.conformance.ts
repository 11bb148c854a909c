import assert from 'node:assert/strict'
import { join } from 'node:path'
import { after, describe, test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { readRtp, writeRtp } from '@trunkline/rtp/rtp.ts'
import { readAudio } from '@trunkline/rtp/sdp.ts'
import type { Peer } from '../../../test/media/peer.ts'
import { makeSoftphone } from '../../../test/media/softphone.ts'
import { makeSecurePeer } from '../../../test/media/srtp-relay.ts'
import { makeTelephone, withDescription } from '../../../test/media/telephone.ts'
import { until } from '../../../test/platform.ts'
import { temporaryFolder } from '../../../test/servers.ts'
import type {
  MediaCall,
  MediaCodec,
  MediaEngine,
  MediaEvents,
  MediaLeg,
  MediaResult,
  MediaSrtp,
} from '../../ports/media.ts'
import { dtmfTonePackets } from './embedded/dtmf-tones.ts'
import { repairWav } from './recording/wav.ts'
import { channelOf, energyShare, maxEnergyShare } from './tone-testing.ts'

const g711: readonly MediaCodec[] = ['pcmu', 'pcma']

/** Returns the value of a successful result. @throws Error for a refusal */
export const unwrap = <T>(answer: MediaResult<T>): T => {
  if (answer.outcome === 'refused') throw new Error(`${answer.cause}: ${answer.reason}`)
  return answer.value
}

/** Events of a call. */
export type MediaEventLog = {
  connected: string[]
  digits: string[]
  speech: string[]
  silences: string[]
  failures: string[]
  dropped: string[]
}

export const logEvents = (): { log: MediaEventLog; events: MediaEvents } => {
  const log: MediaEventLog = { connected: [], digits: [], speech: [], silences: [], failures: [], dropped: [] }
  const events: MediaEvents = {
    connected: (leg) => log.connected.push(leg),
    dtmf: (leg, digit) => log.digits.push(`${leg} ${digit}`),
    speech: (leg, change) => log.speech.push(`${leg} ${change}`),
    silence: (leg) => log.silences.push(leg),
    dropped: (leg, from) => log.dropped.push(`${leg} ${from}`),
    failed: (leg, reason) => log.failures.push(`${leg}: ${reason}`),
  }
  return { log, events }
}

type PeerSetup = readonly [Peer, 'webrtc' | 'rtp', (readonly MediaCodec[])?, MediaSrtp?]

/** Two peers connected through the engine: the first calls, the second answers. */
export type ConnectedPeers = { call: MediaCall; caller: MediaLeg; callee: MediaLeg; log: MediaEventLog }

export const connectPeers = async (
  engine: MediaEngine,
  [one, kind, codecs = g711, srtp = 'never']: PeerSetup,
  [other, otherKind, otherCodecs = g711, otherSrtp = 'never']: PeerSetup,
): Promise<ConnectedPeers> => {
  const { log, events } = logEvents()
  const call = unwrap(await engine.openCall(events))
  const caller = unwrap(
    await call.addLeg({ id: 'caller', kind, offer: await one.offer(), codecs, source: '127.0.0.1', srtp }),
  )
  const legOptions = {
    id: 'callee',
    kind: otherKind,
    offer: null,
    codecs: otherCodecs,
    source: '127.0.0.1',
    srtp: otherSrtp,
  }
  const callee = unwrap(await call.addLeg(legOptions))
  unwrap(await call.bridge(caller, callee))
  unwrap(await callee.accept(await other.answer(unwrap(await callee.describe()))))
  await one.accept(unwrap(await caller.describe()))
  return { call, caller, callee, log }
}

/** Returns half a second of the newest audio of a peer, received after the start of this call. */
export const latestAudio = async (peer: Peer): Promise<number[]> => {
  const from = peer.samples.length
  return until(async () => peer.samples.length >= from + 6_000 && peer.samples.slice(-4_000), 60)
}

/** Resolves once half a second of the newest audio of a peer is this tone. Earlier audio may come first. */
export const waitForTone = async (peer: Peer, hertz: number): Promise<void> => {
  const from = peer.samples.length
  await until(
    async () => peer.samples.length >= from + 6_000 && energyShare(peer.samples.slice(-4_000), hertz) > 0.95,
    60,
  )
}

/** Returns the profile of a description's audio, and its number of keys. */
const profileOf = (text: string): [string, number] => {
  const audio = readAudio(text)
  return typeof audio === 'string' ? [audio, 0] : [audio.protocol, text.match(/^a=crypto:/gm)?.length ?? 0]
}

const allKeys = '123A456B789C*0#D'

const repeated = (sequences: readonly number[]) => sequences.length - new Set(sequences).size

/** Conformance suite that every media engine must pass. */
export const mediaSuite = (start: () => Promise<MediaEngine>): void => {
  describe('every engine', { concurrency: true }, () => suite(start))
}

const suite = (start: () => Promise<MediaEngine>): void => {
  const peers: Peer[] = []
  const track = async <P extends Peer>(making: Promise<P>): Promise<P> => {
    const peer = await making
    peers.push(peer)
    return peer
  }
  const starting = start()
  after(async () => {
    await Promise.all(peers.map((peer) => peer.close()))
    await (await starting).close()
  })

  test('two telephones hear each other without duplicate packets, and each key arrives once', async () => {
    const engine = await starting
    const [one, other] = [await track(makeTelephone()), await track(makeTelephone())]
    const { call, log, callee } = await connectPeers(engine, [one, 'rtp'], [other, 'rtp'])
    one.sendTone(1_000)
    other.sendTone(620)
    await Promise.all([waitForTone(one, 620), waitForTone(other, 1_000)])
    await until(async () => log.connected.length === 2)
    one.sendTone(null)
    await one.press('12#')
    await until(async () => other.digits.length >= 3 && log.digits.length >= 3)
    assert.equal(other.digits, '12#')
    assert.deepEqual(log.digits, ['caller 1', 'caller 2', 'caller #'])
    assert.equal(repeated(one.sequences) + repeated(other.sequences), 0)
    const stats = unwrap(await call.stats())
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

  test('a telephone alone in a call hears a tone until it ends, and its keys arrive', async () => {
    const engine = await starting
    const telephone = await track(makeTelephone())
    const { log, events } = logEvents()
    const call = unwrap(await engine.openCall(events))
    const leg = unwrap(await call.addLeg({ id: 'callee', kind: 'rtp', offer: null, codecs: g711, source: '127.0.0.1' }))
    unwrap(await leg.accept(await telephone.answer(unwrap(await leg.describe()))))
    telephone.sendTone(620)
    unwrap(await leg.playTone(440))
    await waitForTone(telephone, 440)
    unwrap(await leg.playTone(null))
    const quiet = telephone.samples.length
    telephone.sendTone(null)
    await telephone.press('12#')
    await until(async () => log.digits.length >= 3)
    assert.deepEqual(log.digits, ['callee 1', 'callee 2', 'callee #'])
    assert.ok(telephone.samples.length - quiet < 8_000, 'the tone has ended')
    unwrap(await leg.playTone(440))
    await waitForTone(telephone, 440)
    await call.close()
  })

  test('a peer gets packets as long as its ptime and maxptime say, as caller and as callee', async () => {
    const engine = await starting
    for (const [line, frames] of [
      ['a=ptime:30', 240],
      ['a=maxptime:10', 80],
    ] as const)
      for (const isCaller of [true, false]) {
        const near = await track(makeTelephone())
        const telephone = await track(makeTelephone())
        const far = withDescription(telephone, { adds: [line] })
        const { call } = await (isCaller
          ? connectPeers(engine, [far, 'rtp'], [near, 'rtp'])
          : connectPeers(engine, [near, 'rtp'], [far, 'rtp']))
        near.sendTone(1_000)
        far.sendTone(620)
        await Promise.all([waitForTone(far, 1_000), waitForTone(near, 620)])
        const lengths = far.packets.flatMap((packet) => readRtp(packet)?.payload.length ?? [])
        assert.ok(lengths.every((length) => length <= frames))
        assert.ok(lengths.filter((length) => length === frames).length > lengths.length * 0.9, lengths.join(' '))
        assert.equal(repeated(far.sequences), 0)
        await call.close()
      }
  })

  test('tones of a telephone without telephone events, alone in a call, are its keys, once each', async () => {
    const engine = await starting
    const telephone = await track(makeTelephone())
    const { log, events } = logEvents()
    const call = unwrap(await engine.openCall(events))
    const leg = unwrap(await call.addLeg({ id: 'callee', kind: 'rtp', offer: null, codecs: g711, source: '127.0.0.1' }))
    const answer = await withDescription(telephone, { omits: /telephone-event|^a=fmtp/ }).answer(
      unwrap(await leg.describe()),
    )
    unwrap(await leg.accept(answer))
    unwrap(await leg.listenForKeys())
    unwrap(await leg.playTone(440))
    await waitForTone(telephone, 440)
    unwrap(await leg.playTone(null))
    let sequence = 0
    for (const { timestamp, marker, payload, delayMs } of dtmfTonePackets(allKeys, 'pcmu')) {
      await pause(delayMs)
      const packet = { payloadType: 0, ssrc: 7, sequence: sequence++, timestamp, marker, payload }
      await telephone.sendPacket(writeRtp(packet))
    }
    await until(async () => log.digits.length >= allKeys.length)
    assert.equal(log.digits.map((one) => one.replace('callee ', '')).join(''), allKeys)
    await call.close()
  })

  test('a browser and a telephone hear each other in both call directions', async () => {
    const engine = await starting
    for (const direction of ['out', 'in']) {
      const [browser, telephone] = [await track(makeSoftphone()), await track(makeTelephone())]
      const { call, log } =
        direction === 'out'
          ? await connectPeers(engine, [browser, 'webrtc'], [telephone, 'rtp'])
          : await connectPeers(engine, [telephone, 'rtp'], [browser, 'webrtc'])
      browser.sendTone(1_000)
      telephone.sendTone(620)
      await Promise.all([waitForTone(browser, 620), waitForTone(telephone, 1_000)])
      await until(async () => log.connected.length === 2)
      assert.deepEqual(log.connected.toSorted(), ['callee', 'caller'])
      assert.equal(repeated(browser.sequences) + repeated(telephone.sequences), 0)
      await call.close()
    }
  })

  test('Opus is forwarded from browser to browser unchanged', async () => {
    const engine = await starting
    const [one, other] = [await track(makeSoftphone('opus')), await track(makeSoftphone('opus'))]
    const codecs: readonly MediaCodec[] = ['opus', 'pcmu']
    const { call } = await connectPeers(engine, [one, 'webrtc', codecs], [other, 'webrtc', codecs])
    one.sendTone(1_000)
    other.sendTone(620)
    await until(async () => one.received > 20 && other.received > 20)
    assert.deepEqual(new Set(unwrap(await call.stats()).map(({ codec }) => codec)), new Set(['opus']))
    await call.close()
  })

  test('a call is held and resumed without duplicate packets', async () => {
    const engine = await starting
    const [browser, telephone] = [await track(makeSoftphone()), await track(makeTelephone())]
    const { call, caller } = await connectPeers(engine, [browser, 'webrtc'], [telephone, 'rtp'])
    browser.sendTone(1_000)
    telephone.sendTone(620)
    await Promise.all([waitForTone(browser, 620), waitForTone(telephone, 1_000)])
    browser.direct('sendonly')
    browser.sendTone(null)
    const answer = unwrap(await caller.renegotiate(await browser.offer()))
    assert.match(answer, /a=recvonly/)
    await browser.accept(answer)
    // Packets in transit arrive first; then none do, though the telephone sends.
    await until(async () => {
      const [heard, spoken] = [browser.received, telephone.sent]
      await until(async () => telephone.sent > spoken + 25)
      return browser.received === heard
    })
    browser.direct('sendrecv')
    browser.sendTone(1_000)
    await browser.accept(unwrap(await caller.renegotiate(await browser.offer())))
    await Promise.all([waitForTone(browser, 620), waitForTone(telephone, 1_000)])
    assert.equal(repeated(browser.sequences) + repeated(telephone.sequences), 0)
    await call.close()
  })

  test('after unbridge neither side hears the other, and a bridge connects both again', async () => {
    const engine = await starting
    const [one, other] = [await track(makeTelephone()), await track(makeTelephone())]
    const { call, caller, callee } = await connectPeers(engine, [one, 'rtp'], [other, 'rtp'])
    one.sendTone(1_000)
    other.sendTone(620)
    await Promise.all([waitForTone(one, 620), waitForTone(other, 1_000)])
    for (const leg of [caller, caller]) unwrap(await call.unbridge(leg))
    await until(async () => {
      const [heard, spoken] = [one.received + other.received, one.sent]
      await until(async () => one.sent > spoken + 25)
      return one.received + other.received === heard
    })
    unwrap(await call.bridge(callee, caller))
    await Promise.all([waitForTone(one, 620), waitForTone(other, 1_000)])
    assert.equal(repeated(one.sequences) + repeated(other.sequences), 0)
    await call.close()
  })

  test('a recording has one side left and the other side right', async () => {
    const engine = await starting
    const [browser, telephone] = [await track(makeSoftphone()), await track(makeTelephone())]
    const { call, caller, callee } = await connectPeers(engine, [browser, 'webrtc'], [telephone, 'rtp'])
    browser.sendTone(1_000)
    telephone.sendTone(620)
    await waitForTone(telephone, 1_000)
    const path = join(temporaryFolder(), 'call.wav')
    const startedAt = performance.now()
    unwrap(await call.startRecording(path, caller, callee))
    const began = performance.now()
    assert.equal((await call.startRecording(`${path}2`, caller, callee)).outcome, 'refused')
    const from = telephone.sent
    await until(async () => telephone.sent > from + 100)
    const least = (performance.now() - began) / 1_000 - 0.5
    const recording = unwrap(await call.stopRecording())
    const most = (performance.now() - startedAt) / 1_000 + 0.5
    assert.ok(recording.seconds > least && recording.seconds < most, `${recording.seconds} s, ${least} to ${most}`)
    for (const [channel, own, others] of [[0, 1_000, 620] as const, [1, 620, 1_000] as const]) {
      const samples = channelOf(path, channel)
      assert.ok(maxEnergyShare(samples, own) > 0.95, `${own} Hz: ${maxEnergyShare(samples, own)}`)
      assert.ok(energyShare(samples, others) < 0.05, `${others} Hz: ${energyShare(samples, others)}`)
    }
    assert.deepEqual(await repairWav(path), recording)
    await call.close()
  })

  test('a description without a common codec, or an invalid one, is refused with a reason', async () => {
    const engine = await starting
    const call = unwrap(await engine.openCall(logEvents().events))
    const offer = (await (await track(makeTelephone())).offer()).replaceAll('PCMU', 'G729').replace('AVP 0', 'AVP 18')
    const legOptions = { kind: 'rtp', codecs: g711 } as const
    const deaf = await call.addLeg({ id: 'deaf', offer: offer.replace('rtpmap:0', 'rtpmap:18'), ...legOptions })
    assert.deepEqual([deaf.outcome, deaf.outcome === 'refused' && deaf.cause], ['refused', 'codec'])
    const named = await (await track(makeTelephone('pcmu', 'media.carrier.test'))).offer()
    for (const [id, wrong] of [['none', 'hello'] as const, ['named', named] as const]) {
      const none = await call.addLeg({ id, offer: wrong, ...legOptions })
      assert.deepEqual([none.outcome, none.outcome === 'refused' && none.cause], ['refused', 'description'], id)
    }
    await call.close()
  })

  /** Connects the remote side of a trunk, as caller or callee, with another peer. */
  const viaTrunk = async (
    direction: 'in' | 'out',
    srtp: MediaSrtp,
    far: Peer,
    nearKind: 'webrtc' | 'rtp' = 'webrtc',
  ) => {
    const near = await track<Peer>(nearKind === 'webrtc' ? makeSoftphone() : makeTelephone())
    const talk =
      direction === 'in'
        ? await connectPeers(await starting, [far, 'rtp', g711, srtp], [near, nearKind])
        : await connectPeers(await starting, [near, nearKind], [far, 'rtp', g711, srtp])
    const trunk = direction === 'in' ? talk.caller : talk.callee
    near.sendTone(1_000)
    far.sendTone(620)
    const both = () => Promise.all([waitForTone(near, 620), waitForTone(far, 1_000)])
    return { ...talk, near, trunk, both }
  }

  for (const [srtp, form, profile, isEncrypted, near] of [
    ['never', 'optional', 'RTP/AVP', false, 'webrtc'],
    ['never', 'both', 'RTP/AVP', false, 'webrtc'],
    ['offer', 'plain', 'RTP/AVP', false, 'webrtc'],
    ['offer', 'optional', 'RTP/AVP', true, 'webrtc'],
    ['offer', 'secure', 'RTP/SAVP', true, 'webrtc'],
    ['offer', 'both', 'RTP/SAVP', true, 'webrtc'],
    ['require', 'optional', 'RTP/AVP', true, 'rtp'],
    ['require', 'secure', 'RTP/SAVP', true, 'rtp'],
  ] as const)
    test(`a trunk with srtp ${srtp} answers an offer of ${form} audio with ${profile}, encrypted: ${isEncrypted}`, async () => {
      const far = await track(makeSecurePeer(form))
      const { call, trunk, both } = await viaTrunk('in', srtp, far, near)
      const check = () => {
        assert.deepEqual(profileOf(far.theirs), [profile, isEncrypted ? 1 : 0])
        assert.equal(far.theirs.match(/^m=/gm)?.length, form === 'both' ? 2 : 1)
        assert.equal(far.isEncrypted, isEncrypted)
        assert.equal(far.wrong, 0)
        assert.doesNotMatch(far.theirs, /a=fingerprint/)
      }
      await both()
      check()
      // A new offer of the carrier, then hold and resume by us, with the same keys.
      await far.accept(unwrap(await trunk.renegotiate(await far.offer())))
      check()
      for (const direction of ['sendonly', 'sendrecv'] as const)
        unwrap(await trunk.accept(await far.answer(unwrap(await trunk.reoffer(direction)))))
      await both()
      check()
      await call.close()
    })

  for (const [srtp, mayEncrypt, profile, isEncrypted] of [
    ['never', true, 'RTP/AVP', false],
    ['offer', true, 'RTP/AVP', true],
    ['offer', false, 'RTP/AVP', false],
    ['require', true, 'RTP/SAVP', true],
  ] as const)
    test(`a trunk with srtp ${srtp} offers ${profile} to a peer ${mayEncrypt ? 'with' : 'without'} SRTP, encrypted: ${isEncrypted}`, async () => {
      const far = await track(makeSecurePeer('optional', mayEncrypt))
      const { call, trunk, both } = await viaTrunk('out', srtp, far)
      assert.deepEqual(profileOf(far.theirs), [profile, srtp === 'never' ? 0 : 1])
      assert.doesNotMatch(far.theirs, /a=fingerprint/)
      assert.equal(far.isEncrypted, isEncrypted)
      await both()
      for (const direction of ['sendonly', 'sendrecv'] as const)
        unwrap(await trunk.accept(await far.answer(unwrap(await trunk.reoffer(direction)))))
      await both()
      assert.deepEqual(profileOf(far.theirs), [profile, isEncrypted ? 1 : 0])
      assert.equal(far.wrong, 0)
      await call.close()
    })

  test('an offer that the srtp setting of a trunk forbids is refused with cause description', async () => {
    const call = unwrap(await (await starting).openCall(logEvents().events))
    const [plain, secure] = [await track(makeSecurePeer('plain')), await track(makeSecurePeer('secure'))]
    const keyed = await secure.offer()
    for (const [srtp, offer] of [
      ['never', keyed],
      ['require', await plain.offer()],
      ['offer', keyed.replace(/^a=crypto:6 .*\r\n/m, '')],
      ['require', keyed.replace('RTP/SAVP', 'RTP/AVP').replace(/^a=crypto:6 .*\r\n/m, '')],
      ['offer', keyed.replace('RTP/SAVP', 'UDP/TLS/RTP/SAVPF')],
      ['require', keyed.replace(/inline:\S{3}/g, 'inline:___')],
    ] as const) {
      const leg = await call.addLeg({ id: 'trunk', kind: 'rtp', codecs: g711, offer, srtp })
      assert.equal(leg.outcome === 'refused' && leg.cause, 'description', `${srtp}: ${offer}`)
    }
    await call.close()
  })

  test('an answer or a new offer without a key is refused by a trunk that requires SRTP', async () => {
    const far = await track(makeSecurePeer('secure'))
    const { call, trunk, both } = await viaTrunk('out', 'require', far)
    await both()
    const plain = await (await track(makeSecurePeer('plain'))).offer()
    for (const text of [plain, plain.replace('RTP/AVP', 'RTP/SAVP')]) {
      const answers = [await trunk.accept(text), await trunk.renegotiate(text)]
      for (const taken of answers) assert.equal(taken.outcome === 'refused' && taken.cause, 'description')
    }
    await both()
    await call.close()
  })

  test('packets not signed by the described key are dropped', async () => {
    const real = await track(makeSecurePeer('secure'))
    const offer = async () => (await real.offer()).replaceAll(/inline:[^|]+/g, `inline:${'B'.repeat(40)}`)
    const { call, near, log } = await viaTrunk('in', 'require', { ...real, offer })
    const from = real.sent
    await until(async () => real.sent > from + 100)
    assert.deepEqual([near.received, log.connected], [0, ['callee']])
    const stats = unwrap(await call.stats()).find(({ leg }) => leg === 'caller')
    assert.equal(stats?.received.packets, 0)
    // Null from an engine that does not count dropped packets.
    assert.ok(stats.dropped === null || stats.dropped > 50)
    await call.close()
  })
}
