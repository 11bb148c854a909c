import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import type { Socket } from 'node:net'
import { describe, test } from 'node:test'
import type { ServedStream } from '../../../../test/media/stream-server.ts'
import { until } from '../../../../test/platform.ts'
import type { MediaStreamOptions } from '../../../ports/media-stream.ts'
import { waitForTone } from '../media.conformance.ts'
import { toneFrames } from '../tone-testing.ts'
import { makeStreamWorld } from './stream-testing.ts'

const { single, serveSockets, openStream, connected } = await makeStreamWorld()

const octetsOf = (hertz: number, milliseconds: number): Buffer => Buffer.concat(toneFrames(hertz, milliseconds / 20))

describe('servers that break the rules', { concurrency: true }, () => {
  /** @param misbehave what the server does once the stream is open */
  const endBy = async (misbehave: (served: ServedStream) => void, more: Partial<MediaStreamOptions> = {}) => {
    const { call, leg, telephone, served, ended } = await connected(more)
    misbehave(served)
    const end = await ended
    await until(async () => served.closed !== null)
    void leg.play([{ tones: [440], onMs: 200, offMs: 0, loop: 0 }])
    await waitForTone(telephone, 440)
    await call.close()
    return { ...end, closed: served.closed }
  }

  test('a frame of 2 MiB closes the stream with 1009', async () => {
    const { reason, code, closed } = await endBy((served) => served.sendAudio(Buffer.alloc(2_097_152)))
    assert.deepEqual([reason, code, closed], ['protocol', 1009, 1009])
  })

  test('100 invalid frames in a row close the stream with 1008; a valid one among them counts anew', async () => {
    const { reason, code, closed, detail } = await endBy((served) => {
      for (let i = 0; i < 99; i++) served.send({ event: 'unknown' })
      served.clear()
      for (let i = 0; i < 99; i++) served.socket.send('{')
      served.send({ event: 'media', media: { payload: '%%' } })
    })
    assert.deepEqual([reason, code, closed], ['protocol', 1008, 1008])
    assert.match(detail, /^100 invalid frames in a row: a payload of media is not base64/)
  })

  test('binary frames without binary framing are invalid', async () => {
    const { reason, detail } = await endBy((served) => {
      for (let i = 0; i < 100; i++) served.socket.send(Buffer.alloc(160))
    })
    assert.equal(reason, 'protocol')
    assert.match(detail, /a frame is binary/)
  })

  test('more than 1,000 waiting marks close the stream with 1008', async () => {
    const { reason, code } = await endBy((served) => {
      served.sendAudio(octetsOf(440, 60_000))
      for (let i = 0; i < 1_001; i++) served.mark(String(i))
    })
    assert.deepEqual([reason, code], ['protocol', 1008])
  })

  test('a connection that breaks ends the stream as broken', async () => {
    const { reason, code } = await endBy((served) => served.socket.terminate())
    assert.deepEqual([reason, code], ['broken', null])
  })

  /** The end of a stream to a server of plain TCP. */
  const endOf = async (serveSocket: (socket: Socket) => void, protocol: 'ws' | 'wss' = 'ws') => {
    const port = await serveSockets(serveSocket)
    const { call, leg, telephone } = await single()
    const { ended, events } = await openStream(leg, `${protocol}://127.0.0.1:${port}/`)
    const end = await ended
    void leg.play([{ tones: [440], onMs: 200, offMs: 0, loop: 0 }])
    await waitForTone(telephone, 440)
    await call.close()
    return { ...end, events }
  }

  const accepted = 'HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n'
  const faults: readonly (readonly [string, (socket: Socket) => void, RegExp])[] = [
    ['that closes at once', (socket) => socket.destroy(), /./],
    ['that closes after the request', (socket) => socket.once('data', () => socket.end()), /./],
    ['that closes within its answer', (socket) => socket.once('data', () => socket.end(accepted)), /./],
    [
      'with a false key',
      (socket) => socket.once('data', () => socket.write(`${accepted}Sec-WebSocket-Accept: x\r\n\r\n`)),
      /Sec-WebSocket-Accept/,
    ],
    ['that speaks another protocol', (socket) => socket.once('data', () => socket.write('SSH-2.0\r\n')), /./],
    [
      'that redirects',
      (socket) =>
        socket.once('data', () =>
          socket.end('HTTP/1.1 301 Moved\r\nLocation: ws://127.0.0.1/\r\nContent-Length: 0\r\n\r\n'),
        ),
      /301/,
    ],
    ['that says nothing for 5 s', () => {}, /within 5 s/],
    ['over TLS that closes at once', (socket) => socket.destroy(), /./],
    ['over TLS that closes after the first message', (socket) => socket.once('data', () => socket.end()), /./],
    [
      'over TLS that closes within its answer',
      // The beginning of a ServerHello, by its header of 122 octets.
      (socket) => socket.once('data', () => socket.end(Buffer.from([22, 3, 3, 0, 122, 2, 0, 0]))),
      /./,
    ],
    ['over TLS that speaks without it', (socket) => socket.once('data', () => socket.end('HTTP/1.1 400\r\n\r\n')), /./],
  ]
  for (const [what, serveSocket, detail] of faults)
    test(`a server ${what} is unreachable, and the call goes on`, async () => {
      const end = await endOf(serveSocket, what.startsWith('over TLS') ? 'wss' : 'ws')
      assert.deepEqual([end.reason, end.code, end.seconds, end.framesSent], ['unreachable', null, 0, 0])
      assert.match(end.detail, detail)
      assert.deepEqual(end.events, ['ended: unreachable'])
    })

  test('a server that closes right after its answer ends the stream as broken, and the call goes on', async () => {
    const { events, reason, code } = await endOf((socket) =>
      socket.once('data', (request) => {
        const [, key = ''] = /sec-websocket-key: (\S+)/i.exec(request.toString()) ?? []
        const accept = createHash('sha1').update(`${key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`).digest('base64')
        socket.end(`${accepted}Sec-WebSocket-Accept: ${accept}\r\n\r\n`)
      }),
    )
    assert.deepEqual([events, reason, code], [['opened', 'ended: broken'], 'broken', null])
  })

  test('a call that ends while its stream connects ends the stream', async () => {
    const requested = Promise.withResolvers<void>()
    const port = await serveSockets((socket) => void socket.once('data', () => requested.resolve()))
    const { call, leg } = await single()
    const { ended } = await openStream(leg, `ws://127.0.0.1:${port}/`)
    await requested.promise
    await call.close()
    const { reason, code } = await ended
    assert.deepEqual([reason, code], ['call_ended', null])
  })
})
