import assert from 'node:assert/strict'
import { createSocket, type Socket } from 'node:dgram'
import { once } from 'node:events'
import { after, describe, test } from 'node:test'
import { writeReport } from '@trunkline/rtp/rtcp.ts'
import { writeRtp } from '@trunkline/rtp/rtp.ts'
import { readAudio } from '@trunkline/rtp/sdp.ts'
import { writeCheck } from '@trunkline/rtp/stun.ts'
import { until } from '../../../../test/platform.ts'
import { logEvents, unwrap } from '../media.conformance.ts'
import { startEmbedded } from './embedded-engine.ts'
import { loopback } from './embedded-testing.ts'

// Signs of a living peer, and of its address: raw packets from sockets that no engine of ours opened.

const silenceSeconds = 2

const engine = await startEmbedded({
  ...loopback,
  silenceSeconds,
  fault: (reason) => assert.fail(reason),
})
/** Ends what the tests began: what sends before the sockets. */
const timers: NodeJS.Timeout[] = []
const sockets: Socket[] = []
after(async () => {
  for (const timer of timers) clearInterval(timer)
  for (const socket of sockets) socket.close()
  await engine.close()
})

const bound = async (address = '127.0.0.1'): Promise<Socket> => {
  const socket = createSocket('udp4').bind(0, address)
  await once(socket, 'listening')
  sockets.push(socket)
  return socket
}

type Place = { readonly port: number; readonly rtcpPort: number }

const textOf = (rtp: Socket, { direction = 'sendrecv', named = '127.0.0.1' } = {}) =>
  [
    'v=0',
    'o=- 1 1 IN IP4 127.0.0.1',
    's=-',
    `c=IN IP4 ${named}`,
    't=0 0',
    `m=audio ${rtp.address().port} RTP/AVP 0 101`,
  ]
    .concat('a=rtpmap:101 telephone-event/8000', `a=${direction}`, '')
    .join('\r\n')

/** A call whose single leg answers a peer's offer. */
const legTo = async (offer: string, source?: string) => {
  const { log, events } = logEvents()
  const call = unwrap(await engine.openCall(events))
  after(() => call.close())
  const options = { kind: 'rtp', codecs: ['pcmu'], ...(source === undefined ? {} : { source }) } as const
  const leg = unwrap(await call.addLeg({ id: 'peer', offer, ...options }))
  const audio = readAudio(unwrap(await leg.describe()))
  assert.ok(typeof audio !== 'string')
  const remote = async () => unwrap(await call.stats())[0]?.remote
  return { call, leg, log, place: audio satisfies Place, remote }
}

/** Repeats an act until the tests are over. */
const repeat = (act: () => void) => {
  const timer = setInterval(act, 100)
  timers.push(timer)
  return timer
}

const rtpOf = (payloadType: number, payload: Buffer = Buffer.from([0x7f])) => {
  let sequence = 0
  return () => {
    const place = { sequence: sequence & 0xffff, timestamp: sequence * 800 }
    sequence++
    return writeRtp({ payloadType, marker: false, ssrc: 9, payload, ...place })
  }
}

const signs: readonly (readonly [string, () => Buffer, ('rtcp' | 'rtp')?])[] = [
  ['comfort noise (RFC 3389)', rtpOf(13)],
  ['audio of a payload type that was not agreed', rtpOf(96)],
  ['a key that is held (RFC 4733)', rtpOf(101, Buffer.from([5, 10, 3, 32]))],
  ['RTCP', () => writeReport(9, null, [], 'peer'), 'rtcp'],
]

/** A check of ICE, signed with our password (RFC 8445, 7). */
const checkOf = (description: string) => {
  const [ufrag = '', password = ''] = ['ufrag', 'pwd'].map(
    (name) => new RegExp(`a=ice-${name}:(.*)\r`).exec(description)?.[1] ?? '',
  )
  return writeCheck(Buffer.alloc(12, 7), `${ufrag}:theirs`, password)
}

describe('a peer', { concurrency: true }, () => {
  test('is alive by any sign of life, and silent without one; none is wanted while a side is on hold', async () => {
    const open = async () => {
      const rtp = await bound()
      return { rtp, ...(await legTo(textOf(rtp))) }
    }
    const silent = await open()
    const living = await Promise.all(
      signs.map(async ([name, packet, kind = 'rtp']) => {
        const one = await open()
        const port = kind === 'rtp' ? one.place.port : one.place.rtcpPort
        repeat(() => one.rtp.send(packet(), port, '127.0.0.1'))
        return { name, log: one.log }
      }),
    )
    for (const direction of ['sendonly', 'inactive']) {
      const { log } = await legTo(textOf(await bound(), { direction }))
      living.push({ name: `a peer that holds: ${direction}`, log })
    }
    const bridged = await (async () => {
      const { call, leg, log } = await open()
      const held = unwrap(
        await call.addLeg({
          id: 'held',
          kind: 'rtp',
          codecs: ['pcmu'],
          offer: textOf(await bound(), { direction: 'sendonly' }),
        }),
      )
      unwrap(await call.bridge(leg, held))
      unwrap(await held.describe())
      return { name: 'the other side of a peer that holds', log }
    })()
    const browser = await (async () => {
      const { log, events } = logEvents()
      const call = unwrap(await engine.openCall(events))
      after(() => call.close())
      const leg = unwrap(await call.addLeg({ id: 'browser', kind: 'webrtc', codecs: ['pcmu'], offer: null }))
      const offer = unwrap(await leg.describe())
      const audio = readAudio(offer)
      assert.ok(typeof audio !== 'string')
      const socket = await bound()
      const security = [
        'a=ice-ufrag:theirs',
        'a=ice-pwd:0123456789012345678901',
        `a=fingerprint:sha-256 ${Array(32).fill('AA').join(':')}`,
      ]
      const answer = [
        textOf(socket).replace('RTP/AVP', 'UDP/TLS/RTP/SAVPF').trim(),
        ...security,
        'a=setup:active',
        'a=rtcp-mux',
        '',
      ]
      unwrap(await leg.accept(answer.join('\r\n')))
      repeat(() => socket.send(checkOf(offer), audio.port, '127.0.0.1'))
      return { name: 'checks of a browser (RFC 7675)', log }
    })()
    await until(async () => silent.log.silences.length > 0)
    // A second one, so that the others had twice the time.
    const later = await open()
    await until(async () => later.log.silences.length > 0)
    for (const { name, log } of [...living, bridged, browser]) assert.deepEqual(log.silences, [], name)
    assert.deepEqual(silent.log.silences, ['peer'])
  })

  test('is learned again when it moves, by its own addresses alone', async () => {
    const moves = async (named: string, source?: string) => {
      const [before, moved, foreign] = [await bound(), await bound(), await bound('127.0.0.2')]
      const packet = rtpOf(0, Buffer.alloc(160, 0x20))
      const { log, place, remote } = await legTo(textOf(before, { named }), source)
      const speak = (from: Socket) => repeat(() => from.send(packet(), place.port, '127.0.0.1'))
      const first = speak(before)
      await until(async () => log.connected.length > 0)
      speak(foreign)
      const second = speak(moved)
      await until(async () => log.dropped.length === 2)
      // While the peer speaks, no other port of its host is taken for it.
      assert.equal(await remote(), `127.0.0.1:${before.address().port}`)
      clearInterval(first)
      await until(async () => (await remote()) === `127.0.0.1:${moved.address().port}`)
      clearInterval(second)
      // The host of a stranger stays one, however long the peer is silent.
      await until(async () => log.silences.length > 0)
      assert.equal(await remote(), `127.0.0.1:${moved.address().port}`)
    }
    await Promise.all([moves('127.0.0.1'), moves('192.168.7.7', '127.0.0.1')])
  })
})
