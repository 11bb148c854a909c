import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type AddressInfo, connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { makeWorld } from '../../../test/world.ts'

const settings = { TRUNKLINE_SANDBOX: 'false', TRUNKLINE_CORS_ORIGINS: 'https://app.example.com' }
const world = await makeWorld(settings, {}, { publicUrl: () => 'https://voice.example.com' })
const { app, tenant, operatorKey } = world
await app.listen({ host: '127.0.0.1', port: 0 })
const { port } = app.server.address() as AddressInfo // it listens on TCP
const { key } = await tenant()

/** Sends raw bytes and returns the status and error code of the response. */
const said = async (bytes: string): Promise<[status: number, code: string | undefined]> => {
  const socket = connect(port, '127.0.0.1')
  await once(socket, 'connect')
  socket.write(bytes)
  const answer = await text(socket)
  return [Number(answer.slice(9, 12)), /"error_code":"(\w+)"/.exec(answer)?.[1]]
}
const get = (version: string, ...lines: string[]) =>
  said([`GET /ping HTTP/${version}`, ...lines, 'Connection: close', '', ''].join('\r\n'))

test('a request with repeated or missing Host, or of another HTTP version, is refused with 400', async () => {
  const host = 'Host: localhost'
  assert.deepEqual(await get('1.1', host), [200, undefined])
  assert.deepEqual(await get('1.0'), [200, undefined])
  for (const lines of [[], [host, host], [host, 'host: other'], [host, 'X-Operator-Key: a', 'x-operator-key: b']])
    assert.deepEqual(await get('1.1', ...lines), [400, 'malformed_request'], lines.join())
  for (const version of ['2.0', '0.9'])
    assert.deepEqual(await get(version, host), [400, 'http_version_not_supported'], version)
})

test('a body with a content coding other than identity is refused with 415', async () => {
  const send = (coding: string, payload: Buffer) =>
    app.inject({
      method: 'POST',
      url: '/operator/accounts',
      headers: { 'x-operator-key': operatorKey, 'content-type': 'application/json', 'content-encoding': coding },
      payload,
    })
  const body = Buffer.from('{"name":"Example Ltd"}')
  for (const coding of ['gzip', 'br', 'GZIP', 'identity, gzip', 'x']) {
    const refused = await send(coding, gzipSync(body))
    assert.deepEqual([refused.statusCode, refused.json().error_code], [415, 'unsupported_content_encoding'], coding)
    assert.equal(refused.headers['accept-encoding'], 'identity')
  }
  assert.equal((await send('identity', body)).statusCode, 201)
})

test('every API response forbids caching and type guessing', async () => {
  const headers = { 'x-user-api-key': key, 'x-operator-key': operatorKey }
  for (const [method, url] of [
    ['GET', '/open/info'],
    ['GET', '/operator/accounts'],
    ['GET', '/open/none'],
    ['GET', '/sandbox/handsets/+447700900123'],
    ['DELETE', '/open/info'],
    ['POST', '/open/sms/send'],
    ['GET', '/open/%ff'],
  ] as const) {
    const answer = await app.inject({ method, url, headers })
    assert.equal(answer.headers['cache-control'], 'no-store', url)
    assert.equal(answer.headers['x-content-type-options'], 'nosniff', url)
  }
  const anonymous = await app.inject({ method: 'GET', url: '/open/info' })
  assert.deepEqual([anonymous.statusCode, anonymous.headers['cache-control']], [401, 'no-store'])
  const page = await app.inject({ method: 'GET', url: '/sdk/licenses.txt' })
  assert.notEqual(page.headers['cache-control'], 'no-store')
})

test('every WebSocket path refuses pages of other origins with 403', async () => {
  const upgrade = (path: string, origin: string | null, host = `127.0.0.1:${port}`) =>
    said(
      [
        `GET ${path} HTTP/1.1`,
        `Host: ${host}`,
        'Connection: Upgrade',
        'Upgrade: websocket',
        'Sec-WebSocket-Version: 13',
        'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==',
        ...(origin === null ? [] : [`Origin: ${origin}`]),
        '',
        '',
      ].join('\r\n'),
    )
  for (const path of ['/voice', '/open/webhooks/listen']) {
    for (const origin of [
      'https://evil.example.com',
      'null',
      'http://localhost:3000',
      'https://app.example.com.evil.example',
      'https://app.example.co',
      'http://app.example.com',
      'https://voice.example.com:8443',
    ]) {
      assert.deepEqual(await upgrade(path, origin), [403, 'origin_not_allowed'], `${path} ${origin}`)
    }
    // These fail later: they have no key and no subprotocol.
    for (const origin of [null, 'https://app.example.com', 'https://voice.example.com', `http://127.0.0.1:${port}`])
      assert.notEqual((await upgrade(path, origin))[1], 'origin_not_allowed', `${path} ${origin}`)
    assert.equal((await upgrade(path, null, 'a\r\nHost: b'))[0], 400)
  }
})
