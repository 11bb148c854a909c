import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type TestContext, test } from 'node:test'
import { WebSocket } from 'ws'
import type { MediaEngine } from '../../port.ts'
import { ask, ManualTimers, openPeer, turns, until } from '../testing.ts'
import { makeDesk, openBrowser, openGateway } from './testing.ts'

/** No call is made here. */
const media: MediaEngine = {
  openCall: async () => ({ outcome: 'refused', cause: 'full', reason: 'no media here' }),
  state: () => ({ calls: 0, room: 0 }),
  close: async () => {},
}

const open = async (t: TestContext, now?: () => number, settings: { mostBrowsers?: number } = {}) => {
  const timers = new ManualTimers()
  const { desk, of, entries } = makeDesk(() => ({ value: {} }), now)
  const started = await openGateway(t, { desk, media, timers, ...(now ? { now } : {}), ...settings })
  const left = () => of('left').map(({ about }) => about)
  return { ...started, timers, left, entries }
}

const pass = async (timers: ManualTimers, seconds: number): Promise<void> => {
  for (let second = 0; second < seconds; second++) {
    timers.advance(1_000)
    if (second % 10 === 0) await turns()
  }
}

const ann = { account: 'one', user: 'ANN' }

test('a browser registers with the password of its credentials, for as long as they last at most', async (t) => {
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

test('a wrong password, credentials that have ended, and the name of another are refused', async (t) => {
  const { gateway, url } = await open(t)
  const browser = await openBrowser(t, url, 'ANN')
  assert.equal(await browser.register({ password: 'wrong' }), '403 The credentials are wrong')
  assert.equal(await browser.register({ until: Date.now() - 1 }), '403 The credentials have ended')
  assert.equal(await browser.register({ as: 'BOB' }), '403 claims and SIP identity do not match')
  assert.equal(gateway.isRegistered(ann), false)
  assert.equal(gateway.isRegistered({ account: 'one', user: 'BOB' }), false)
  assert.equal(browser.code, null)
})

test('the newest device replaces the one before, which cannot fight back', async (t) => {
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

test('who takes the registration back is gone, and who was suspended is sent away', async (t) => {
  const { gateway, url, left } = await open(t)
  const browser = await openBrowser(t, url, 'ANN')
  await browser.register()
  assert.match(await browser.register({ seconds: 0 }), /^200/)
  assert.equal(gateway.isRegistered(ann), false)
  await browser.register()
  await gateway.drop([ann], 'suspended', true)
  assert.equal(gateway.isRegistered(ann), false)
  await until(() => browser.code === 4003)
  assert.deepEqual(left(), ['ANN requested', 'ANN suspended'])
})

test('a browser whose connection broke is not called, has 30 s to come back, and is the same then', async (t) => {
  const { gateway, url, left, timers } = await open(t)
  const browser = await openBrowser(t, url, 'ANN')
  for (const returns of [true, false]) {
    await browser.register()
    browser.cut()
    await until(() => !gateway.isRegistered(ann))
    await turns()
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

test('a connection over which nobody registers is closed, and so is one that does not speak SIP', async (t) => {
  const { url, timers } = await open(t)
  const browser = await openBrowser(t, url, 'ANN')
  await pass(timers, 80)
  await until(() => browser.code === 1000)
  const other = new WebSocket(url, 'graphql')
  const [error] = await once(other, 'error')
  assert.match(String(error), /400/)
})

test('one address cannot take all places without registering, and does not keep out those who come by another', async (t) => {
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
  assert.equal(await dial({ 'x-forwarded-for': '127.0.0.1, 198.51.100.7' }), 'open')
})

test('a stranger hears nothing, whatever is asked', async (t) => {
  const { gateway } = await open(t)
  const peer = await openPeer(t)
  for (const method of ['OPTIONS', 'REGISTER', 'INVITE', 'BYE'])
    peer.send(ask(method, gateway.port, '', { branch: `z9hG4bK${method}` }), gateway.port)
  peer.send('INVITE nonsense', gateway.port)
  // What is answered at all is answered before the next turns of the loop are over.
  await turns()
  assert.deepEqual(peer.heard, [])
})

test('a quarter of the places is the share of an account; users of another register beyond it', async (t) => {
  const { url } = await open(t, undefined, { mostBrowsers: 8 })
  const browsers = await Promise.all(['ANN', 'BOB', 'EVE'].map((user) => openBrowser(t, url, user)))
  const [ann, bob, eve] = browsers
  assert.ok(ann && bob && eve)
  assert.match(await ann.register(), /^200/)
  assert.match(await bob.register(), /^200/)
  assert.equal(await eve.register(), '503 Too Many Users')
  const other = await openBrowser(t, url, 'ELSE')
  assert.match(await other.register(), /^200/)
  assert.match(await ann.register(), /^200/, 'who is registered stays so')
  assert.match(await bob.register({ seconds: 0 }), /^200/)
  assert.match(await eve.register(), /^200/, 'the place that was left is free')
})
