import assert from 'node:assert/strict'
import { type AddressInfo, connect as connectTcp, type Socket } from 'node:net'
import { after, before, describe, test } from 'node:test'
import { connect as connectTls } from 'node:tls'
import { certificate } from '../../../test/certificate.ts'
import { until } from '../../../test/platform.ts'
import { makeWorld } from '../../../test/world.ts'
import { makeEndpoints } from '../../endpoints.ts'
import { makeAlias } from './alias.ts'
import { makeServer } from './server.ts'

// Clients that send slowly, over HTTP and over HTTPS. The tests shorten the timeouts, so that they wait only for Node's
// checks of them: one per second. At Node's default of 30 s they would time out.

const world = await makeWorld()
const { parts } = world
const { key } = await world.tenant()
const plain = world.app
await plain.listen({ host: '127.0.0.1', port: 0 })
const pair = certificate()
const secure = makeServer(
  { ...parts, tls: { ...pair, handshakeTimeout: 1_000 } as never, alias: makeAlias(null) },
  makeEndpoints(parts),
)
await secure.listen({ host: '127.0.0.1', port: 0 })
after(() => secure.close())

const portOf = ({ server }: typeof plain) => (server.address() as AddressInfo).port // they listen on TCP

/** `ended`: the server sends nothing more. `closed`: it takes nothing more either. */
type SlowClient = {
  readonly socket: Socket
  said(): string
  readonly ended: Promise<string>
  readonly closed: Promise<string>
}
const opened = (socket: Socket): SlowClient => {
  let said = ''
  socket.on('error', () => {})
  socket.on('data', (data) => {
    said += data.toString('latin1')
  })
  const after = (event: string) => new Promise<string>((resolve) => socket.on(event, () => resolve(said)))
  return { socket, said: () => said, ended: Promise.race([after('end'), after('close')]), closed: after('close') }
}
const servers = {
  HTTP: { app: plain, dial: () => opened(connectTcp({ port: portOf(plain), host: '127.0.0.1', allowHalfOpen: true })) },
  HTTPS: {
    app: secure,
    dial: () =>
      opened(connectTls({ port: portOf(secure), host: '127.0.0.1', ca: pair.cert, servername: 'carrier.test' })),
  },
}

/** Sends a piece again and again until the socket closes. */
const drip = ({ socket, closed }: SlowClient, piece: string): Promise<string> => {
  const timer = setInterval(() => socket.writable && socket.write(piece), 20)
  return closed.finally(() => clearInterval(timer))
}

const limits = { headersTimeout: 10_000, requestTimeout: 15_000 }

const upload = async ({ dial }: (typeof servers)['HTTP']): Promise<SlowClient> => {
  const file = '%PDF-1.7\n'
  const client = dial()
  client.socket.write(
    `POST /open/numbers/documents?kind=identity&name=Pass.pdf HTTP/1.1\r\nHost: localhost\r\nX-User-API-Key: ${key}\r\n` +
      `Content-Type: application/pdf\r\nContent-Length: ${file.length}\r\n\r\n${file}`,
  )
  await until(async () => client.said().endsWith('}'))
  assert.match(client.said(), /^HTTP\/1\.1 201 /)
  return client
}

for (const [name, { app, dial }] of Object.entries(servers))
  test(`${name}: headers and whole requests have their time limits, and odd requests are answered`, async () => {
    assert.partialDeepStrictEqual(app.server, limits)
    for (const [lines, answer] of [
      ['Connection: close\r\n', /^HTTP\/1\.1 400 .*"malformed_request"/s],
      ['Host: localhost\r\nConnection: Upgrade, close\r\nUpgrade: h2c\r\n', /^HTTP\/1\.1 200 /],
      ['Host: localhost\r\nConnection: Upgrade, close\r\nUpgrade: websocket\r\n', /^HTTP\/1\.1 200 /],
    ] as const) {
      const client = dial()
      client.socket.end(`GET /ping HTTP/1.1\r\n${lines}\r\n`)
      assert.match(await client.ended, answer)
    }
  })

describe('slow clients', { concurrency: true, timeout: 9_000 }, async () => {
  const used = { HTTP: await upload(servers.HTTP), HTTPS: await upload(servers.HTTPS) }
  const shorten = (to: typeof limits) => {
    for (const { app } of Object.values(servers)) Object.assign(app.server, to)
  }
  before(() => shorten({ headersTimeout: 300, requestTimeout: 400 }))
  after(() => shorten(limits))

  for (const name of ['HTTP', 'HTTPS'] as const) {
    const { dial } = servers[name]

    test(`${name}: headers that arrive too slowly are refused with 408, and the connection is cut`, async () => {
      const slow = dial()
      slow.socket.write('GET /ping HTTP/1.1\r\nHost: localhost\r\n')
      assert.match(await drip(slow, 'X-A: b\r\n'), /^HTTP\/1\.1 408 .*"request_timeout"/s)
    })

    test(`${name}: a connection without a request is refused with 408`, async () => {
      assert.match(await dial().ended, /^HTTP\/1\.1 408 /)
    })

    test(`${name}: a body that arrives too slowly is refused with 408, and the connection is cut`, async () => {
      const slow = dial()
      slow.socket.write(
        `POST /open/sms/send HTTP/1.1\r\nHost: localhost\r\nX-User-API-Key: ${key}\r\nContent-Type: application/json\r\n` +
          'Content-Length: 1000\r\n\r\n{',
      )
      assert.match(await drip(slow, ' '), /^HTTP\/1\.1 408 .*"request_timeout"/s)
    })

    test(`${name}: slow headers after an upload on the same connection are refused too`, async () => {
      used[name].socket.write('GET /ping HTTP/1.1\r\nHost: localhost\r\n')
      assert.match(await drip(used[name], 'X-A: b\r\n'), /HTTP\/1\.1 408 /)
    })
  }

  test('HTTP: a refused upgrade is cut, also if the client goes on sending', async () => {
    const slow = servers.HTTP.dial()
    slow.socket.write(
      'GET /voice HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nOrigin: null\r\n\r\n',
    )
    assert.match(await drip(slow, 'x'), /^HTTP\/1\.1 403 /)
  })

  test('HTTPS: a handshake that does not end is cut, also one that goes on byte by byte', async () => {
    const raw = () => opened(connectTcp({ port: portOf(secure), host: '127.0.0.1', allowHalfOpen: true }))
    await raw().ended
    const slow = raw()
    // The head of a record of 16,000 bytes, whose content never ends.
    slow.socket.write(Buffer.from([0x16, 3, 1, 0x3e, 0x80, 1, 0, 0x3e, 0x7c]))
    await drip(slow, 'x')
  })
})
