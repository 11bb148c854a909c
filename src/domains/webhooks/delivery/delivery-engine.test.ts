import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Webhook as StandardWebhook } from 'standardwebhooks'
import { Webhook as SvixWebhook } from 'svix'
import { until } from '../../../../test/platform.ts'
import { makeDeliveryHarness, namesOf } from '../testing.ts'

const stage = await makeDeliveryHarness()
const { engine, receiver, createContacts, subscribe, advance, deliveries, call, tenant } = stage
const ada = await tenant()

const seen = (path: string, count: number) => until(async () => receiver.of(path).length >= count && receiver.of(path))

test('an event reaches its webhook within moments, signed, with its recorded bytes', async () => {
  const { uuid, secret } = await subscribe(ada, '/plain?x=1')
  await createContacts(ada, ['Grace'], 'Grace')
  const [got] = await seen('/plain?x=1', 1)
  assert.ok(got)
  assert.equal(got.headers['content-type'], 'application/json')
  const headers = {
    'webhook-id': got.id,
    'webhook-timestamp': String(got.headers['webhook-timestamp']),
    'webhook-signature': String(got.headers['webhook-signature']),
  }
  const payload = { event: 'contact.created', first_name: 'Grace', uuid: got.id.slice(3) }
  assert.deepEqual(JSON.parse(got.body), payload)
  new StandardWebhook(secret).verify(got.body, headers)
  new SvixWebhook(secret).verify(got.body, headers)
  assert.throws(() => new StandardWebhook(secret).verify(`${got.body} `, headers), /signature/i)
  assert.throws(() => new SvixWebhook(secret).verify(`${got.body} `, headers), /signature/i)
  const [delivery] = await until(async () => {
    const all = await deliveries(ada, uuid)
    return all[0].state === 'delivered' && all
  })
  assert.deepEqual(delivery.payload, payload)
  assert.equal(delivery.next_attempt_at, undefined)
  const [attempt] = delivery.attempts
  assert.equal(attempt.response_status, 200)
  assert.equal(attempt.response_excerpt, '{"seen":true}')
  assert.ok(attempt.latency_ms >= 0 && attempt.error === undefined)
})

test('retries follow the schedule with the same id and bytes, and end after the eighth attempt', async () => {
  const { uuid } = await subscribe(ada, '/status/500')
  await createContacts(ada, ['Ken'])
  const delays = [5, 300, 1_800, 7_200, 18_000, 36_000, 36_000]
  for (const [i, delay] of delays.entries()) {
    await seen('/status/500', i + 1)
    const [delivery] = await until(async () => {
      const all = await deliveries(ada, uuid)
      return all[0].attempts.length === i + 1 && all
    })
    const wait = (Date.parse(delivery.next_attempt_at) - Date.parse(delivery.attempts.at(-1).at)) / 1000
    assert.ok(
      wait >= delay * 0.9 - 1 && wait <= delay * 1.1 + 2,
      `attempt ${i + 2} after ${wait} s instead of ${delay}`,
    )
    await advance(Math.ceil(wait) + 1)
  }
  const calls = await seen('/status/500', 8)
  const [delivery] = await until(async () => {
    const all = await deliveries(ada, uuid)
    return all[0].state === 'failed' && all
  })
  assert.equal(delivery.attempts.length, 8)
  assert.equal(delivery.attempts[0].error, 'the receiver answered 500')
  assert.equal(new Set(calls.map(({ id, body }) => id + body)).size, 1)
  const stamps = calls.map(({ headers }) => Number(headers['webhook-timestamp']))
  assert.ok(
    stamps.every((stamp) => Math.abs(stamp - Date.now() / 1000) < 60),
    'signatures carry the real time, whatever the platform’s clock says',
  )
})

test('events of a conversation arrive in order, and wait at most five minutes for one that fails', async () => {
  const bob = await tenant()
  const { uuid } = await subscribe(bob, '/')
  receiver.status = 503
  await createContacts(bob, ['1', '2', '3'], 'one')
  await seen('/', 1)
  await createContacts(bob, ['other'], 'another')
  await seen('/', 2)
  assert.deepEqual(namesOf(receiver.of('/')), ['1', 'other'])
  await advance(6)
  await seen('/', 4)
  await until(async () => (await deliveries(bob, uuid)).at(-1).attempts.length === 2)
  assert.deepEqual(namesOf(receiver.of('/')).sort(), ['1', '1', 'other', 'other'])
  // The first event's third attempt is due before the others have waited five minutes. After it the queue goes on.
  await advance(295)
  await until(async () => namesOf(receiver.of('/')).includes('2'))
  receiver.status = 200
  await advance(400)
  await until(async () => (await deliveries(bob, uuid)).filter(({ state }) => state === 'delivered').length >= 3)
  await advance(3_000)
  await until(async () => (await deliveries(bob, uuid)).every(({ state }) => state === 'delivered'))
  const last = receiver.of('/').filter(({ id }, i, all) => all.findLastIndex((other) => other.id === id) === i)
  assert.deepEqual(
    namesOf(last).filter((name) => name !== 'other'),
    ['1', '2', '3'],
  )
})

test('a receiver that was down for six hours gets everything once and in order', async () => {
  const carol = await tenant()
  const { uuid } = await subscribe(carol, '/six')
  await receiver.down()
  const names = (from: number, to: number) => Array.from({ length: to - from }, (_, i) => String(from + i))
  await createContacts(carol, names(0, 30), 'a')
  await createContacts(carol, names(100, 130), 'b')
  for (const seconds of [10, 290, 310, 600, 1_800, 3_600, 7_200, 7_200]) {
    const before = (await deliveries(carol, uuid)).reduce((n, { attempts }) => n + attempts.length, 0)
    await advance(seconds)
    await until(
      async () => (await deliveries(carol, uuid)).reduce((n, { attempts }) => n + attempts.length, 0) > before,
    )
    await createContacts(carol, [String(30 + seconds)], 'c')
  }
  // A probe calls twice. A receiver that comes up between the two takes the second event first.
  await until(async () => engine.activeCalls() === 0)
  await receiver.up()
  await advance(300)
  await until(async () => (await deliveries(carol, uuid)).slice(0, 50).every(({ state }) => state === 'delivered'))
  await until(async () => receiver.of('/six').length >= 68)
  const calls = receiver.of('/six')
  assert.equal(calls.length, 68)
  assert.equal(new Set(calls.map(({ id }) => id)).size, 68)
  const ofLine = (from: number, to: number) =>
    namesOf(calls).filter((name) => Number(name) >= from && Number(name) < to)
  assert.deepEqual(ofLine(0, 30), names(0, 30))
  assert.deepEqual(ofLine(100, 130), names(100, 130))
  const { body } = await call(carol, 'GET', `/open/webhooks/${uuid}`)
  assert.equal(body.webhook.failures, 0)
})

test('probes of receivers that are down release their slots when they end', async () => {
  const dora = await tenant()
  const { uuid } = await subscribe(dora, '/status/503')
  await createContacts(
    dora,
    Array.from({ length: 10 }, (_, i) => String(i)),
  )
  const tries = async () => (await deliveries(dora, uuid)).reduce((sum, { attempts }) => sum + attempts.length, 0)
  await until(async () => (await tries()) === 10)
  for (let look = 1; look <= 3; look++) {
    const before = await tries()
    await advance(400)
    await until(async () => (await tries()) > before)
  }
  await until(async () => engine.activeCalls() === 0)
})
