import assert from 'node:assert/strict'
import { once } from 'node:events'
import { request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { makeWorld } from '../../../test/world.ts'
import { keyHash, makeKey } from '../lib/secret.ts'
import { makeAuthThrottle, makeExistenceCheck } from './auth-throttle.ts'

const world = await makeWorld({ TRUNKLINE_WRONG_KEYS_PER_MINUTE: '20' })
await world.app.listen({ host: '127.0.0.1', port: 0 })
const { port } = world.app.server.address() as AddressInfo // it listens on TCP

/** Sends a request over a real socket from a loopback address. */
const ask = async (localAddress: string, headers: Record<string, string>, path = '/open/info', method = 'GET') => {
  const outgoing = request({ host: '127.0.0.1', port, localAddress, path, method, headers }).end()
  const [answer] = await once(outgoing, 'response')
  const body = JSON.parse((await answer.toArray()).join(''))
  return { status: answer.statusCode, code: body.error_code, wait: Number(answer.headers['retry-after'] ?? 0) }
}
const withKey = (key: string) => ({ 'x-user-api-key': key })

test('an address is throttled after 20 wrong keys; its known keys and other addresses are not', async () => {
  const [ada, bob] = [await world.tenant(), await world.tenant()]
  assert.equal((await ask('127.0.0.2', withKey(ada.key))).status, 200)
  for (let i = 0; i < 20; i++) assert.equal((await ask('127.0.0.2', withKey(makeKey('UAK')))).status, 401)
  const refused = await ask('127.0.0.2', withKey('nonsense'))
  assert.deepEqual([refused.status, refused.code], [429, 'too_many_failures'])
  assert.ok(refused.wait >= 1 && refused.wait <= 60)
  const operator = await ask('127.0.0.2', { 'x-operator-key': 'nonsense' }, '/operator/accounts')
  assert.deepEqual([operator.status, operator.code], [429, 'too_many_failures'])
  const token = await ask('127.0.0.2', { authorization: 'Bearer nonsense' }, '/open/sdk/credentials', 'POST')
  assert.deepEqual([token.status, token.code], [429, 'too_many_failures'])

  assert.equal((await ask('127.0.0.2', withKey(ada.key))).status, 200, 'a known key')
  // An account change clears the key cache of every process: the key, valid before, is looked up again.
  await world.call('operator', 'PATCH', `/operator/accounts/${bob.uuid}`, { name: 'Changed' })
  assert.equal((await ask('127.0.0.2', withKey(ada.key))).status, 200, 'a key that was valid before')
  assert.equal((await ask('127.0.0.1', withKey(bob.key))).status, 200, 'another address')
  assert.equal((await ask('127.0.0.1', withKey('nonsense'))).status, 401, 'another address, a wrong key')
})

test('wrong operator keys and tokens count as wrong keys', async () => {
  for (let i = 0; i < 10; i++) {
    assert.equal((await ask('127.0.0.3', { 'x-operator-key': makeKey('OPK') }, '/operator/accounts')).status, 401)
    const token = await ask('127.0.0.3', { authorization: 'Bearer a.b.c' }, '/open/sdk/credentials', 'POST')
    assert.equal(token.status, 401)
  }
  assert.equal((await ask('127.0.0.3', withKey('nonsense'))).status, 429)
  assert.equal((await ask('127.0.0.3', { 'x-operator-key': world.operatorKey }, '/operator/accounts')).status, 200)
})

/** Returns a throttle with a manual clock. */
const clocked = (limit = 3) => {
  let now = 0
  const throttle = makeAuthThrottle(limit, () => now)
  const waitOf = (address: string) => Number(throttle.refusal(address)?.headers['retry-after'] ?? 0)
  return {
    ...throttle,
    waitOf,
    pass: (milliseconds: number) => {
      now += milliseconds
    },
  }
}

test('each wait is twice the previous one, up to a minute, and resets after ten minutes without failures', () => {
  const { failed, waitOf, pass } = clocked()
  for (let i = 0; i < 2; i++) failed('192.0.2.1')
  assert.equal(waitOf('192.0.2.1'), 0)
  const waits = Array.from({ length: 9 }, () => {
    failed('192.0.2.1')
    const wait = waitOf('192.0.2.1')
    pass(wait * 1_000)
    assert.equal(waitOf('192.0.2.1'), 0)
    return wait
  })
  assert.deepEqual(waits, [1, 2, 4, 8, 16, 32, 60, 60, 60])
  pass(600_000)
  failed('192.0.2.1')
  assert.equal(waitOf('192.0.2.1'), 0)
})

test('failures of different minutes do not add up', () => {
  const { failed, waitOf, pass } = clocked()
  for (let i = 0; i < 20; i++) {
    failed('192.0.2.1')
    pass(30_001)
    assert.equal(waitOf('192.0.2.1'), 0)
  }
})

test('keys of a throttled address share statements, and its many wrong ones do not delay those of other addresses', async () => {
  const statements: number[] = []
  const right = keyHash('right')
  const exists = makeExistenceCheck(async (hashes) => {
    statements.push(hashes.length)
    return hashes.filter((hash) => hash.equals(right)).map((hash) => ({ hash }))
  })
  const wrong = Array.from({ length: 10_000 }, (_, i) => exists('192.0.2.1', `wrong ${i}`))
  const own = exists('192.0.2.1', 'right')
  const other = exists('192.0.2.2', 'right')
  assert.equal(await other, true)
  assert.equal(await own, false, 'more keys than an address may have waiting')
  assert.ok((await Promise.all(wrong)).every((found) => !found))
  assert.ok(statements.length < 10, `${statements.length} statements`)
  assert.equal(await exists('192.0.2.1', 'right'), true)
})

test('the addresses of one /64 are throttled together, and 10,000 other addresses evict the oldest', () => {
  const { failed, waitOf } = clocked(1)
  failed('2001:db8::1')
  assert.equal(waitOf('2001:db8::ffff:2'), 1)
  assert.equal(waitOf('2001:db8:0:1::1'), 0)
  for (let i = 0; i < 10_000; i++) failed(`10.0.${i >> 8}.${i & 255}`)
  assert.equal(waitOf('2001:db8::1'), 0)
  assert.equal(waitOf('10.0.39.15'), 1)
})

test('a limit of 0 disables the throttle', () => {
  const { failed, waitOf } = clocked(0)
  for (let i = 0; i < 100; i++) failed('192.0.2.1')
  assert.equal(waitOf('192.0.2.1'), 0)
})
