import assert from 'node:assert/strict'
import { once } from 'node:events'
import { describe, test } from 'node:test'
import type { Worker } from 'node:worker_threads'
import { samplesOf } from '@trunkline/rtp/g711.ts'
import { writeRtp } from '@trunkline/rtp/rtp.ts'
import { streamOptions } from '../../../../test/media/stream-server.ts'
import type { Telephone } from '../../../../test/media/telephone.ts'
import { until } from '../../../../test/platform.ts'
import type { MediaStreamOptions } from '../../../ports/media-stream.ts'
import { unwrap, waitForTone } from '../media.conformance.ts'
import { energyShare, toneFrames } from '../tone-testing.ts'
import { makeStreamWorld } from './stream-testing.ts'

/** Worker threads in their start order, as Node reports them. */
const threads: Worker[] = []
process.on('worker', (worker) => threads.push(worker))

const { start, single, serve, openStream, connected } = await makeStreamWorld()

const octetsOf = (hertz: number, milliseconds: number): Buffer => Buffer.concat(toneFrames(hertz, milliseconds / 20))
const linear = (octets: Buffer): number[] => Array.from(octets, (octet) => samplesOf.pcmu[octet] ?? 0)

/** Whether the newest half second of a telephone is silence. */
const isSilent = ({ samples }: Telephone): boolean =>
  samples.length > 4_000 && samples.slice(-4_000).every((sample) => sample === 0)

describe('streams of a leg', { concurrency: true }, () => {
  test('a telephone hears its own tone from a server that sends its audio back, and every frame has its fields', async () => {
    const { call, telephone, served, events, ended } = await connected({ parameters: { room: 'blue' } }, true)
    telephone.sendTone(1_000)
    await waitForTone(telephone, 1_000)
    await call.close()
    assert.deepEqual(events, ['opened', 'ended: call_ended'])
    const { seconds, framesSent, ...end } = await ended
    assert.deepEqual(end, {
      reason: 'call_ended',
      code: 1000,
      detail: 'the call has ended',
      framesDropped: 0,
      droppedMs: 0,
    })
    await until(async () => served.closed !== null)
    assert.equal(served.closed, 1000)
    assert.equal(served.headers['user-agent'], 'test')
    assert.equal(served.path, '/stream')
    const { frames } = served
    assert.deepEqual(frames[0], { event: 'connected', protocol: 'Call', version: '1.0.0' })
    assert.deepEqual(frames[1]?.start?.customParameters, { room: 'blue' })
    assert.deepEqual(frames.at(-1)?.stop, { accountSid: 'AC1', callSid: 'CA1' })
    assert.deepEqual(
      frames.slice(1).map(({ sequenceNumber }) => sequenceNumber),
      frames.slice(1).map((_, i) => String(i + 1)),
    )
    const media = frames.flatMap((frame) => frame.media ?? [])
    assert.equal(media.length, framesSent)
    assert.ok(seconds > 0)
    assert.deepEqual(
      media.map(({ track, chunk, timestamp, payload }) => [
        track,
        chunk,
        timestamp,
        Buffer.from(payload, 'base64').length,
      ]),
      media.map((_, i) => ['inbound', String(i + 1), String(i * 20), 160]),
    )
  })

  test('audio is played in order without a gap, and a mark comes back once all before it was sent', async () => {
    const { call, telephone, served } = await connected()
    const octets = Buffer.from(Array.from({ length: 8_000 }, (_, i) => (i * 31) % 127))
    const before = telephone.samples.length
    for (let from = 0, length = 1; from < octets.length; from += length++)
      served.sendAudio(octets.subarray(from, from + length))
    served.mark('end')
    await until(async () => served.marks.length > 0)
    assert.deepEqual(served.marks, ['end'])
    const heard = await until(async () => {
      const begun = telephone.samples.findIndex((sample, i) => i >= before && sample !== 0)
      return begun >= 0 && telephone.samples.length >= begun + octets.length && telephone.samples.slice(begun)
    })
    // Chunks that come too late leave silence between them.
    const spoken = heard.filter((sample) => sample !== 0)
    assert.deepEqual(
      spoken,
      linear(octets).filter((sample) => sample !== 0),
    )
    await call.close()
  })

  test('after clear nothing of 60 s of audio is heard, its marks come back, and later audio is played', async () => {
    const { call, telephone, served } = await connected()
    served.sendAudio(octetsOf(440, 60_000))
    served.mark('never reached')
    await waitForTone(telephone, 440)
    served.clear()
    await until(async () => isSilent(telephone) && served.marks.length > 0)
    assert.deepEqual(served.marks, ['never reached'])
    served.sendAudio(octetsOf(620, 2_000))
    await waitForTone(telephone, 620)
    await call.close()
  })

  test('audio beyond 300 s is dropped and told once', async () => {
    const { call, served, events, stream, ended } = await connected()
    for (let minute = 0; minute < 6; minute++) served.sendAudio(Buffer.alloc(480_000, 0x20))
    await until(async () => events.includes('dropped received'))
    unwrap(await stream.stop())
    const { reason, droppedMs } = await ended
    assert.equal(reason, 'stopped')
    assert.ok(droppedMs > 50_000 && droppedMs <= 60_000, String(droppedMs))
    assert.deepEqual(events, ['opened', 'dropped received', 'ended: stopped'])
    await call.close()
  })

  test('a server that reads nothing loses the oldest audio, and delays no other stream', async () => {
    const stalled = await connected({ format: 'audio/l16;rate=24000', tracks: ['inbound'] })
    // It has answered a ping, so that no audio waits in the buffers of the system for long.
    await once(stalled.served.socket, 'ping')
    stalled.served.socket.pause()
    const other = await connected({}, true)
    const { telephone, events, served, ended } = stalled
    const packet = { payloadType: 0, marker: false, ssrc: 7, payload: Buffer.alloc(160, 0x20) }
    // 20 ms each, sent as fast as the machine can.
    let sequence = 0
    const say = async (count: number) => {
      for (const end = sequence + count; sequence < end; sequence++)
        await telephone.sendPacket(writeRtp({ ...packet, sequence: sequence & 0xffff, timestamp: sequence * 160 }))
    }
    await until(async () => {
      await say(500)
      return events.includes('dropped sent')
    })
    other.telephone.sendTone(1_000)
    await waitForTone(other.telephone, 1_000)
    await other.call.close()
    assert.equal((await other.ended).framesDropped, 0)
    served.socket.resume()
    await say(50)
    const numbers = () => served.frames.flatMap(({ media }) => (media ? [Number(media.chunk)] : []))
    await until(async () => (numbers().at(-1) ?? 0) > numbers().length)
    await stalled.call.close()
    const { framesDropped, framesSent } = await ended
    await until(async () => served.closed !== null)
    assert.ok(framesDropped > 0)
    const beforeGap = numbers().findIndex((number, i) => number !== i + 1)
    assert.ok(beforeGap > 0 && beforeGap < 1_000, String(beforeGap))
    assert.equal(numbers().length, framesSent)
    assert.equal(numbers().at(-1), framesSent + framesDropped)
    assert.deepEqual(
      numbers(),
      numbers().toSorted((a, b) => a - b),
    )
    assert.deepEqual(
      served.frames.slice(1).map(({ sequenceNumber }) => Number(sequenceNumber)),
      served.frames.slice(1).map((_, i) => i + 1),
    )
  })

  test('a server that sends without end is read at a pace, and delays no other stream', async () => {
    const flooding = await connected()
    const other = await connected({}, true)
    for (let i = 0; i < 20; i++) flooding.served.sendAudio(Buffer.alloc(1_000_000, 0x20))
    other.telephone.sendTone(1_000)
    await waitForTone(other.telephone, 1_000)
    // 8 MiB were read at once, and 1 MiB in each second after that. The system holds some more.
    assert.ok(flooding.served.socket.bufferedAmount > 3_000_000, `${flooding.served.socket.bufferedAmount} wait`)
    flooding.served.socket.terminate()
    await flooding.ended
    await Promise.all([flooding.call.close(), other.call.close()])
  })

  test('a key that is sent to a stream arrives as one frame', async () => {
    const { call, stream, served } = await connected()
    unwrap(await stream.sendKey('5'))
    unwrap(await stream.sendKey('#'))
    await until(async () => served.frames.filter(({ dtmf }) => dtmf).length === 2)
    assert.deepEqual(
      served.frames.flatMap(({ dtmf }) => dtmf ?? []),
      ['5', '#'].map((digit) => ({ track: 'inbound_track', digit })),
    )
    unwrap(await stream.stop())
    assert.equal((await stream.sendKey('1')).outcome, 'refused')
    await call.close()
  })

  test('a stream ends when it is stopped or its time has passed: with stop and code 1000', async () => {
    for (const [reason, mostSeconds] of [
      ['stopped', 600],
      ['time', 0.05],
    ] as const) {
      const { call, stream, served, ended, leg, telephone } = await connected({ mostSeconds })
      if (reason === 'stopped') unwrap(await stream.stop())
      const end = await ended
      assert.deepEqual([end.reason, end.code], [reason, 1000])
      await until(async () => served.closed !== null)
      assert.equal(served.closed, 1000)
      assert.equal(served.frames.at(-1)?.event, 'stop')
      unwrap(await stream.stop())
      // The call goes on.
      void leg.play([{ tones: [440], onMs: 200, offMs: 0, loop: 0 }])
      await waitForTone(telephone, 440)
      await call.close()
    }
  })

  test('a server that closes ends the stream with its code, and what it had sent is not heard any more', async () => {
    const { call, served, ended, telephone } = await connected()
    served.sendAudio(octetsOf(440, 60_000))
    await waitForTone(telephone, 440)
    served.socket.close(4_321, 'done')
    const { reason, code, detail } = await ended
    assert.deepEqual([reason, code], ['closed', 4_321])
    assert.match(detail, /4321 done/)
    const heard = telephone.received
    await call.stats()
    assert.ok(heard < 3_000)
    await call.close()
  })

  test('sounds take the place of a stream, whose marks come back, until its server sends more', async () => {
    const { call, leg, served, telephone } = await connected()
    served.sendAudio(octetsOf(440, 60_000))
    served.mark('dropped')
    await waitForTone(telephone, 440)
    const playing = leg.play([{ tones: [620], onMs: 200, offMs: 0, loop: 0 }])
    await waitForTone(telephone, 620)
    await until(async () => served.marks.length > 0)
    assert.deepEqual(served.marks, ['dropped'])
    served.sendAudio(octetsOf(1_000, 60_000))
    assert.equal(unwrap(await playing).how, 'stopped')
    await waitForTone(telephone, 1_000)
    await call.close()
  })

  test('a one-way stream sends what a telephone says and hears, and plays nothing', async () => {
    const { call, leg, served, telephone, stream } = await connected({
      isTwoWay: false,
      tracks: ['inbound', 'outbound'],
    })
    assert.deepEqual(served.frames[1]?.start?.tracks, ['inbound', 'outbound'])
    telephone.sendTone(1_000)
    void leg.play([{ tones: [440], onMs: 200, offMs: 0, loop: 0 }])
    for (let i = 0; i < 200; i++) served.sendAudio(octetsOf(620, 20))
    const hears = (track: string, hertz: number) =>
      until(async () => {
        const octets = served.audio(track)
        return octets.length > 8_000 && energyShare(linear(octets.subarray(-4_000)), hertz) > 0.95
      })
    await Promise.all([hears('inbound', 1_000), hears('outbound', 440), waitForTone(telephone, 440)])
    assert.equal((await stream.sendKey('1')).outcome, 'refused')
    await call.close()
  })

  for (const [format, framing, octets] of [
    ['audio/l16;rate=8000', 'json', 320],
    ['audio/l16;rate=16000', 'json', 640],
    ['audio/l16;rate=24000', 'binary', 960],
    ['audio/x-mulaw;rate=8000', 'binary', 160],
  ] as const)
    test(`audio goes both ways as ${format} in ${framing} frames`, async () => {
      const { call, served, telephone } = await connected({ format, framing }, true)
      telephone.sendTone(1_000)
      await waitForTone(telephone, 1_000)
      await call.close()
      const media = served.frames.flatMap((frame) => frame.media ?? [])
      const lengths =
        framing === 'json'
          ? media.map(({ payload }) => Buffer.from(payload, 'base64').length)
          : served.binary.map(({ length }) => length)
      assert.equal(media.length === 0, framing === 'binary')
      assert.deepEqual(new Set(lengths), new Set([octets]))
      assert.deepEqual(served.frames[1]?.start?.mediaFormat, {
        encoding: format.split(';')[0],
        sampleRate: Number(format.split('=')[1]),
        channels: 1,
      })
    })

  test('streams that cannot be opened are refused with a reason', async () => {
    const { call, leg } = await connected()
    const server = await serve()
    const causeOf = async (more: Partial<MediaStreamOptions>, of = leg) => {
      const opened = await of.openStream(streamOptions(server.url, more), {
        ended: () => assert.fail('it was refused'),
      })
      return opened.outcome === 'refused' ? opened.cause : null
    }
    assert.equal(await causeOf({}), 'state')
    const oneWay = { isTwoWay: false }
    assert.equal(await causeOf({ ...oneWay, tracks: [] }), 'description')
    assert.equal(await causeOf({ ...oneWay, tracks: ['inbound', 'outbound'], framing: 'binary' }), 'description')
    await openStream(leg, server.url, { ...oneWay, tracks: ['inbound', 'outbound'] })
    assert.equal(await causeOf({ ...oneWay, tracks: ['inbound', 'outbound'] }), 'full')
    // The refused one left no listener.
    await openStream(leg, server.url, oneWay)
    const silent = unwrap(await call.addLeg({ id: 'other', kind: 'rtp', offer: null, codecs: ['pcmu'] }))
    assert.equal(await causeOf({}, silent), 'state')
    await call.close()
    assert.equal(await causeOf({}), 'state')
  })
})

// Apart from the others, whose packets would be in its way.
test('a mark comes back within 20 ms of the last packet before it', async () => {
  const { call, telephone, served } = await connected()
  const sound = Buffer.alloc(800, 0x20)
  const distances: number[] = []
  for (let number = 0; number < 5; number++) {
    const heardAt = Promise.withResolvers<number>()
    const take = (data: Buffer) => {
      if (data.toString().includes('"mark"')) heardAt.resolve(telephone.samples.length)
    }
    served.socket.on('message', take)
    const from = telephone.samples.length
    served.sendAudio(sound)
    served.mark(String(number))
    const at = await heardAt.promise
    served.socket.off('message', take)
    const end = await until(async () => {
      const last = telephone.samples.findLastIndex((sample) => sample !== 0) + 1
      return telephone.samples.length > last + 160 && last >= from + sound.length && last
    })
    distances.push(Math.abs(at - end))
  }
  // A worker that was late sends several packets at once: the median counts. A packet is 160 samples.
  const [, , median = Number.NaN] = distances.toSorted((a, b) => a - b)
  assert.ok(median <= 160, distances.join(' '))
  assert.deepEqual(served.marks, ['0', '1', '2', '3', '4'])
  await call.close()
})

test('when a worker dies, its streams end as broken', async () => {
  const server = await serve()
  const brittle = await start(() => {})
  const { leg, call } = await single(brittle)
  const { ended, events } = await openStream(leg, server.url)
  await until(async () => events.includes('opened'))
  await threads.at(-1)?.terminate()
  assert.equal((await ended).reason, 'broken')
  await call.close()
})
