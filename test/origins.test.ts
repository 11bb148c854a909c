import assert from 'node:assert/strict'
import { once } from 'node:events'
import { request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { makeWorld, type World } from './world.ts'

// Pages of other origins: scheme, host and port are compared exactly, at every place that compares them.

const plain = await makeWorld({ TRUNKLINE_SANDBOX: 'false', TRUNKLINE_CORS_ORIGINS: 'https://app.example.com' })
const { db } = plain
const proxied = await makeWorld(
  { TRUNKLINE_TRUST_PROXY: 'loopback', TRUNKLINE_SANDBOX: 'true' },
  {},
  { db, publicUrl: () => 'https://voice.example.com/base' },
)
const portOf = async ({ app }: World): Promise<number> => {
  await app.listen({ host: '127.0.0.1', port: 0 })
  return (app.server.address() as AddressInfo).port // a TCP server
}
const port = await portOf(plain)
const proxiedPort = await portOf(proxied)
const { key } = await plain.tenant()

/** Origins that are nearly `http://HOST:PORT`. */
const nearly = (host: string, at: number | null): string[] => {
  const end = at === null ? '' : `:${at}`
  return [
    `https://${host}${end}`,
    `http://user@${host}${end}`,
    `http://user:password@${host}${end}`,
    `http://@${host}${end}`,
    `http://${host}${end}/`,
    `http://${host}${end}/path`,
    `http://${host}${end}?x`,
    `http://${host}${end}#x`,
    `http://${host}.${end}`,
    `http://${host}:${(at ?? 80) + 1}`,
    ...(at === null ? [`http://${host}:80`] : [`http://${host}`]),
    `HTTP://${host}${end}`,
    `http:${host}${end}`,
    `http:\\\\${host}${end}`,
    ` http://${host}${end}.evil.example`,
    `http://${host}.evil.example${end}`,
    `http://evil.example#${host}${end}`,
    `ws://${host}${end}`,
    `${host}${end}`,
    'null',
    '',
  ]
}

const codeOf = async (sent: ReturnType<typeof request>): Promise<string> => {
  const answered = once(sent.end(), 'response')
  const upgraded = once(sent, 'upgrade')
  const first = await Promise.race([answered, upgraded])
  first[1]?.destroy()
  if (first[0].statusCode < 400) return first[0].resume() && 'admitted'
  const { error_code } = JSON.parse(Buffer.concat(await first[0].toArray()).toString())
  return error_code
}

const signIn = (to: number, headers: Record<string, string>) => {
  const sent = request({
    ...{ port: to, method: 'POST', path: '/console/session' },
    headers: { 'content-type': 'application/json', ...headers },
  })
  sent.write(JSON.stringify({ key }))
  return codeOf(sent)
}

const upgrade = (to: number, path: string, headers: Record<string, string>) =>
  codeOf(
    request({
      ...{ port: to, path },
      headers: {
        ...{ connection: 'Upgrade', upgrade: 'websocket', 'sec-websocket-version': '13' },
        ...{ 'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==', ...headers },
      },
    }),
  )

test('a sign-in takes the exact origin of its own page, and no other', async () => {
  for (const [host, at] of [
    ['127.0.0.1', port],
    ['localhost', port],
    ['[::1]', 8080],
    ['voice.example.com', null],
  ] as const) {
    const named = at === null ? host : `${host}:${at}`
    assert.equal(await signIn(port, { host: named, origin: `http://${named}` }), 'admitted', named)
    assert.equal(await signIn(port, { host: named.toUpperCase(), origin: `http://${named}` }), 'admitted', named)
    for (const origin of nearly(host, at)) assert.equal(await signIn(port, { host: named, origin }), 'csrf', origin)
  }
  assert.equal(await signIn(port, { host: 'voice.example.com:80', origin: 'http://voice.example.com' }), 'admitted')
  assert.equal(await signIn(port, { host: 'user@evil.example', origin: 'http://evil.example' }), 'csrf')
  assert.equal(await signIn(port, { host: '[0:0:0:0:0:0:0:1]:81', origin: 'http://[::1]:81' }), 'admitted')
  assert.equal(await signIn(port, { host: '[::1]:81', origin: 'http://[0:0:0:0:0:0:0:1]:81' }), 'csrf')
})

test('a request with a session, and each upgrade, takes the exact origin of its own page', async () => {
  const host = `127.0.0.1:${port}`
  const opened = await plain.app.inject({ method: 'POST', url: '/console/session', payload: { key } })
  const cookie = String(opened.headers['set-cookie']).split(';', 1)[0] ?? ''
  const change = (origin: string) =>
    codeOf(
      request({
        ...{ port, method: 'DELETE', path: '/console/session' },
        headers: { host, cookie, origin, 'x-trunkline-console': '1' },
      }),
    )
  const live = { host, cookie, 'sec-websocket-protocol': 'trunkline.console.1' }
  for (const origin of nearly('127.0.0.1', port)) {
    assert.equal(await change(origin), 'csrf', origin)
    assert.equal(await upgrade(port, '/console/live', { ...live, origin }), 'origin_not_allowed', origin)
    for (const path of ['/voice', '/open/webhooks/listen'])
      assert.equal(await upgrade(port, path, { host, origin }), 'origin_not_allowed', `${path} ${origin}`)
  }
  assert.equal(await upgrade(port, '/console/live', { ...live, origin: 'https://app.example.com' }), 'csrf')
  assert.equal(await upgrade(port, '/open/webhooks/listen', { host, origin: `http://${host}` }), 'unauthorized')
  assert.equal(await change(`http://${host}`), 'admitted')
})

test('behind a proxy the page has the protocol and host that the proxy wrote, or the public URL', async () => {
  const forwarded = { 'x-forwarded-for': '192.0.2.1', 'x-forwarded-proto': 'https', host: 'inner:8080' }
  const named = { ...forwarded, 'x-forwarded-host': 'evil.example, console.example.com' }
  for (const [headers, origin, outcome] of [
    [forwarded, 'https://inner:8080', 'admitted'],
    [forwarded, 'http://inner:8080', 'csrf'],
    [forwarded, 'https://voice.example.com', 'admitted'],
    [forwarded, 'http://voice.example.com', 'csrf'],
    [forwarded, 'https://voice.example.com:8443', 'csrf'],
    [named, 'https://console.example.com', 'admitted'],
    [named, 'https://evil.example', 'csrf'],
    [named, 'https://inner:8080', 'csrf'],
  ] as const)
    assert.equal(await signIn(proxiedPort, { ...headers, origin }), outcome, origin)
  // No proxy is trusted here.
  assert.equal(await signIn(port, { ...named, origin: 'https://console.example.com' }), 'https_required')
  const spoofed = { host: `127.0.0.1:${port}`, 'x-forwarded-host': 'evil.example', origin: 'http://evil.example' }
  assert.equal(await upgrade(port, '/voice', spoofed), 'origin_not_allowed')
})

test('a session over plain HTTP from another machine opens no live feed', async () => {
  const headers = {
    host: 'voice.example.com',
    origin: 'http://voice.example.com',
    'x-forwarded-for': '192.0.2.1',
    'sec-websocket-protocol': 'trunkline.console.1',
    cookie: '__Host-trunkline=x',
  }
  assert.equal(await upgrade(port, '/console/live', headers), 'https_required')
})

test('CORS admits the configured origins and those of this machine exactly', async () => {
  const allowed = async ({ app }: World, origin: string) => {
    const answer = await app.inject({ method: 'POST', url: '/open/sdk/credentials', headers: { origin } })
    return answer.headers['access-control-allow-origin'] === origin
  }
  assert.equal(await allowed(plain, 'https://app.example.com'), true)
  for (const origin of nearly('app.example.com', null))
    assert.equal(await allowed(plain, origin), origin === 'https://app.example.com', origin)
  for (const origin of ['http://localhost:3000', 'https://127.0.0.1', 'http://[::1]:81'])
    assert.deepEqual([await allowed(proxied, origin), await allowed(plain, origin)], [true, false], origin)
  for (const origin of [
    'http://localhost:80',
    'http://user@localhost',
    'http://127.0.0.999',
    'http://127.1',
    'http://localhost/',
    'null',
  ])
    assert.equal(await allowed(proxied, origin), false, origin)
})
