import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'
import { type TestContext, test } from 'node:test'
import type { Pdu } from './pdu.ts'
import { type LostRequest, SmppLink } from './smpp-link.ts'

/** A link and the socket at its other end. */
const pair = async (
  t: TestContext,
  enquireMs = 30_000,
): Promise<{ link: SmppLink; peer: Socket; closed: Promise<string> }> => {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  assert.ok(address && typeof address === 'object')
  const socket = connect(address.port, '127.0.0.1')
  const [peer]: Socket[] = await once(server, 'connection')
  assert.ok(peer)
  peer.on('error', () => {})
  server.close()
  const { promise: closed, resolve } = Promise.withResolvers<string>()
  const events = { request: () => {}, malformed: () => {}, write: () => {}, closed: resolve }
  const link = new SmppLink(socket, { responseMs: 10_000, enquireMs }, events)
  t.after(() => {
    link.destroy('the test is over')
    peer.destroy()
  })
  return { link, peer, closed }
}

const enquire = (link: SmppLink): Promise<Pdu | LostRequest> =>
  link.request((sequence) => ({ command: 'enquire_link', sequence, status: 0 }))

test('when a link breaks, written requests may have arrived and unwritten ones cannot have', async (t) => {
  const { link, peer } = await pair(t)
  const written = [enquire(link), enquire(link)]
  await once(peer, 'data')
  const queued = [enquire(link), enquire(link)]
  link.destroy('broken')
  const lost = { command: 'lost', reason: 'broken' }
  assert.deepEqual(
    await Promise.all(written),
    [1, 2].map(() => ({ ...lost, written: true })),
  )
  assert.deepEqual(
    await Promise.all([...queued, enquire(link)]),
    [1, 2, 3].map(() => ({ ...lost, written: false })),
  )
})

test('a peer that sends octets without ever completing a PDU counts as dead', async (t) => {
  const { peer, closed } = await pair(t, 40)
  peer.write(Buffer.from('0000ffff', 'hex'))
  peer.on('data', () => peer.write(Buffer.of(0)))
  assert.equal(await closed, 'the peer does not answer enquire_link')
})

test('a peer that does not read stops our reading, and memory does not grow', async (t) => {
  const { link, peer } = await pair(t)
  peer.pause()
  const question = Buffer.from('00000010000000150000000000000001', 'hex')
  const flood = Buffer.concat(Array.from({ length: 4_096 }, () => question))
  let sent = 0
  // Until the peer's own buffers are full because we stopped reading.
  while (sent < 400 && peer.writableLength < 8_388_608) {
    sent++
    await new Promise<void>((resolve) => {
      if (peer.write(flood)) resolve()
      else setImmediate(resolve)
    })
  }
  assert.ok(link.unread <= 2 * 1_048_576, `${link.unread} octets`)
  assert.ok(sent > 100)
})
