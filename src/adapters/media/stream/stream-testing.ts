import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type Socket } from 'node:net'
import { after } from 'node:test'
import { makeStreamServer, streamOptions } from '../../../../test/media/stream-server.ts'
import { makeTelephone } from '../../../../test/media/telephone.ts'
import { until } from '../../../../test/platform.ts'
import type { MediaLeg } from '../../../ports/media.ts'
import type { MediaStreamEnd, MediaStreamOptions } from '../../../ports/media-stream.ts'
import { startEmbedded } from '../embedded/embedded-engine.ts'
import { loopback } from '../embedded/embedded-testing.ts'
import { logEvents, unwrap } from '../media.conformance.ts'

/** Telephones whose calls have streams, for the tests of a file. Everything ends with the file, which fails for a fault. */
export const makeStreamWorld = async () => {
  const faults: string[] = []
  const ending: (() => Promise<void>)[] = []
  after(async () => {
    for (const end of ending) await end()
    assert.deepEqual(faults, [])
  })

  const start = async (fault = (reason: string) => void faults.push(reason)) => {
    const engine = await startEmbedded({ ...loopback, fault })
    ending.push(() => engine.close())
    return engine
  }
  const engine = await start()

  /** A telephone alone in a call. */
  const single = async (from = engine) => {
    const telephone = await makeTelephone()
    ending.push(telephone.close)
    const call = unwrap(await from.openCall(logEvents().events))
    const options = { id: 'callee', kind: 'rtp', offer: null, codecs: ['pcmu'], source: '127.0.0.1' } as const
    const leg = unwrap(await call.addLeg(options))
    unwrap(await leg.accept(await telephone.answer(unwrap(await leg.describe()))))
    return { call, leg, telephone }
  }

  const serve = async (isEcho = false) => {
    const server = await makeStreamServer(isEcho)
    ending.push(server.close)
    return server
  }

  /** A server of plain TCP. @returns its port */
  const serveSockets = async (serveSocket: (socket: Socket) => void): Promise<number> => {
    const server = createServer((socket) => {
      socket.on('error', () => {})
      ending.push(async () => void socket.destroy())
      serveSocket(socket)
    })
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    ending.push(async () => void server.close())
    const address = server.address()
    return typeof address === 'object' && address ? address.port : 0
  }

  /** Opens a stream, with its events in their order. */
  const openStream = async (leg: MediaLeg, url: string, more: Partial<MediaStreamOptions> = {}) => {
    const events: string[] = []
    const ended = Promise.withResolvers<MediaStreamEnd>()
    const stream = unwrap(
      await leg.openStream(streamOptions(url, more), {
        opened: () => events.push('opened'),
        dropped: (of) => events.push(`dropped ${of}`),
        ended: (end) => {
          events.push(`ended: ${end.reason}`)
          ended.resolve(end)
        },
      }),
    )
    return { stream, events, ended: ended.promise }
  }

  /** A telephone with an open stream to a server. */
  const connected = async (more: Partial<MediaStreamOptions> = {}, isEcho = false) => {
    const server = await serve(isEcho)
    const { call, leg, telephone } = await single()
    const opened = await openStream(leg, server.url, more)
    const served = await until(
      async () => server.streams[0]?.frames.some(({ event }) => event === 'start') && server.streams[0],
    )
    return { call, leg, telephone, ...opened, served }
  }

  return { start, single, serve, serveSockets, openStream, connected }
}
