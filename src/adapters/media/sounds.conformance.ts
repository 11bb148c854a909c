import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, describe, test } from 'node:test'
import { samplesOf, silence } from '@trunkline/rtp/g711.ts'
import { makeStreamServer, streamOptions } from '../../../test/media/stream-server.ts'
import { makeTelephone, type Telephone } from '../../../test/media/telephone.ts'
import { until } from '../../../test/platform.ts'
import { temporaryFolder } from '../../../test/servers.ts'
import type { MediaEngine, MediaResult, MediaSound } from '../../ports/media.ts'
import type { MediaStreamEnd } from '../../ports/media-stream.ts'
import { connectPeers, logEvents, unwrap, waitForTone } from './media.conformance.ts'
import { repairWav } from './recording/wav.ts'
import { channelOf, energyShare, maxEnergyShare, monoOf, toneFrames } from './tone-testing.ts'

const octetsOf = (hertz: number, milliseconds: number): Buffer => Buffer.concat(toneFrames(hertz, milliseconds / 20))

const linear = (octets: Buffer): number[] => Array.from(octets, (octet) => samplesOf.pcmu[octet] ?? 0)

const causeOf = (result: MediaResult<unknown>) => (result.outcome === 'refused' ? result.cause : null)

const beep: MediaSound = { tones: [440], onMs: 200, offMs: 0, loop: 0 }

/** Conformance of calls whose legs play sounds and are recorded. */
export const soundSuite = (start: () => Promise<MediaEngine>): void => {
  describe('legs that play sounds and are recorded', { concurrency: true }, () => suite(start))
}

const suite = (start: () => Promise<MediaEngine>): void => {
  const telephones: Telephone[] = []
  const starting = start().then(
    (engine): MediaEngine => ({ ...engine, openCall: (events) => engine.openCall(events, { isProcessed: true }) }),
  )
  after(async () => {
    await Promise.all(telephones.map((one) => one.close()))
    await (await starting).close()
  })
  const phone = async () => {
    const telephone = await makeTelephone()
    telephones.push(telephone)
    return telephone
  }

  /** A telephone alone in a call. */
  const single = async () => {
    const telephone = await phone()
    const { log, events } = logEvents()
    const call = unwrap(await (await starting).openCall(events))
    const options = { id: 'callee', kind: 'rtp', offer: null, codecs: ['pcmu'], source: '127.0.0.1' } as const
    const leg = unwrap(await call.addLeg(options))
    unwrap(await leg.accept(await telephone.answer(unwrap(await leg.describe()))))
    return { call, leg, telephone, log }
  }

  test('sounds are heard one after the other without a gap, to the last packet', async () => {
    const { call, leg, telephone } = await single()
    const path = join(temporaryFolder(), 'sound.ulaw')
    const octets = octetsOf(1_000, 200)
    writeFileSync(path, octets)
    const played = unwrap(
      await leg.play([{ silenceMs: 60 }, { file: path, fromMs: 40, loop: 2 }, { ...beep, onMs: 90, loop: 1 }]),
    )
    assert.deepEqual(played, { how: 'done', ms: 60 + 160 + 200 + 100 })
    await until(async () => telephone.samples.length >= 520 * 8)
    const quiet = samplesOf.pcmu[silence.pcmu] ?? 0
    const expected = [...Array(480).fill(quiet), ...linear(octets.subarray(320)), ...linear(octets)]
    assert.deepEqual(telephone.samples.slice(0, expected.length), expected)
    assert.ok(energyShare(telephone.samples.slice(expected.length, expected.length + 720), 440) > 0.9)
    assert.deepEqual(telephone.samples.slice(expected.length + 720), Array(80).fill(quiet))
    await call.close()
  })

  test('a sound in a loop ends when it is stopped or another begins, and the bridge is heard after it', async () => {
    const [one, other] = [await phone(), await phone()]
    const { call, callee } = await connectPeers(await starting, [one, 'rtp'], [other, 'rtp'])
    one.sendTone(1_000)
    await waitForTone(other, 1_000)
    const first = callee.play([beep])
    await waitForTone(other, 440)
    const second = callee.play([{ ...beep, tones: [620] }])
    assert.equal(unwrap(await first).how, 'stopped')
    await waitForTone(other, 620)
    unwrap(await callee.stopSounds())
    const played = unwrap(await second)
    assert.equal(played.how, 'stopped')
    assert.ok(played.ms >= 500, String(played.ms))
    await waitForTone(other, 1_000)
    assert.equal(other.sequences.length, new Set(other.sequences).size)
    const last = callee.play([beep])
    await waitForTone(other, 440)
    await call.close()
    assert.equal(unwrap(await last).how, 'stopped')
  })

  test('two calls with local legs hear each other, and keys pass: the packets do not leave the machine', async () => {
    const [one, other] = [await single(), await single()]
    const options = { kind: 'rtp', codecs: ['pcmu'], isLocal: true } as const
    const there = unwrap(await one.call.addLeg({ ...options, id: 'there', offer: null }))
    unwrap(await one.call.bridge(one.leg, there))
    const offer = unwrap(await there.describe())
    const here = unwrap(await other.call.addLeg({ ...options, id: 'here', offer }))
    unwrap(await other.call.bridge(other.leg, here))
    const answer = unwrap(await here.describe())
    assert.match(offer + answer, /^c=IN IP4 127\.0\.0\.1\r$/m)
    unwrap(await there.accept(answer))
    one.telephone.sendTone(1_000)
    other.telephone.sendTone(620)
    await Promise.all([waitForTone(one.telephone, 620), waitForTone(other.telephone, 1_000)])
    one.telephone.sendTone(null)
    await one.telephone.press('7')
    await until(async () => other.log.digits.includes('here 7') && other.telephone.digits === '7')
    assert.deepEqual(
      unwrap(await one.call.stats())
        .map(({ leg }) => leg)
        .toSorted(),
      ['callee', 'there'],
    )
    unwrap(await one.call.removeLeg(there))
    await Promise.all([one.call.close(), other.call.close()])
  })

  test('legs that are removed make room for others, and the one that stays is bridged again', async () => {
    const { call, leg, telephone, log } = await single()
    telephone.sendTone(1_000)
    const other = await phone()
    other.sendTone(620)
    const add = async (id: string) =>
      unwrap(await call.addLeg({ id, kind: 'rtp', offer: null, codecs: ['pcmu'], source: '127.0.0.1' }))
    const first = await add('first')
    unwrap(await call.bridge(leg, first))
    unwrap(await first.accept(await other.answer(unwrap(await first.describe()))))
    await Promise.all([waitForTone(telephone, 620), waitForTone(other, 1_000)])
    for (const removed of [first, first]) unwrap(await call.removeLeg(removed))
    assert.equal(causeOf(await first.play([beep])), 'state')
    // More than a call may have at a time.
    for (let index = 0; index < 20; index++) unwrap(await call.removeLeg(await add(`next-${index}`)))
    void leg.play([{ ...beep, tones: [440] }])
    await waitForTone(telephone, 440)
    const last = await add('last')
    unwrap(await call.bridge(leg, last))
    unwrap(await last.accept(await other.answer(unwrap(await last.describe()))))
    unwrap(await leg.stopSounds())
    await Promise.all([waitForTone(telephone, 620), waitForTone(other, 1_000)])
    assert.deepEqual(
      unwrap(await call.stats())
        .map(({ leg }) => leg)
        .toSorted(),
      ['callee', 'last'],
    )
    assert.deepEqual(log.failures, [])
    await call.close()
  })

  test('after unbridge each leg is alone: no leg hears the other, their taps hear them, and a bridge joins them again', async () => {
    const [one, other] = [await phone(), await phone()]
    const { call, caller, callee } = await connectPeers(await starting, [one, 'rtp'], [other, 'rtp'])
    one.sendTone(1_000)
    other.sendTone(620)
    await Promise.all([waitForTone(one, 620), waitForTone(other, 1_000)])
    for (const leg of [callee, callee]) unwrap(await call.unbridge(leg))
    await until(async () => {
      const [heard, spoken] = [one.received + other.received, one.sent]
      await until(async () => one.sent > spoken + 25)
      return one.received + other.received === heard
    })
    const said: number[] = []
    const end = unwrap(await caller.listen('said', (frame) => said.push(...linear(Buffer.from(frame)))))
    // Each leg has its own source.
    void caller.play([beep])
    await waitForTone(one, 440)
    // A telephone of a busy machine leaves gaps.
    await until(async () => said.length > 4_000 && energyShare(said.slice(-4_000), 1_000) > 0.95)
    const quiet = other.received
    unwrap(await caller.stopSounds())
    assert.equal(other.received, quiet)
    await end()
    unwrap(await call.bridge(caller, callee))
    await Promise.all([waitForTone(one, 620), waitForTone(other, 1_000)])
    assert.equal(one.sequences.length, new Set(one.sequences).size)
    await call.close()
  })

  test('sounds of several legs take their time: a packet each 20 ms', async () => {
    const parties = await Promise.all([single(), single(), single()])
    const [first] = parties
    assert.ok(first)
    // Its own packets are the clock.
    first.telephone.sendTone(620)
    await until(async () => first.telephone.sent > 5)
    const from = first.telephone.sent
    const played = await Promise.all(parties.map(({ leg }) => leg.play([{ ...beep, onMs: 1_000, loop: 1 }])))
    const passed = first.telephone.sent - from
    for (const one of played) assert.deepEqual(unwrap(one), { how: 'done', ms: 1_000 })
    assert.ok(passed > 40 && passed < 90, `${passed} packets`)
    await Promise.all(parties.map(({ call }) => call.close()))
  })

  test('keys are sent in the middle of a sound, which goes on after them', async () => {
    const { call, leg, telephone } = await single()
    const octets = octetsOf(1_000, 400)
    const path = join(temporaryFolder(), 'sound.ulaw')
    writeFileSync(path, octets)
    const playing = leg.play([{ file: path, fromMs: 0, loop: 1 }])
    await until(async () => telephone.received > 3)
    unwrap(await leg.sendKeys('5#'))
    assert.deepEqual(unwrap(await playing), { how: 'done', ms: 400 })
    await until(async () => telephone.samples.length >= octets.length && telephone.digits === '5#')
    assert.deepEqual(telephone.samples, linear(octets))
    await call.close()
  })

  test('a feed is heard in order, can be cleared, and ends', async () => {
    const { call, leg, telephone } = await single()
    const feed = unwrap(await leg.openFeed('speech'))
    assert.equal(causeOf(await leg.openFeed('speech')), 'state')
    const octets = octetsOf(1_000, 300)
    // Chunks of any length: 1, 2, 3 octets and so on.
    for (let from = 0, length = 1; from < octets.length; from += length++)
      unwrap(await feed.push(octets.subarray(from, from + length)))
    const playing = leg.play([{ feed: 'speech' }])
    await until(async () => telephone.samples.length > octets.length)
    assert.deepEqual(telephone.samples.slice(0, octets.length), linear(octets))
    unwrap(await feed.push(octetsOf(620, 20_000)))
    await waitForTone(telephone, 620)
    const dropped = unwrap(await feed.clear())
    assert.ok(dropped > 0 && dropped < 19_600, String(dropped))
    assert.equal(unwrap(await feed.clear()), 0)
    assert.equal(causeOf(await feed.push(Buffer.alloc(2_400_001))), 'full')
    // Asked together: once it was played to its end, a feed is gone.
    const [last, end, late] = await Promise.all([
      feed.push(octetsOf(440, 600)),
      feed.end(),
      feed.push(octetsOf(440, 20)),
    ])
    unwrap(last)
    unwrap(end)
    assert.equal(causeOf(late), 'full')
    assert.equal(unwrap(await playing).how, 'done')
    await until(async () => energyShare(telephone.samples.slice(-4_000), 440) > 0.95)
    assert.equal(causeOf(await feed.end()), 'state')
    await call.close()
  })

  test('a recording has what a telephone says left and what it hears right, beside one of the call', async () => {
    const [one, other] = [await phone(), await phone()]
    const { call, caller, callee } = await connectPeers(await starting, [one, 'rtp'], [other, 'rtp'])
    one.sendTone(1_000)
    other.sendTone(620)
    await Promise.all([waitForTone(one, 620), waitForTone(other, 1_000)])
    const folder = temporaryFolder()
    const [path, whole, third, single] = ['part.wav', 'call.wav', 'third.wav', 'single.wav'].map((name) =>
      join(folder, name),
    )
    assert.ok(path && whole && third && single)
    unwrap(await call.startRecording(whole, caller, callee))
    const recorder = unwrap(await call.record(path, { leg: callee, of: 'said' }, { leg: callee, of: 'heard' }))
    const alone = unwrap(await call.record(single, { leg: callee, of: 'said' }, null))
    void callee.play([beep])
    await waitForTone(other, 440)
    unwrap(await recorder.pause('skip'))
    unwrap(await callee.stopSounds())
    await waitForTone(other, 1_000)
    unwrap(await recorder.resume())
    void callee.play([beep])
    await waitForTone(other, 440)
    const recording = unwrap(await recorder.stop())
    assert.deepEqual(await repairWav(path), recording)
    assert.equal(causeOf(await recorder.stop()), 'state')
    const ofOne = unwrap(await alone.stop())
    assert.deepEqual([recording.channels, ofOne.channels], [2, 1])
    assert.deepEqual(await repairWav(single), ofOne)
    assert.ok(maxEnergyShare(monoOf(single), 620) > 0.95)
    assert.equal(ofOne.bytes, 44 + ofOne.seconds * 16_000)
    unwrap(await call.stopRecording())
    const [said, heard, caller1, callee1] = [
      channelOf(path, 0),
      channelOf(path, 1),
      channelOf(whole, 0),
      channelOf(whole, 1),
    ]
    for (const [samples, hertz] of [
      [said, 620],
      [heard, 440],
      [caller1, 1_000],
      [callee1, 620],
    ] as const)
      assert.ok(maxEnergyShare(samples, hertz) > 0.95, `${hertz} Hz: ${maxEnergyShare(samples, hertz)}`)
    // The bridge was heard in the pause only, but for the packets at its limits.
    assert.ok(energyShare(heard, 1_000) < 0.1, String(energyShare(heard, 1_000)))
    const running = unwrap(await call.record(third, { leg: caller, of: 'said' }, { leg: caller, of: 'heard' }))
    await call.close()
    assert.equal(causeOf(await running.stop()), 'state')
    assert.ok((await repairWav(third)).seconds >= 0)
  })

  test('a call has sixteen legs, of which any two are bridged, and no other one hears them', async () => {
    const { log, events } = logEvents()
    const call = unwrap(await (await starting).openCall(events))
    const legs = await Promise.all(
      Array.from({ length: 16 }, async (_, i) => {
        const telephone = await phone()
        const options = { id: `leg ${i}`, kind: 'rtp', codecs: ['pcmu'], source: '127.0.0.1' } as const
        const offer = i % 2 === 0 ? null : await telephone.offer()
        const leg = unwrap(await call.addLeg({ ...options, offer }))
        if (offer === null) unwrap(await leg.accept(await telephone.answer(unwrap(await leg.describe()))))
        else await telephone.accept(unwrap(await leg.describe()))
        return { leg, telephone }
      }),
    )
    const options = { id: 'one more', kind: 'rtp', offer: null, codecs: ['pcmu'] } as const
    assert.equal(causeOf(await call.addLeg(options)), 'state')
    const [first, second, last] = [legs[0], legs[1], legs[15]]
    assert.ok(first && second && last)
    first.telephone.sendTone(1_000)
    last.telephone.sendTone(620)
    unwrap(await call.bridge(first.leg, last.leg))
    await Promise.all([waitForTone(first.telephone, 620), waitForTone(last.telephone, 1_000)])
    last.telephone.sendTone(null)
    await last.telephone.press('7')
    await until(async () => log.digits.length > 0)
    assert.deepEqual(log.digits, ['leg 15 7'])
    // A leg leaves its bridge for another one.
    second.telephone.sendTone(620)
    unwrap(await call.bridge(second.leg, first.leg))
    await Promise.all([waitForTone(first.telephone, 620), waitForTone(second.telephone, 1_000)])
    assert.deepEqual(
      legs.slice(2, 15).map(({ telephone }) => telephone.samples.length),
      Array(13).fill(0),
    )
    assert.equal(unwrap(await call.stats()).length, 16)
    await call.close()
  })

  test('speech of a peer is reported when it begins and ends, while it is listened for', async () => {
    const { call, leg, telephone, log } = await single()
    unwrap(await leg.listenForSpeech({ leastMs: 100, silenceMs: 400 }))
    for (const spoken of [1, 2]) {
      telephone.sendTone(620)
      await until(async () => log.speech.length === spoken * 2 - 1)
      telephone.sendTone(null)
      await until(async () => log.speech.length === spoken * 2)
    }
    assert.deepEqual(log.speech, ['callee began', 'callee ended', 'callee began', 'callee ended'])
    unwrap(await leg.listenForSpeech(null))
    const from = telephone.sent
    telephone.sendTone(620)
    await until(async () => telephone.sent > from + 20)
    await call.stats()
    assert.equal(log.speech.length, 4)
    await call.close()
  })

  test('a listener gets what the peer says, and another what it hears, without gaps, until it ends', async () => {
    const { call, leg, telephone } = await single()
    const [said, heard]: [number[], number[]] = [[], []]
    const ends = [
      unwrap(await leg.listen('said', (frame) => said.push(...linear(Buffer.from(frame))))),
      unwrap(await leg.listen('heard', (frame) => heard.push(...linear(Buffer.from(frame))))),
    ]
    telephone.sendTone(620)
    void leg.play([beep])
    const isTone = (samples: number[], hertz: number) =>
      samples.length > 6_000 && energyShare(samples.slice(-4_000), hertz) > 0.95
    await until(async () => isTone(said, 620) && isTone(heard, 440))
    telephone.sendTone(null)
    unwrap(await leg.stopSounds())
    // Silence is given too, while nothing is said.
    await until(async () => said.slice(-4_000).every((sample) => sample === 0))
    await until(async () => heard.slice(-4_000).every((sample) => sample === 0))
    for (const end of ends) await end()
    const counts = [said.length, heard.length]
    const from = telephone.sent
    telephone.sendTone(620)
    await until(async () => telephone.sent > from + 20)
    unwrap(await call.stats())
    assert.deepEqual([said.length, heard.length], counts)
    // Those that ended leave room for four others.
    for (let index = 0; index < 4; index++) unwrap(await leg.listen('said', () => {}))
    assert.equal(causeOf(await leg.listen('heard', () => {})), 'full')
    await call.close()
  })

  test('a telephone hears what a WebSocket server makes of its audio, until the call ends', async () => {
    const server = await makeStreamServer(true)
    const { call, leg, telephone } = await single()
    const ended = Promise.withResolvers<MediaStreamEnd>()
    const options = streamOptions(server.url, { format: 'audio/l16;rate=16000' })
    const stream = unwrap(await leg.openStream(options, { ended: ended.resolve }))
    telephone.sendTone(1_000)
    await waitForTone(telephone, 1_000)
    telephone.sendTone(null)
    unwrap(await stream.sendKey('7'))
    const [served] = server.streams
    assert.ok(served)
    served.mark('end')
    await until(async () => served.marks.length > 0 && served.frames.some(({ dtmf }) => dtmf?.digit === '7'))
    await call.close()
    const { reason, code, framesDropped } = await ended.promise
    assert.deepEqual([reason, code, framesDropped], ['call_ended', 1000, 0])
    await until(async () => served.closed !== null)
    assert.deepEqual([served.closed, served.frames.at(-1)?.event], [1000, 'stop'])
    await server.close()
  })

  test('a call is held while a sound is played, which is not heard then', async () => {
    const { call, leg, telephone } = await single()
    void leg.play([beep])
    await waitForTone(telephone, 440)
    unwrap(await leg.renegotiate((await telephone.offer()).replace('a=sendrecv', 'a=inactive')))
    telephone.sendTone(620)
    await until(async () => {
      const [heard, spoken] = [telephone.received, telephone.sent]
      await until(async () => telephone.sent > spoken + 25)
      return telephone.received === heard
    })
    unwrap(await leg.renegotiate(await telephone.offer()))
    await waitForTone(telephone, 440)
    for (const direction of ['sendonly', 'sendrecv'] as const) {
      unwrap(await leg.accept(await telephone.answer(unwrap(await leg.reoffer(direction)))))
      await waitForTone(telephone, 440)
    }
    await call.close()
  })

  test('sounds that cannot be played are refused with a reason', async () => {
    const { call, leg } = await single()
    for (const sound of [
      { file: '/nothing', fromMs: 0, loop: 1 },
      { tones: [440], onMs: 0, offMs: 100, loop: 0 },
      { tones: [5_000], onMs: 100, offMs: 100, loop: 1 },
      { silenceMs: -1 },
      { feed: 'speech' },
    ] satisfies MediaSound[])
      assert.equal(causeOf(await leg.play([sound])), 'description', JSON.stringify(sound))
    const other = unwrap(await call.addLeg({ id: 'other', kind: 'rtp', offer: null, codecs: ['pcmu'] }))
    assert.equal(causeOf(await other.play([beep])), 'state')
    await call.close()
  })
}
