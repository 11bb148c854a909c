import assert from 'node:assert/strict'
import { test } from 'node:test'
import { until } from '../../../../test/platform.ts'
import { record } from '../../events/ops.ts'
import { makeDeliveryHarness, namesOf } from '../testing.ts'

const timeoutMs = 1_500
const stage = await makeDeliveryHarness({ timeoutMs })
const { receiver, createContacts, subscribe, advance, deliveries, call, db, tenant } = stage

const attempted = (who: Awaited<ReturnType<typeof tenant>>, uuid: string, count = 1) =>
  until(async () => {
    const [delivery] = await deliveries(who, uuid)
    return delivery?.attempts.length >= count && delivery
  })

/** Expected log entry for each fault of a receiver. */
const ways: Record<string, { state: string; status?: number; error?: RegExp; excerpt?: number; slow?: true }> = {
  '/mute': { state: 'pending', error: /^timeout: no answer within/, slow: true },
  '/drip-head': { state: 'pending', error: /^timeout: no answer within/, slow: true },
  '/drip': { state: 'delivered', status: 200, slow: true },
  '/gigabyte': { state: 'delivered', status: 200, excerpt: 1_000 },
  '/redirect': { state: 'pending', status: 307, error: /^redirects are not followed$/ },
  '/cut': { state: 'pending', status: 500, error: /^the receiver answered 500$/ },
  '/hang': { state: 'pending', error: /^closed: / },
  '/garbage': { state: 'pending', error: /^closed: / },
  '/status/404': { state: 'pending', status: 404, error: /answered 404/ },
}

test('a faulty receiver costs one call, bounded in time and memory, and delays no other', async () => {
  const ada = await tenant()
  const before = process.memoryUsage().rss
  const hooks = new Map<string, string>()
  for (const path of Object.keys(ways)) hooks.set(path, (await subscribe(ada, path)).uuid)
  const { uuid: well } = await subscribe(ada, '/well')
  const began = performance.now()
  await createContacts(ada, ['Grace'], 'Grace')
  await until(async () => (await deliveries(ada, well))[0].state === 'delivered')
  assert.ok(performance.now() - began < timeoutMs, 'a healthy receiver was called while others were still slow')
  for (const [path, expected] of Object.entries(ways)) {
    const delivery = await attempted(ada, hooks.get(path) ?? '')
    const [attempt] = delivery.attempts
    assert.equal(delivery.state, expected.state, path)
    assert.equal(attempt.response_status, expected.status, path)
    if (expected.error) assert.match(attempt.error, expected.error, path)
    else assert.equal(attempt.error, undefined, path)
    if (expected.excerpt) assert.equal(attempt.response_excerpt.length, expected.excerpt, path)
    assert.ok(attempt.latency_ms < timeoutMs + 1_000, `${path} took ${attempt.latency_ms} ms`)
    assert.equal(receiver.of(path).length, 1, path)
  }
  const grown = (process.memoryUsage().rss - before) / 2 ** 20
  assert.ok(grown < 150, `memory grew by ${grown} MB, with a response of a gigabyte`)
})

test('410 disables a webhook at once, and its pending deliveries fail', async () => {
  const bob = await tenant()
  const { uuid } = await subscribe(bob, '/status/410')
  // In one transaction: events recorded after the 410 response get no delivery to the disabled webhook.
  await db.begin((tx) =>
    record(
      tx,
      ['1', '2', '3'].map((first_name) => ({
        ...{ account: bob.id, name: 'contact.created', channel: null, conversation: 'one', payload: { first_name } },
      })),
    ),
  )
  await until(async () => {
    const all = await deliveries(bob, uuid)
    return all.length === 3 && all.every(({ state }) => state === 'failed')
  })
  assert.equal(receiver.of('/status/410').length, 1)
  assert.deepEqual((await call(bob, 'GET', '/open/webhooks')).body.webhooks, [])
  const { webhook } = (await call(bob, 'GET', `/open/webhooks/${uuid}`)).body
  assert.equal(webhook.disabled_reason, 'gone')
  const [last] = await deliveries(bob, uuid)
  assert.equal(last.attempts.at(-1).error, 'the webhook is disabled')
  await createContacts(bob, ['4'], 'one')
  assert.equal((await deliveries(bob, uuid)).length, 3)
  assert.equal((await call(bob, 'POST', `/open/webhooks/deliveries/${last.id}/redeliver`)).status, 409)
})

test('429 with Retry-After pauses every delivery to the receiver for that time', async () => {
  const carol = await tenant()
  const { uuid } = await subscribe(carol, '/later/120')
  await createContacts(carol, ['1'], null)
  const delivery = await attempted(carol, uuid)
  const wait = (Date.parse(delivery.next_attempt_at) - Date.parse(delivery.attempts[0].at)) / 1000
  assert.ok(wait >= 119 && wait <= 123, `${wait} s instead of 120`)
  await createContacts(carol, ['2'], null)
  await advance(60)
  // Another webhook is called meanwhile, so this one would have had time too.
  const { uuid: other } = await subscribe(carol, '/other')
  await createContacts(carol, ['3'], null)
  await until(async () => (await deliveries(carol, other))[0].state === 'delivered')
  assert.deepEqual(namesOf(receiver.of('/later/120')), ['1'])
  await advance(65)
  await until(async () => receiver.of('/later/120').length >= 2)
})

test('a webhook that fails for five days is disabled; enabled again, it starts without failures', async () => {
  const dave = await tenant()
  const { uuid } = await subscribe(dave, '/status/503')
  await createContacts(dave, ['1'], null)
  await attempted(dave, uuid)
  await advance(5 * 86_400 - 3_600)
  await until(async () => (await deliveries(dave, uuid))[0].attempts.length >= 2)
  const state = async () => {
    const { body } = await call(dave, 'GET', `/open/webhooks/${uuid}`)
    assert.ok(body.webhook, JSON.stringify(body))
    return body.webhook
  }
  assert.equal((await state()).enabled, true)
  await createContacts(dave, ['2'], null)
  await until(async () => (await deliveries(dave, uuid))[0].attempts.length >= 1)
  await advance(3_700)
  await until(async () => (await state()).disabled_reason === 'failing')
  const enabled = await call(dave, 'PUT', `/open/webhooks/${uuid}`, { enabled: true })
  assert.equal(enabled.body.webhook?.enabled, true, JSON.stringify(enabled.body))
  const { failures, failing_since: since } = await state()
  assert.deepEqual([failures, since], [0, undefined])
})
