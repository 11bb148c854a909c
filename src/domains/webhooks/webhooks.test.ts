import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Webhook as StandardWebhook } from 'standardwebhooks'
import { until } from '../../../test/platform.ts'
import type { Tenant } from '../../../test/world.ts'
import { assemble } from '../../assemble.ts'
import { startWorker } from '../../platform/jobs/consume/worker.ts'
import { uuid } from '../../platform/lib/id.ts'
import { buildApp } from '../../start-roles.ts'
import { record } from '../events/ops.ts'
import { purgeDeliveriesDaily, webhookJobs } from './jobs.ts'
import { makeDeliveryHarness, namesOf } from './testing.ts'

const stage = await makeDeliveryHarness()
const { receiver, createContacts, subscribe, advance, deliveries, call, tenant, db, parts } = stage

/** A number with an SMS channel, as a purchase leaves it. */
const line = async (who: Tenant) => {
  const [did, sms] = [uuid(), uuid()]
  const number = `+44770090${String(1_000 + Math.floor(Math.random() * 8_999))}`
  await db.run`
    insert into virtual_numbers (account_id, id, number, group_id, iso_country_code, region_name, type, friendly_name,
      monthly_price, ppm, status_text, expires_at)
    values (${who.id}, ${did}, ${number}, 'g', 'GB', '', 'mobile', 'one', 1, 0, 'ACTIVE', 'infinity')`
  await db.run`
    insert into sms_channels (account_id, id, virtual_number_id, phone_number, friendly_name, iso_country_code,
      supports_sms_in, supports_sms_out)
    values (${who.id}, ${sms}, ${did}, ${number}, 'one', 'GB', true, true)`
  return { did: `DID${did}`, sms: `SMS${sms}`, number }
}

const to = (who: Tenant, event: string, body: object) => call(who, 'POST', `/open/webhooks/subscribe/${event}`, body)

test('a subscription names a channel of any kind by id or number; repeating it enables the same one', async () => {
  const ada = await tenant()
  const { did, sms, number } = await line(ada)
  const hook_url = receiver.url('/same')
  const first = await to(ada, 'sms.message.received', { hook_url, channel_uuid: sms })
  assert.equal(first.status, 201)
  assert.match(first.body.data.signing_secret, /^whsec_/)
  const { uuid: id } = first.body.data
  await call(ada, 'PUT', `/open/webhooks/${id}`, { enabled: false })
  assert.deepEqual((await call(ada, 'GET', `/open/webhooks/channel/${sms}`)).body.webhooks, [])
  const again = await to(ada, 'sms.message.received', { hook_url, on_number: number })
  assert.deepEqual([again.status, again.body.data.uuid, again.body.data.enabled], [200, id, true])
  assert.equal(again.body.data.signing_secret, first.body.data.signing_secret)

  const byNumber = await to(ada, 'call.outgoing.completed', { hook_url, on_number: '' })
  assert.equal(byNumber.status, 201)
  assert.equal(byNumber.body.data.event_name, 'call.outgoing.completed')
  assert.equal(byNumber.body.data.channel_uuid, undefined)
  assert.equal((await to(ada, 'sms.message.sent', { hook_url, channel_uuid: did })).body.data.channel_uuid, did)
  const listed = (await call(ada, 'GET', '/open/webhooks')).body.webhooks
  assert.equal(listed.length, 3)
  assert.equal(listed[0].signing_secret, undefined)
  assert.equal((await call(ada, 'DELETE', `/open/webhooks/${id}`)).status, 200)
  assert.equal((await call(ada, 'GET', `/open/webhooks/${id}`)).status, 404)
  assert.notEqual((await to(ada, 'sms.message.received', { hook_url, channel_uuid: sms })).body.data.uuid, id)
})

test('an invalid subscription is rejected, and the message says why', async () => {
  const ada = await tenant()
  const hook_url = receiver.url('/never')
  const refused: [string, object, number, RegExp][] = [
    ['sms.message.read', { hook_url }, 400, /no event sms\.message\.read; there are .*sms\.message\.received/],
    ['sms.message.sent', { hook_url }, 400, /channel_uuid or on_number is required/],
    ['sms.message.sent', { hook_url, on_number: '12' }, 422, /phone number/],
    ['msgapp.message.received', { hook_url, on_number: '+447700900999' }, 404, /not a number of this account/],
    ['sms.message.sent', { hook_url, channel_uuid: `WPN${uuid()}` }, 400, /must be an SMS channel \(SMS…\)/],
    ['call.status.update', { hook_url, channel_uuid: `WPN${uuid()}` }, 400, /must be a virtual number/],
    [
      'msgapp.message.received',
      { hook_url, channel_uuid: `SMS${uuid()}` },
      400,
      /must be a channel of the messaging app/,
    ],
    ['msgapp.number.status', { hook_url, channel_uuid: `DID${uuid()}` }, 400, /must be a channel of the messaging app/],
    ['msgapp.message.received', { hook_url, waweb_uuid: `WPN${uuid()}` }, 404, /does not exist/],
    [
      'contact.created',
      { hook_url, to_group_uuid: `WAG${uuid()}` },
      400,
      /to_group_uuid applies to events of messages/,
    ],
    ['contact.created', { hook_url: 'ftp://example.com/' }, 400, /hook_url/],
    ['contact.created', { hook_url: 'http://169.254.169.254/latest' }, 400, /hook_url leads to/],
  ]
  for (const [event, body, status, message] of refused) {
    const answer = await to(ada, event, body)
    assert.equal(answer.status, status, JSON.stringify(answer.body))
    assert.match(answer.body.error_message, message)
  }
  for (const event of ['msgapp.order.received', 'msgapp.waba.message.received'])
    assert.equal((await to(ada, event, { hook_url, on_number: '+447700900999' })).status, 404)
})

test('a slow name server delays no other request', async () => {
  const ada = await tenant()
  const { promise, resolve } = Promise.withResolvers<null>()
  const { promise: requested, resolve: seen } = Promise.withResolvers<void>()
  let waiting = 0
  const judge = () => {
    if (++waiting === 20) seen()
    return promise
  }
  const others = await assemble({ ...parts })
  const app = await buildApp({
    ...others,
    outbound: { ...others.outbound, of: () => ({ ...others.outbound.of(true), check: judge }) },
  })
  const headers = { 'x-user-api-key': ada.key }
  try {
    const slow = Array.from({ length: 20 }, (_, i) => {
      const payload = { hook_url: `https://slow.example/${i}` }
      const key = i % 2 ? { 'idempotency-key': `slow ${i}` } : {}
      const url = '/open/webhooks/subscribe/contact.created'
      return app.inject({ method: 'POST', url, headers: { ...headers, ...key }, payload })
    })
    await requested
    // More requests than the pool has connections, and yet one is free.
    assert.equal((await to(ada, 'contact.updated', { hook_url: receiver.url('/quick') })).status, 201)
    resolve(null)
    for (const { statusCode } of await Promise.all(slow)) assert.equal(statusCode, 201)
  } finally {
    resolve(null)
    await app.close()
    others.outbound.close()
    others.changes.stop()
  }
})

test('payloads use the spelling of the subscription', async () => {
  const ada = await tenant()
  const happened = { account: ada.id, channel: null, conversation: null, payload: { is_msgapp_call: false } }
  for (const name of ['msgapp.call.received', 'call.outbound.completed'] as const)
    await db.begin((tx) => record(tx, [{ ...happened, name }]))
  const one = (await to(ada, 'msgapp.call.received', { hook_url: receiver.url('/own') })).body.data
  const two = (await to(ada, 'chatapp.call.received', { hook_url: receiver.url('/alias') })).body.data
  assert.deepEqual([one.event_name, two.event_name], ['msgapp.call.received', 'chatapp.call.received'])
  const three = (await to(ada, 'call.outgoing.completed', { hook_url: receiver.url('/outgoing') })).body.data
  for (const { uuid: id } of [one, two, three])
    assert.equal((await call(ada, 'POST', `/open/webhooks/${id}/test`)).status, 202)
  const delivered = async (path: string) => {
    const [got] = await until(async () => receiver.of(path).length > 0 && receiver.of(path))
    return JSON.parse(got?.body ?? '')
  }
  assert.equal((await delivered('/own')).event, 'msgapp.call.received')
  assert.equal((await delivered('/alias')).event, 'chatapp.call.received')
  const outgoing = await delivered('/outgoing')
  assert.deepEqual([outgoing.event, outgoing.test], ['call.outgoing.completed', true])
  assert.deepEqual([outgoing.is_msgapp_call, outgoing.is_chatapp_call], [false, false], 'in neither spelling: in both')
  const [listed] = (await call(ada, 'GET', `/open/webhooks/${three.uuid}/deliveries`)).body.deliveries
  const { request } = (await call(ada, 'GET', `/open/webhooks/deliveries/${listed.id}`)).body
  assert.equal(request.body, receiver.of('/outgoing')[0]?.body)
})

test('during a rotation both secrets sign; a day later only the new one does', async () => {
  const ada = await tenant()
  const { uuid: id, secret } = await subscribe(ada, '/rotate')
  const rotated = await call(ada, 'POST', `/open/webhooks/${id}/rotate-secret`)
  assert.notEqual(rotated.body.signing_secret, secret)
  const last = async (count: number) => {
    await createContacts(ada, ['x'])
    const calls = await until(async () => receiver.of('/rotate').length === count && receiver.of('/rotate'))
    const { body, headers } = calls.at(-1) ?? assert.fail()
    return (key: string) => new StandardWebhook(key).verify(body, headers as Record<string, string>) // as they came
  }
  const both = await last(1)
  both(secret)
  both(rotated.body.signing_secret)
  await advance(86_401)
  const alone = await last(2)
  alone(rotated.body.signing_secret)
  assert.throws(() => alone(secret))
})

test('events of a pause are replayed in order with their ids, and one can be redelivered', async () => {
  const worker = startWorker({ db, log: parts.log, kinds: webhookJobs(parts) })
  try {
    const ada = await tenant()
    const { uuid: id } = await subscribe(ada, '/replay')
    await createContacts(ada, ['1'], 'a')
    await until(async () => receiver.of('/replay').length === 1)
    await call(ada, 'PUT', `/open/webhooks/${id}`, { enabled: false })
    await createContacts(ada, ['2', '3'], 'a')
    assert.equal(
      (await call(ada, 'POST', `/open/webhooks/${id}/replay`, { since: '2026-01-01T00:00:00Z' })).status,
      409,
    )
    await call(ada, 'PUT', `/open/webhooks/${id}`, { enabled: true })
    assert.equal(
      (await call(ada, 'POST', `/open/webhooks/${id}/replay`, { since: '2026-01-01T00:00:00Z' })).status,
      202,
    )
    await until(async () => receiver.of('/replay').length === 3)
    assert.deepEqual(namesOf(receiver.of('/replay')), ['1', '2', '3'])
    const [, , first] = await until(async () => {
      const all = await deliveries(ada, id)
      return all.every(({ state }) => state === 'delivered') && all
    })
    await call(ada, 'POST', `/open/webhooks/deliveries/${first.id}/redeliver`)
    await until(async () => receiver.of('/replay').length === 4)
    const ids = receiver.of('/replay').map((one) => one.id)
    assert.equal(ids[3], ids[0])
    await call(ada, 'POST', `/open/webhooks/${id}/replay`, { since: '2026-01-01T00:00:00Z', only: 'all' })
    await until(async () => receiver.of('/replay').length === 7)
    assert.deepEqual(namesOf(receiver.of('/replay').slice(4)), ['1', '2', '3'])
  } finally {
    await worker.stop()
  }
})

test('a replay that misspells its only field is refused and sends nothing', async () => {
  const ada = await tenant()
  const { uuid: id } = await subscribe(ada, '/typo')
  for (const enabled of [false, true]) await call(ada, 'PUT', `/open/webhooks/${id}`, { enabled })
  const replay = (body: object) => call(ada, 'POST', `/open/webhooks/${id}/replay`, body)
  const refused = await replay({ dryrun: true })
  assert.deepEqual([refused.status, refused.body.field], [400, '/dryrun'])
  const { replays } = await db.one<{ replays: number }>`
    select count(*)::integer as replays from jobs where account_id = ${ada.id} and kind = 'webhooks.replay'`
  assert.equal(replays, 0)
  assert.deepEqual((await replay({ dry_run: true, x: 1 })).body.count, 0)
})

test('a page of deliveries names a next one only where more follow', async () => {
  const ada = await tenant()
  const { uuid: id } = await subscribe(ada, '/pages')
  await createContacts(ada, ['1', '2', '3', '4'])
  await until(async () => (await deliveries(ada, id)).length === 4)
  const page = (query: string) => call(ada, 'GET', `/open/webhooks/${id}/deliveries?${query}`)
  const first = (await page('results_per_page=2')).body
  assert.deepEqual([first.count, typeof first.next_cursor], [2, 'string'])
  const second = (await page(`results_per_page=2&cursor=${encodeURIComponent(first.next_cursor)}`)).body
  assert.deepEqual([second.count, second.next_cursor], [2, undefined])
  const ids = [...first.deliveries, ...second.deliveries].map((one: { id: string }) => one.id)
  assert.equal(new Set(ids).size, 4)
})

test('deliveries are deleted after their retention, and the webhook stays', async () => {
  const ada = await tenant()
  const { uuid: id } = await subscribe(ada, '/forget')
  await createContacts(
    ada,
    Array.from({ length: 250 }, (_, i) => String(i)),
  )
  await until(async () => receiver.of('/forget').length === 250)
  await until(async () => (await deliveries(ada, id)).every(({ state }) => state === 'delivered'))
  await advance(31 * 86_400)
  await createContacts(ada, ['fresh'])
  const worker = startWorker({
    db,
    log: parts.log,
    kinds: webhookJobs(parts),
    schedules: [{ ...purgeDeliveriesDaily, every: 1 }],
  })
  try {
    await until(async () => (await deliveries(ada, id)).length === 1)
  } finally {
    await worker.stop()
  }
  const { webhook } = (await call(ada, 'GET', `/open/webhooks/${id}`)).body
  assert.equal(webhook.failures, 0)
})

test('the operator sees the backlog and the failing webhooks', async () => {
  const ada = await tenant()
  const { uuid: id } = await subscribe(ada, '/status/502')
  await createContacts(ada, ['1'])
  const shown = await until(async () => {
    const { body } = await call('operator', 'GET', '/operator/webhooks')
    return body.webhooks.find((one: { uuid: string }) => one.uuid === id)
  })
  assert.deepEqual([shown.account_uuid, shown.pending], [ada.uuid, 1])
  // The first retry follows after five seconds.
  assert.ok(shown.failures >= 1)
  const { body: metrics } = await call(null, 'GET', '/metrics')
  assert.match(metrics, /trunkline_webhooks\{state="failing"\} [1-9]/)
  assert.match(metrics, /trunkline_webhook_deliveries_pending [1-9]/)
})
