import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:https'
import { type TestContext, test } from 'node:test'
import tls from 'node:tls'
import { WebSocketServer } from 'ws'
import { certificate } from '../../../../test/certificate.ts'
import { needs } from '../../../../test/needs.ts'
import type { MediaStreamTarget } from '../../../ports/media-stream.ts'
import { openStreamSocket, type SocketEnd } from './stream-socket.ts'

const name = 'agent.example'
const address = '127.0.0.1'

/** A server over TLS, and what it was asked. */
const serve = async (t: TestContext, trusted: boolean) => {
  const pair = certificate(`DNS:${name},IP:${address}`)
  if (trusted) tls.setDefaultCACertificates([pair.cert])
  const server = createServer(pair)
  const asked: string[] = []
  new WebSocketServer({ server }).on('connection', (socket, { headers, socket: connection }) => {
    const servername = connection instanceof tls.TLSSocket && connection.servername
    asked.push(`${servername} ${headers.host} ${headers['x-signature']} ${headers['sec-websocket-extensions']}`)
    socket.close(4_000)
  })
  server.listen(0, address)
  await once(server, 'listening')
  t.after(() => {
    server.close()
    server.closeAllConnections()
  })
  const at = server.address()
  return { port: typeof at === 'object' && at ? at.port : 0, asked }
}

const endOf = async (target: Omit<MediaStreamTarget, 'isSecure' | 'path'>): Promise<SocketEnd> => {
  const ended = Promise.withResolvers<SocketEnd>()
  const events = { opened: () => {}, received: () => {}, ponged: () => {}, ended: ended.resolve }
  await openStreamSocket({ ...target, isSecure: true, path: '/' }, { 'x-signature': 'abc' }, events)
  return ended.promise
}

test(
  'a stream over TLS goes to the given address, and the certificate must be that of the name',
  needs('openssl'),
  async (t) => {
    const { port, asked } = await serve(t, true)
    const named = { host: name, isAddress: false, port, hostHeader: `${name}:${port}`, addresses: [address] }
    assert.equal((await endOf(named)).code, 4_000)
    assert.deepEqual(asked, [`${name} ${name}:${port} abc undefined`])
    const byAddress = { host: address, isAddress: true, port, hostHeader: `${address}:${port}`, addresses: [address] }
    assert.equal((await endOf(byAddress)).code, 4_000)
    const other = { ...named, host: 'other.example', hostHeader: `other.example:${port}` }
    const { how, detail } = await endOf(other)
    assert.equal(how, 'lost')
    assert.match(detail, /other\.example/)
    assert.equal(asked.length, 2)
  },
)

test('a certificate of an unknown issuer is refused', needs('openssl'), async (t) => {
  const { port, asked } = await serve(t, false)
  const named = { host: name, isAddress: false, port, hostHeader: `${name}:${port}`, addresses: [address] }
  const { how, detail } = await endOf(named)
  assert.equal(how, 'lost')
  assert.match(detail, /certificate/)
  assert.deepEqual(asked, [])
})
