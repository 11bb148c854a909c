import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type TestContext, test } from 'node:test'
import { ManualTimers, openPeer, requestText, settleSockets, until } from '@trunkline/sip/user-agent/testing.ts'
import { WebSocket } from 'ws'
import type { MediaEngine } from '../../../ports/media.ts'
import type { GatewaySettings } from '../gateway.ts'
import { makeCallControl, openBrowser, openGateway } from '../testing.ts'

/** These tests make no call. */
const media: MediaEngine = {
  openCall: async () => ({ outcome: 'refused', cause: 'full', reason: 'no media here' }),
  state: () => ({ calls: 0, capacity: 0 }),
  close: async () => {},
}

const open = async (t: TestContext, now?: () => number, settings: Partial<GatewaySettings> = {}) => {
  const timers = new ManualTimers()
  const { callControl, of, entries } = makeCallControl(() => ({ value: {} }), now)
  const started = await openGateway(t, { callControl, media, timers, ...(now ? { now } : {}), ...settings })
  const left = () => of('left').map(({ about }) => about)
  return { ...started, timers, left, entries }
}

const pass = async (timers: ManualTimers, seconds: number): Promise<void> => {
  for (let second = 0; second < seconds; second++) {
    timers.advance(1_000)
    if (second % 10 === 0) await settleSockets()
  }
}

const ann = { account: 'one', user: 'ANN' }

test('a browser registers with its credentials, at most until they expire', async (t) => {
  const { gateway, url, timers, left } = await open(t)
  const browser = await openBrowser(t, url, 'ANN')
  assert.match(await browser.register(), /^200/)
  assert.equal(gateway.isRegistered(ann), true)
  assert.match(await browser.register({ seconds: 9_000, until: Date.now() + 60_000 }), /^200/)
  await pass(timers, 58)
  assert.equal(gateway.isRegistered(ann), true)
  timers.advance(2_000)
  assert.equal(gateway.isRegistered(ann), false)
  assert.deepEqual(left(), ['ANN expired'])
  await until(() => browser.code === 4002)
})

test('a browser that registers prepares the media engine once; a refused one and a refresh do not', async (t) => {
  let prepared = 0
  const { url } = await open(t, undefined, { media: { ...media, prepare: () => prepared++ } })
  const browser = await openBrowser(t, url, 'ANN')
  await browser.register({ password: 'wrong' })
  assert.equal(prepared, 0)
  await browser.register()
  await browser.register()
  assert.equal(prepared, 1)
})

test('a wrong password, expired credentials and another user’s identity are refused', async (t) => {
  const { gateway, url } = await open(t)
  const browser = await openBrowser(t, url, 'ANN')
  assert.equal(await browser.register({ password: 'wrong' }), '403 The credentials are wrong')
  assert.equal(await browser.register({ until: Date.now() - 1 }), '403 The credentials have ended')
  assert.equal(await browser.register({ as: 'BOB' }), '403 claims and SIP identity do not match')
  assert.equal(gateway.isRegistered(ann), false)
  assert.equal(gateway.isRegistered({ account: 'one', user: 'BOB' }), false)
  assert.equal(browser.code, null)
})

test('the newest device replaces the previous one, which cannot take the registration back', async (t) => {
  const { gateway, url, left } = await open(t)
  const [old, fresh] = [await openBrowser(t, url, 'ANN'), await openBrowser(t, url, 'ANN')]
  assert.match(await old.register({ generation: 1 }), /^200/)
  assert.match(await fresh.register({ generation: 2 }), /^200/)
  await until(() => old.code === 4001)
  await old.connect()
  assert.equal(await old.register({ generation: 1 }), '403 A newer device has registered')
  assert.equal(gateway.isRegistered(ann), true)
  assert.equal(fresh.code, null)
  assert.deepEqual(left(), ['ANN replaced'])
})

test('a user who unregisters is gone, and a suspended user is disconnected', async (t) => {
  const { gateway, url, left } = await open(t)
  const browser = await openBrowser(t, url, 'ANN')
  await browser.register()
  assert.match(await browser.register({ seconds: 0 }), /^200/)
  assert.equal(gateway.isRegistered(ann), false)
  await browser.register()
  await gateway.dropRegistrations([ann], 'suspended', true)
  assert.equal(gateway.isRegistered(ann), false)
  await until(() => browser.code === 4003)
  assert.deepEqual(left(), ['ANN requested', 'ANN suspended'])
})

test('a disconnected browser gets no calls and keeps its registration if it returns within 30 s', async (t) => {
  const { gateway, url, left, timers } = await open(t)
  const browser = await openBrowser(t, url, 'ANN')
  for (const returns of [true, false]) {
    await browser.register()
    browser.cut()
    await until(() => !gateway.isRegistered(ann))
    await settleSockets()
    timers.advance(29_000)
    assert.deepEqual(left(), [])
    if (returns) {
      await browser.connect()
      await browser.register()
      timers.advance(2_000)
      assert.equal(gateway.isRegistered(ann), true)
    }
  }
  timers.advance(1_000)
  assert.deepEqual(left(), ['ANN expired'])
})

test('a connection without a registration or without the SIP subprotocol is closed', async (t) => {
  const { url, timers } = await open(t)
  const browser = await openBrowser(t, url, 'ANN')
  await pass(timers, 80)
  await until(() => browser.code === 1000)
  const other = new WebSocket(url, 'graphql')
  const [error] = await once(other, 'error')
  assert.match(String(error), /400/)
})

test('unregistered connections of one address are limited, and other addresses can still connect', async (t) => {
  const { url } = await open(t)
  const dial = async (headers: Record<string, string> = {}): Promise<string> => {
    const socket = new WebSocket(url, 'sip', { headers })
    t.after(() => socket.terminate())
    socket.on('error', () => {})
    const [answer] = await Promise.race([
      once(socket, 'open').then(() => ['open']),
      once(socket, 'unexpected-response'),
    ])
    return answer === 'open' ? 'open' : 'refused'
  }
  const browser = await openBrowser(t, url, 'ANN')
  assert.match(await browser.register(), /^200/)
  const first = await Promise.all(Array.from({ length: 200 }, () => dial()))
  assert.ok(first.every((answer) => answer === 'open'))
  assert.equal(await dial(), 'refused')
  assert.equal(await dial({ 'x-forwarded-for': '127.0.0.1, 198.51.100.7' }), 'refused')
  assert.equal(await dial({ 'x-client': '198.51.100.7' }), 'open')
})

test('an unknown peer gets no response to any message', async (t) => {
  const { gateway } = await open(t)
  const peer = await openPeer(t)
  for (const method of ['OPTIONS', 'REGISTER', 'INVITE', 'BYE'])
    peer.send(requestText(method, gateway.port, '', { branch: `z9hG4bK${method}` }), gateway.port)
  peer.send('INVITE nonsense', gateway.port)
  // Any response would have been sent within these turns of the event loop.
  await settleSockets()
  assert.deepEqual(peer.heard, [])
})

test('an account may use a quarter of the capacity, and users of another account can still register', async (t) => {
  const { url } = await open(t, undefined, { maxBrowsers: 8 })
  const browsers = await Promise.all(['ANN', 'BOB', 'EVE'].map((user) => openBrowser(t, url, user)))
  const [ann, bob, eve] = browsers
  assert.ok(ann && bob && eve)
  assert.match(await ann.register(), /^200/)
  assert.match(await bob.register(), /^200/)
  assert.equal(await eve.register(), '503 Too Many Users')
  const other = await openBrowser(t, url, 'ELSE')
  assert.match(await other.register(), /^200/)
  assert.match(await ann.register(), /^200/, 'a registered user can refresh')
  assert.match(await bob.register({ seconds: 0 }), /^200/)
  assert.match(await eve.register(), /^200/, 'the freed place can be used')
})
