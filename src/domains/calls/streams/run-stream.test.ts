import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:net'
import { after, test } from 'node:test'
import { certificate } from '../../../../test/certificate.ts'
import { a, startDnsServer } from '../../../../test/dns-server.ts'
import { makeStreamServer, twoWayStream } from '../../../../test/media/stream-server.ts'
import { makeTelephone } from '../../../../test/media/telephone.ts'
import { needs } from '../../../../test/needs.ts'
import { until } from '../../../../test/platform.ts'
import { startEmbedded } from '../../../adapters/media/embedded/embedded-engine.ts'
import { loopback } from '../../../adapters/media/embedded/embedded-testing.ts'
import { logEvents, unwrap, waitForTone } from '../../../adapters/media/media.conformance.ts'
import { makeOutbound, type Outbound } from '../../../platform/lib/outbound.ts'
import type { MediaStream } from '../../../ports/media.ts'
import { runStream, type StreamRequest } from './run-stream.ts'
import { resolveStreamTarget } from './stream-target.ts'

const lenient = makeOutbound({ allowPrivate: true })
const strict = makeOutbound({ allowPrivate: false })
const engine = await startEmbedded({
  ...loopback,
  fault: (reason) => assert.fail(reason),
})
const server = await makeStreamServer(true)
const telephone = await makeTelephone()
after(async () => {
  lenient.close()
  strict.close()
  await Promise.all([server.close(), engine.close(), telephone.close()])
})

const call = unwrap(await engine.openCall(logEvents().events))
const leg = unwrap(
  await call.addLeg({
    id: 'caller',
    kind: 'rtp',
    offer: await telephone.offer(),
    codecs: ['pcmu'],
    source: '127.0.0.1',
  }),
)
await telephone.accept(unwrap(await leg.describe()))

const request = (url: string, more: Partial<StreamRequest> = {}): StreamRequest => ({
  url,
  ids: { stream: 'MZ1', account: 'AC1', call: 'CA1' },
  headers: { 'x-signed': url },
  ...twoWayStream,
  ...more,
})

const depsWith = (outbound: Outbound) => ({ outbound, leg })

test('a stream runs until its server closes it, and the next one can begin', async () => {
  for (const code of [1000, 4_000]) {
    const seen: string[] = []
    const running = runStream(depsWith(lenient), request(server.url), { opened: () => seen.push('opened') })
    telephone.sendTone(1_000)
    await waitForTone(telephone, 1_000)
    const served = server.streams.at(-1)
    assert.ok(served)
    assert.equal(served.headers['x-signed'], server.url)
    served.socket.close(code)
    const { seconds, detail, ...result } = await running
    assert.deepEqual(result, { reason: 'closed', code, error_code: null })
    assert.ok(seconds > 0, detail)
    assert.deepEqual(seen, ['opened'])
  }
})

test('a stream is stopped by its handle, and one that breaks has an error code', async () => {
  const begun = Promise.withResolvers<MediaStream>()
  // A connection that is closed before it opens could be counted as the next one.
  const opened = Promise.withResolvers<void>()
  const observer = { begun: begun.resolve, opened: opened.resolve }
  const stopped = runStream(depsWith(lenient), request(server.url), observer)
  const stream = await begun.promise
  await opened.promise
  const refused = await runStream(depsWith(lenient), request(server.url))
  assert.deepEqual([refused.reason, refused.error_code], ['refused', 'stream_refused'])
  unwrap(await stream.stop())
  assert.equal((await stopped).reason, 'stopped')
  const known = server.streams.length
  const breaking = runStream(depsWith(lenient), request(server.url))
  const served = await until(async () => (server.streams[known]?.frames.length ?? 0) > 0 && server.streams[known])
  served.socket.terminate()
  const { reason, error_code } = await breaking
  assert.deepEqual([reason, error_code], ['broken', 'stream_broken'])
})

test('a server that is not there is unreachable, and one at a forbidden address is never connected to', async () => {
  const gone = await makeStreamServer()
  await gone.close()
  const missing = await runStream(depsWith(lenient), request(gone.url))
  assert.deepEqual([missing.reason, missing.error_code, missing.seconds], ['unreachable', 'stream_unreachable', 0])
  const known = server.streams.length
  const secure = server.url.replace('ws:', 'wss:')
  for (const url of [
    server.url,
    secure,
    'wss://10.0.0.1/',
    'wss://[::1]/',
    'wss://localhost/',
    'wss://metadata.internal/',
  ]) {
    const { reason, error_code, detail } = await runStream(depsWith(strict), request(url))
    assert.deepEqual([reason, error_code], ['forbidden', 'forbidden_address'], `${url}: ${detail}`)
  }
  assert.equal(server.streams.length, known)
})

test('addresses of streams follow the rules of webhooks, and the refusal names wss', async () => {
  const faultOf = async (url: string, outbound = strict) => {
    const resolved = await resolveStreamTarget(outbound, url)
    return 'fault' in resolved ? resolved.fault : null
  }
  assert.equal(await faultOf('https://agent.example.com/'), 'does not begin with wss')
  assert.equal(await faultOf('agent.example.com'), 'does not begin with wss')
  assert.equal(await faultOf('ws://203.0.113.1/'), 'begins with ws: use wss')
  assert.equal(await faultOf('wss://'), 'is not an address such as wss://example.com/path')
  assert.match(String(await faultOf('wss://user@agent.example.com/')), /a user or a password/)
  assert.match(String(await faultOf('wss://agent.example.com/#a')), /a fragment/)
  assert.match(String(await faultOf('wss://agent.example.com:22/')), /port 22/)
  assert.match(String(await faultOf('wss://169.254.169.254/', lenient)), /leads to/)
  assert.equal(await faultOf('WSS://8.8.8.8/path?query=1'), null)
})

test('a name is resolved once: the connection goes to the addresses that were checked', async () => {
  const { port } = new URL(server.url)
  const host = 'agent.example.com'
  let resolved = 0
  const outbound = {
    resolve: async (url: string) => {
      resolved++
      assert.equal(url, `http://${host}:${port}/room?a=1`)
      const target = {
        isSecure: false,
        host,
        isAddress: false,
        port: Number(port),
        path: '/room?a=1',
        hostHeader: `${host}:${port}`,
      }
      return { target, addresses: ['127.0.0.1'] }
    },
  }
  const known = server.streams.length
  const running = runStream({ ...depsWith(lenient), outbound }, request(`ws://${host}:${port}/room?a=1`))
  const served = await until(async () => server.streams[known])
  assert.equal(served.headers.host, `${host}:${port}`)
  assert.equal(served.path, '/room?a=1')
  served.socket.close()
  assert.equal((await running).reason, 'closed')
  assert.equal(resolved, 1)
})

test('a name that leads elsewhere the second time is refused, and its new address is never connected to', async (t) => {
  const { port } = new URL(server.url)
  const dns = await startDnsServer()
  t.after(dns.close)
  let connections = 0
  const forbidden = createServer((socket) => {
    connections++
    socket.destroy()
  })
  forbidden.listen(Number(port), '127.0.0.2')
  await once(forbidden, 'listening')
  t.after(() => void forbidden.close())
  dns.zone.set('agent.example', (nth) => [a(nth === 0 ? '127.0.0.1' : '127.0.0.2')])
  const guard = () => {
    const outbound = makeOutbound({ allowPrivate: false, http: true, allow: ['127.0.0.1'], dns: dns.servers })
    t.after(outbound.close)
    return outbound
  }
  const outbound = guard()
  // Once more within the life of the answer: to the address that was checked.
  for (const _ of ['first', 'again']) {
    const known = server.streams.length
    const running = runStream(depsWith(outbound), request(`ws://agent.example:${port}/`))
    const served = await until(async () => server.streams[known])
    served.socket.close(1000)
    assert.equal((await running).reason, 'closed')
  }
  assert.equal(dns.questions.get('agent.example 1'), 1)
  for (const protocol of ['ws', 'wss']) {
    const { reason, error_code, detail } = await runStream(
      depsWith(guard()),
      request(`${protocol}://agent.example:${port}/`),
    )
    assert.deepEqual([reason, error_code], ['forbidden', 'forbidden_address'])
    assert.match(detail, /a loopback address, by the name agent\.example/)
  }
  assert.equal(connections, 0)
})

test('a server over TLS with a certificate of an unknown issuer is unreachable', needs('openssl'), async (t) => {
  const secure = await makeStreamServer(true, certificate('IP:127.0.0.1'))
  t.after(secure.close)
  const { reason, error_code, detail } = await runStream(depsWith(lenient), request(secure.url))
  assert.deepEqual([reason, error_code], ['unreachable', 'stream_unreachable'])
  assert.match(detail, /certificate/)
  assert.deepEqual(secure.streams, [])
})
