import assert from 'node:assert/strict'
import { test } from 'node:test'
import { header, headersOf, type SipRequest, withHeader } from '../message.ts'
import { parseMessage } from '../parse.ts'
import { printMessage } from '../print.ts'
import { invite, octets, readRequest, readResponse } from '../user-agent/testing.ts'
import { digest } from './digest.ts'
import { DigestClient } from './digest-client.ts'
import { DigestServer, type DigestServerSettings } from './digest-server.ts'

test('the responses match RFC 7616, 3.9.1 and RFC 2617, 3.5', () => {
  const auth = { nc: '00000001', cnonce: 'f2/wE4q74E6zIJEtWaHKaf5wv/H5QzzpXusqGemxURZJ' }
  const input = {
    ...{ username: 'Mufasa', password: 'Circle of Life', realm: 'http-auth@example.org', method: 'GET' },
    ...{ uri: '/dir/index.html', nonce: '7ypf/xlj9XXwfDPEoM4URrv/xwf94BcCAzFZH4GiTo0v', auth },
  }
  assert.equal(digest({ ...input, algorithm: 'MD5' }), '8ca523f5e9506fed4657c9700eebdbec')
  assert.equal(
    digest({ ...input, algorithm: 'SHA-256' }),
    '753927fa0e85d155564e2e272a28d1802ca10daf4496794697cf8db5856cb6c1',
  )
  const older = { realm: 'testrealm@host.com', nonce: 'dcd98b7102dd2f0e8b11d0f600bfb0c093', password: 'Circle Of Life' }
  assert.equal(
    digest({ ...input, ...older, algorithm: 'MD5', auth: { nc: '00000001', cnonce: '0a4f113b' } }),
    '6629fae49393a05397450978507c4ef1',
  )
})

const request = readRequest(invite)
const makeServer = (more: Partial<DigestServerSettings> = {}) => {
  const time = { now: 1_800_000_000_000 }
  return { time, server: new DigestServer({ realm: 'us.test', secret: 's', now: () => time.now, ...more }) }
}

const refusal = (server: DigestServer, stale = false) =>
  readResponse(
    `SIP/2.0 401 Unauthorized\n${octets(invite).toString().split('\r\n').slice(1, 10).join('\n')}\n${server
      .challenge(stale)
      .map((value) => `WWW-Authenticate: ${value}`)
      .join('\n')}\n\n`,
  )

const over = (message: SipRequest): SipRequest => {
  const again = parseMessage(printMessage(message))
  assert.ok(again.kind === 'request')
  return again
}

const judge = (server: DigestServer, signed: SipRequest | null, password = 'pass') => {
  assert.ok(signed)
  const got = over(signed)
  const claim = server.claim(got)
  assert.ok(claim)
  assert.equal(claim.username, 'ann')
  return server.verify(got, claim, password)
}

const credentials = { username: 'ann', password: 'pass' }

test('client and server agree on the best algorithm, and a nonce serves many requests', () => {
  const { server } = makeServer()
  const client = new DigestClient(credentials)
  const signed = client.answer(request, refusal(server))
  assert.ok(signed && header(signed, 'Authorization')?.includes('algorithm=SHA-256'))
  assert.equal(judge(server, signed), 'good')
  assert.equal(judge(server, client.sign(request)), 'good')
  assert.match(headersOf(client.sign(request), 'Authorization')[0] ?? '', /nc=00000003/)
})

test('MD5 is used with a peer that offers only MD5', () => {
  const { server } = makeServer({ algorithms: ['MD5'] })
  assert.equal(judge(server, new DigestClient(credentials).answer(request, refusal(server))), 'good')
})

test('a wrong password is refused and not retried', () => {
  const { server } = makeServer()
  const client = new DigestClient(credentials)
  const challenge = refusal(server)
  const signed = client.answer(request, challenge)
  assert.equal(judge(server, signed, 'other'), 'bad')
  assert.ok(signed)
  assert.equal(client.answer(signed, challenge), null)
  // The same holds when the server makes a nonce for every refusal.
  assert.equal(client.answer(signed, refusal(server), false), null)
  assert.ok(client.answer(signed, refusal(server, true), false))
})

test('a signature cannot be replayed, nor used for another target or method', () => {
  const { server } = makeServer()
  const signed = new DigestClient(credentials).answer(request, refusal(server))
  assert.ok(signed)
  assert.equal(judge(server, { ...signed, uri: 'sip:+33999@carrier.test' }), 'bad')
  const bye = { ...signed, method: 'BYE', headers: withHeader(signed, 'CSeq', '42 BYE').headers }
  assert.equal(judge(server, bye), 'bad')
  assert.equal(judge(server, signed), 'good')
  assert.equal(judge(server, signed), 'stale')
})

test('an expired or foreign nonce is stale, and the client takes the fresh one', () => {
  const { server, time } = makeServer()
  const client = new DigestClient(credentials)
  const signed = client.answer(request, refusal(server))
  time.now += 300_001
  assert.equal(judge(server, signed), 'stale')
  assert.ok(signed)
  assert.equal(judge(server, client.answer(signed, refusal(server, true))), 'good')
  const other = makeServer({ secret: 'another' })
  assert.equal(judge(server, new DigestClient(credentials).answer(request, refusal(other.server))), 'stale')
})

test('a nonce evicted from the table of counts stays stale', () => {
  const { server, time } = makeServer({ maxNonces: 10 })
  const first = new DigestClient(credentials).answer(request, refusal(server))
  assert.equal(judge(server, first), 'good')
  for (let i = 0; i < 20; i++) {
    time.now++
    assert.equal(judge(server, new DigestClient(credentials).answer(request, refusal(server))), 'good')
  }
  assert.equal(judge(server, first), 'stale')
})

for (const damage of [/nc=\w+/, /qop=auth/, /cnonce="[^"]*"/, /nonce="[^"]*"/, /uri="[^"]*"/, /response="[^"]*"/])
  test(`credentials without ${damage.source} are refused`, () => {
    const { server } = makeServer()
    const signed = new DigestClient(credentials).answer(request, refusal(server))
    assert.ok(signed)
    const value = (header(signed, 'Authorization') ?? '').replace(damage, 'x=1').replace(damage, 'y=1')
    assert.equal(judge(server, withHeader(signed, 'Authorization', value)), 'bad')
  })

test('an unknown scheme and a challenge without auth are not answered', () => {
  const client = new DigestClient(credentials)
  const { server } = makeServer()
  const challenge = (value: string) => withHeader(refusal(server), 'WWW-Authenticate', value)
  for (const value of ['Bearer x', 'NoOne opaque data', 'Digest realm="a",nonce="b",qop="auth-int"', 'Digest realm="a'])
    assert.equal(client.answer(request, challenge(value)), null)
  const old = client.answer(request, challenge('Digest realm="a", nonce="b"'))
  assert.ok(old)
  assert.doesNotMatch(header(old, 'Authorization') ?? '', /qop|cnonce/)
})
