import assert from 'node:assert/strict'
import { createHmac, randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { Webhook as StandardWebhook } from 'standardwebhooks'
import { until } from '../../../../test/platform.ts'
import type { Tenant } from '../../../../test/world.ts'
import { startWorker } from '../../../platform/jobs/consume/worker.ts'
import { record, recordFor } from '../../events/ops.ts'
import { purgeWebhookStats, webhookJobs } from '../jobs.ts'
import { makeDeliveryHarness, namesOf } from '../testing.ts'
import * as replays from './replay-store.ts'

const stage = await makeDeliveryHarness({ statsMs: 50 })
const { receiver, createContacts, subscribe, deliveries, call, tenant, db, parts } = stage

const get = async (who: Tenant, url: string) => {
  const { status, body } = await call(who, 'GET', url)
  assert.equal(status, 200, JSON.stringify(body))
  return body
}
const put = (who: Tenant, id: string, body: object) => call(who, 'PUT', `/open/webhooks/${id}`, body)
const settled = (who: Tenant, id: string, count: number) =>
  until(async () => {
    const all = await deliveries(who, id)
    return all.length === count && all.every(({ attempts }) => attempts.length > 0) && all
  })

test('an address is subscribed to several events at once, with one secret, and is listed as one endpoint', async () => {
  const ada = await tenant()
  const hook_url = receiver.url('/several')
  const make = (event_names: string[], more: object = {}) =>
    call(ada, 'POST', '/open/webhooks', { hook_url, event_names, ...more })
  const first = await make(['contact.created', 'contact.updated', 'contact.created'])
  assert.equal(first.status, 201)
  assert.deepEqual(
    first.body.webhooks.map((one: { event_name: string }) => one.event_name),
    ['contact.created', 'contact.updated'],
  )
  const again = await make(['contact.updated', 'number.purchased'])
  assert.deepEqual([again.status, again.body.signing_secret], [201, first.body.signing_secret])
  assert.equal((await make(['contact.updated'])).status, 200)
  assert.equal((await make(['contact.updated', 'no.such'])).status, 400)
  assert.equal((await make(['contact.updated', 'sms.message.sent'])).status, 400)

  const { endpoints } = await get(ada, '/open/webhooks/endpoints')
  assert.deepEqual(
    endpoints.map((one: { hook_url: string; state: string; webhooks: object[] }) => [one.state, one.webhooks.length]),
    [['active', 3]],
  )
  assert.equal(endpoints[0].endpoint_uuid, first.body.endpoint_uuid)

  await createContacts(ada, ['1'])
  const [received] = await until(async () => receiver.of('/several').length === 1 && receiver.of('/several'))
  new StandardWebhook(first.body.signing_secret).verify(
    received?.body ?? '',
    received?.headers as Record<string, string>,
  ) // as they came

  const replaced = await make(['contact.updated'], { replace: true })
  assert.equal(replaced.status, 200)
  const { webhooks } = await get(ada, '/open/webhooks?enabled=any')
  assert.deepEqual(
    webhooks.map((one: { event_name: string }) => one.event_name),
    ['contact.updated'],
  )
  assert.deepEqual((await get(await tenant(), '/open/webhooks/endpoints')).endpoints, [])
})

test('an endpoint is paused, moved, rotated and deleted in one step', async () => {
  const ada = await tenant()
  const created = await call(ada, 'POST', '/open/webhooks', {
    hook_url: receiver.url('/whole'),
    event_names: ['contact.created', 'contact.updated'],
  })
  const [{ uuid: one }, { uuid: two }] = created.body.webhooks
  const { uuid: other } = await subscribe(ada, '/other')
  await put(ada, one, { enabled: false, endpoint: true })
  const stateOf = async (id: string) => (await get(ada, `/open/webhooks/${id}`)).webhook.state
  assert.deepEqual([await stateOf(one), await stateOf(two), await stateOf(other)], ['paused', 'paused', 'active'])
  await put(ada, one, { enabled: true, hook_url: receiver.url('/moved'), endpoint: true })
  const { webhooks } = await get(ada, '/open/webhooks')
  assert.deepEqual(
    webhooks.map((hook: { hook_url: string }) => hook.hook_url),
    [receiver.url('/moved'), receiver.url('/moved'), receiver.url('/other')],
  )
  const rotated = await call(ada, 'POST', `/open/webhooks/${two}/rotate-secret`, { endpoint: true })
  const secrets = await db.many<{ sealed_secret: Buffer }>`
    select sealed_secret from webhooks where account_id = ${ada.id} order by created_at, id`
  assert.deepEqual(
    secrets.map(({ sealed_secret: sealed }) => parts.seal.open(sealed) === rotated.body.signing_secret),
    [true, true, false],
  )
  assert.equal((await call(ada, 'DELETE', `/open/webhooks/${one}?endpoint=true`)).status, 200)
  const left = (await get(ada, '/open/webhooks?enabled=any')).webhooks
  assert.deepEqual(
    left.map((hook: { uuid: string }) => hook.uuid),
    [other],
  )
})

test('a list of any webhooks names the paused, failing and gone ones, and why', async () => {
  const ada = await tenant()
  const [paused, failing, gone, fine] = await Promise.all(
    ['/paused', '/status/500', '/status/410', '/fine'].map((path) => subscribe(ada, path)),
  )
  await put(ada, paused?.uuid ?? '', { enabled: false })
  await createContacts(ada, ['1'])
  const webhooks = await until(async () => {
    const all = (await get(ada, '/open/webhooks?enabled=any')).webhooks
    const states = new Map(all.map((one: { uuid: string }) => [one.uuid, one]))
    const [bad, dead, good] = [failing, gone, fine].map((one) => Object(states.get(one?.uuid)))
    return bad.failures === 1 && dead.state === 'disabled' && good.last_success_at && states
  })
  const of = (one: { uuid: string } | undefined) => Object(webhooks.get(one?.uuid))
  assert.deepEqual(
    [of(paused).state, of(paused).disabled_reason, typeof of(paused).disabled_at],
    ['paused', 'paused', 'string'],
  )
  assert.deepEqual([of(gone).disabled_reason, of(gone).enabled], ['gone', false])
  assert.equal(of(failing).state, 'failing')
  assert.equal(Date.parse(of(failing).disables_at) - Date.parse(of(failing).failing_since), 5 * 86_400_000)
  assert.deepEqual([of(fine).state, of(fine).failures, of(fine).disabled_at], ['active', 0, undefined])
  assert.equal((await get(ada, '/open/webhooks')).webhooks.length, 2)
  assert.equal((await get(ada, '/open/webhooks?enabled=false')).webhooks.length, 2)
})

test('events of a pause are skipped, counted, and replayed after it with their progress', async () => {
  const worker = startWorker({ db, log: parts.log, kinds: webhookJobs(parts) })
  try {
    const ada = await tenant()
    const { uuid: id } = await subscribe(ada, '/skips')
    const replay = (body: object) => call(ada, 'POST', `/open/webhooks/${id}/replay`, body)
    assert.equal((await replay({})).body.error_code, 'since_missing')
    await createContacts(ada, ['1'], 'a')
    await settled(ada, id, 1)
    await put(ada, id, { enabled: false })
    await createContacts(ada, ['2', '3'], 'a')
    assert.equal((await replay({})).body.error_code, 'webhook_disabled')
    const counted = await replay({ dry_run: true })
    assert.deepEqual([counted.body.count, counted.body.replay], [2, undefined])
    assert.equal((await replay({ dry_run: true, since: '2026-01-01T00:00:00Z', only: 'all' })).body.count, 3)
    assert.equal((await get(ada, `/open/webhooks/${id}/replay`)).replay, undefined)
    await put(ada, id, { enabled: true })
    const begun = await replay({})
    assert.deepEqual([begun.status, begun.body.replay.only], [202, 'missed'])
    const done = await until(async () => {
      const { replay: newest } = await get(ada, `/open/webhooks/${id}/replay`)
      return newest.state === 'done' && newest
    })
    assert.deepEqual([done.sent, done.progress, typeof done.finished_at], [2, 1, 'string'])
    await until(async () => receiver.of('/skips').length === 3)
    assert.deepEqual(namesOf(receiver.of('/skips')), ['1', '2', '3'])
    assert.equal((await replay({ dry_run: true })).body.count, 0)
  } finally {
    await worker.stop()
  }
})

test('only the newest replay of a webhook counts, and replacing events leaves those of other channels', async () => {
  const ada = await tenant()
  const { uuid: hook } = await subscribe(ada, '/replaced')
  const key = { account: ada.id, webhook: hook.slice(3) }
  const window = { since: new Date(0), until: new Date(), all: false }
  const [former, newest] = [randomUUID(), randomUUID()]
  for (const replay of [former, newest]) await db.begin((tx) => replays.begin(tx, { ...key, replay }, window))
  const page = { sent: 5, reached: new Date(), isDone: true }
  await db.begin((tx) => replays.advance(tx, { ...key, replay: former }, page))
  const state = async () => {
    const { sent = 0, finished_at: finished = null } = (await replays.find(db, ada.id, key.webhook)) ?? {}
    return [sent, finished !== null]
  }
  assert.deepEqual(await state(), [0, false])
  await db.begin((tx) => replays.advance(tx, { ...key, replay: newest }, page))
  assert.deepEqual(await state(), [5, true])

  // What was made for one webhook alone is no event that a replay sends.
  const contact = { account: ada.id, name: 'contact.created', channel: null, conversation: null, payload: {} } as const
  const { account, webhook } = key
  const everything = { account, webhook, after: '00000000-0000-0000-0000-000000000000', all: true }
  const counted = async () =>
    (await replays.count(db, { ...everything, since: new Date(0), until: new Date('2099-01-01') })).count
  await db.begin((tx) => recordFor(tx, webhook, contact))
  await db.begin((tx) => record(tx, [contact]))
  await until(async () => {
    const all = await deliveries(ada, hook)
    return all.length === 2 && all.every(({ state }) => state === 'delivered')
  })
  assert.equal(await counted(), 1)

  const [{ id: ofChannel } = { id: '' }] = await db.many<{ id: string }>`
    insert into webhooks (account_id, id, event, event_name, channel_kind, channel_id, match_id, hook_url, sealed_secret,
      created_at, updated_at)
    select account_id, gen_random_uuid(), 'sms.message.received', 'sms.message.received', 'SMS', gen_random_uuid(),
      gen_random_uuid(), hook_url, sealed_secret, now(), now()
    from webhooks where id = ${key.webhook}
    returning id`
  await db.run`insert into webhook_endpoint_leases (account_id, webhook_id) values (${ada.id}, ${ofChannel})`
  const { uuid: elsewhere } = await subscribe(ada, '/elsewhere')
  const body = { hook_url: receiver.url('/replaced'), event_names: ['contact.updated'], replace: true }
  const made = await call(ada, 'POST', '/open/webhooks', body)
  assert.equal(made.status, 201, JSON.stringify(made.body))
  const left = (await get(ada, '/open/webhooks?enabled=any')).webhooks.map((one: { uuid: string }) => one.uuid)
  assert.deepEqual(left.toSorted(), [`WHK${ofChannel}`, elsewhere, made.body.webhooks[0].uuid].toSorted())
})

test('one delivery shows the request as it was sent, and each attempt with its response', async () => {
  const ada = await tenant()
  const { uuid: id, secret } = await subscribe(ada, '/status/503')
  await createContacts(ada, ['Ada'])
  const [{ id: delivery }] = await settled(ada, id, 1)
  const [sent] = receiver.of('/status/503')
  const shown = await get(ada, `/open/webhooks/deliveries/${delivery}`)
  assert.equal(shown.request.body, sent?.body)
  const [attempt] = shown.delivery.attempts
  assert.deepEqual([attempt.response_status, attempt.response_excerpt], [503, '{"seen":true}'])
  assert.equal(attempt.response_headers.connection, 'keep-alive')
  assert.equal(attempt.timestamp, undefined)
  const [{ headers }] = shown.request.attempts
  for (const name of ['webhook-id', 'webhook-timestamp', 'webhook-signature', 'content-type'])
    assert.equal(headers[name], sent?.headers[name], name)
  assert.equal(shown.delivery.event_uuid, headers['webhook-id'])
  const key = Buffer.from(secret.slice('whsec_'.length), 'base64')
  const content = `${headers['webhook-id']}.${headers['webhook-timestamp']}.${shown.request.body}`
  assert.equal(headers['webhook-signature'], `v1,${createHmac('sha256', key).update(content).digest('base64')}`)

  await call(ada, 'POST', `/open/webhooks/${id}/rotate-secret`)
  const after = (await get(ada, `/open/webhooks/deliveries/${delivery}`)).request.attempts[0].headers
  assert.deepEqual([after['webhook-signature'], after['webhook-id']], [undefined, headers['webhook-id']])
  assert.equal((await call(await tenant(), 'GET', `/open/webhooks/deliveries/${delivery}`)).status, 404)
})

test('deliveries are found by event, time, status and duration, for one webhook or its whole address', async () => {
  const ada = await tenant()
  const hook_url = receiver.url('/status/418')
  const { body } = await call(ada, 'POST', '/open/webhooks', {
    hook_url,
    event_names: ['contact.created', 'number.purchased'],
  })
  const [{ uuid: id }, { uuid: other }] = body.webhooks
  await createContacts(ada, ['1', '2', '3'])
  assert.equal((await call(ada, 'POST', `/open/webhooks/${other}/test`)).status, 202)
  await settled(ada, id, 3)
  await settled(ada, other, 1)
  const count = async (query: string) => (await get(ada, `/open/webhooks/${id}/deliveries?${query}`)).count
  assert.equal(await count('status_code=418'), 3)
  assert.equal(await count('status_code=500'), 0)
  assert.equal(await count('status_code=418&min_latency_ms=60000'), 0)
  assert.equal(await count('min_latency_ms=0'), 3)
  assert.equal(await count('event_name=contact.created'), 3)
  assert.equal(await count('event_name=number.purchased'), 0)
  assert.equal(await count('event_name=number.purchased&endpoint=true'), 1)
  assert.equal(await count('endpoint=true'), 4)
  const [later, earlier] = [60_000, -60_000].map((ms) => new Date(parts.clock.now() + ms).toISOString())
  assert.equal(await count(`since=${earlier}&until=${later}`), 3)
  assert.equal(await count(`since=${later}`), 0)
  assert.equal(await count(`until=${earlier}`), 0)
  const seen: string[] = []
  for (let cursor: string | undefined = ''; cursor !== undefined; ) {
    const query: string = `endpoint=true&results_per_page=2&status_code=418${cursor && `&cursor=${cursor}`}`
    const page = await get(ada, `/open/webhooks/${id}/deliveries?${query}`)
    seen.push(...page.deliveries.map((one: { id: string }) => one.id))
    cursor = page.next_cursor
  }
  assert.deepEqual([seen.length, new Set(seen).size], [4, 4])
})

test('statistics count attempts by hour and day, and old ones are deleted', async () => {
  const ada = await tenant()
  const { uuid: id } = await subscribe(ada, '/slow/30')
  await createContacts(ada, ['1', '2', '3'])
  const stats = (query = '') => get(ada, `/open/webhooks/${id}/stats?${query}`)
  const hours = await until(async () => {
    const found = await stats()
    return found.delivered === 3 && found
  })
  assert.equal(hours.failed, 0)
  const [time, , , p50, p95] = hours.points[0]
  assert.match(time, /^\d{4}-\d\d-\d\dT\d\d:00:00Z$/)
  assert.ok(p50 >= 25 && p95 >= p50, `${p50} ${p95}`)
  await put(ada, id, { hook_url: receiver.url('/status/500') })
  await createContacts(ada, ['4'])
  const days = await until(async () => {
    const found = await stats('step=day&endpoint=true')
    return found.failed === 1 && found
  })
  assert.deepEqual([days.delivered, days.failed], [3, 1])
  assert.match(days.points[0][0], /T00:00:00Z$/)
  const from = (days: number) => new Date(parts.clock.now() - days * 86_400_000).toISOString()
  assert.equal((await call(ada, 'GET', `/open/webhooks/${id}/stats?since=${from(40)}`)).status, 400)
  assert.equal((await stats(`step=day&since=${from(40)}`)).points.length, days.points.length)
  await db.run`
    insert into webhook_stats values
      (${ada.id}, ${id.slice(3)}, app_now() - interval '367 days', 1, 0, '{1}')`
  await db.begin((tx) => purgeWebhookStats.run(tx, new Date()))
  const left =
    await db.many`select from webhook_stats where account_id = ${ada.id} and hour < app_now() - interval '1 day'`
  assert.equal(left.length, 0)
})

test('a test sends an edited payload, marked as a test, and refuses another event', async () => {
  const ada = await tenant()
  const { uuid: id } = await subscribe(ada, '/edited', 'contact.updated')
  const send = (body?: object) => call(ada, 'POST', `/open/webhooks/${id}/test`, body)
  assert.equal((await send({ payload: { first_name: 'Zoë', previous_message_at: 'never' } })).status, 202)
  const [received] = await until(async () => receiver.of('/edited').length === 1 && receiver.of('/edited'))
  const { first_name, test: mark, event } = JSON.parse(received?.body ?? '')
  assert.deepEqual([first_name, mark, event], ['Zoë', true, 'contact.updated'])
  for (const wrong of [{ event_name: 'contact.created' }, { payload: { event: 'contact.created' } }])
    assert.equal((await send(wrong)).body.error_code, 'event_mismatch')
  assert.equal((await send({ payload: { text: 'x'.repeat(65_536) } })).body.error_code, 'payload_too_large')
  assert.equal((await send({ event_name: 'contact.updated' })).status, 202)
})

test('every event has a description, a schema and an example that fits', async () => {
  const { event_types: types } = await get(await tenant(), '/open/webhooks/event-types')
  assert.ok(types.length >= 30)
  for (const { event_name, description, channel, schema, example } of types) {
    assert.ok(description.length > 10 && ['sms', 'call', 'msgapp', 'account'].includes(channel))
    assert.equal(example.event, event_name)
    for (const field of schema.required) assert.ok(field in example, `${event_name} has no ${field}`)
    assert.ok(!JSON.stringify(schema).includes('$ref'))
  }
})
