import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, test } from 'node:test'
import { until } from '../../../../test/platform.ts'
import { makeDeliveryHarness, namesOf } from '../testing.ts'
import { disable } from './attempt-store.ts'
import * as lanes from './endpoint-lease-store.ts'

const { receiver, createContacts, subscribe, deliveries, call, tenant, db, parts, advance } = await makeDeliveryHarness(
  {
    leaseSeconds: 300,
    idleMs: 1_000,
  },
)

/** A receiver that answers only when the test says so. */
const held: ServerResponse[] = []
const patient = createServer((_request, response) => held.push(response)).listen(0, '127.0.0.1')
await once(patient, 'listening')
after(() => patient.close().closeAllConnections())
const port = (patient.address() as AddressInfo).port // of TCP

test('a new address is called at once, although the old one asked for a pause', async () => {
  const ada = await tenant()
  const { uuid } = await subscribe(ada, '/later/3600')
  await createContacts(ada, ['1'])
  await until(async () => (await deliveries(ada, uuid))[0].attempts.length === 1)
  await call(ada, 'PUT', `/open/webhooks/${uuid}`, { hook_url: receiver.url('/moved') })
  await createContacts(ada, ['2'])
  await until(async () => receiver.of('/moved').length > 0)
  assert.deepEqual(namesOf(receiver.of('/moved')), ['2'])
})

test('410 of an address that a webhook has left disables nothing, and the event goes to the new one', async () => {
  const ada = await tenant()
  const hook_url = `http://127.0.0.1:${port}/old`
  const { data } = (await call(ada, 'POST', '/open/webhooks/subscribe/contact.created', { hook_url })).body
  await createContacts(ada, ['1'])
  await until(async () => held.length === 1)
  await call(ada, 'PUT', `/open/webhooks/${data.uuid}`, { hook_url: receiver.url('/new') })
  held[0]?.writeHead(410).end()
  await advance(10)
  await until(async () => receiver.of('/new').length > 0)
  const { webhook } = (await call(ada, 'GET', `/open/webhooks/${data.uuid}`)).body
  assert.deepEqual([webhook.enabled, webhook.failures], [true, 0])
  const key = { account: ada.id, webhook: data.uuid.slice(3) }
  assert.equal(await db.begin((tx) => disable(tx, key, hook_url, 'gone')), 0)
})

test('a call to an address that a webhook has left is aborted, not awaited', async () => {
  const ada = await tenant()
  const hook_url = `http://127.0.0.1:${port}/left`
  const { data } = (await call(ada, 'POST', '/open/webhooks/subscribe/contact.created', { hook_url })).body
  const already = held.length
  await createContacts(ada, ['1'])
  const response = await until(async () => held[already])
  const began = performance.now()
  await call(ada, 'PUT', `/open/webhooks/${data.uuid}`, { hook_url: receiver.url('/instead') })
  await until(async () => response.closed)
  const took = performance.now() - began
  assert.ok(took < 7000, `after ${took} ms: a call may take 10 s`)
})

test('changing a webhook while another is disabled causes no deadlock', async () => {
  const ada = await tenant()
  const hook_url = `http://127.0.0.1:${port}/gone`
  const { data } = (await call(ada, 'POST', '/open/webhooks/subscribe/contact.created', { hook_url })).body
  const already = held.length
  await createContacts(ada, ['1'])
  await until(async () => held.length > already)
  const isHeldUp = async () => {
    const waiting = await db.many`
      select from pg_stat_activity
      where datname = current_database() and wait_event_type = 'Lock' and query like '%update webhook_endpoint_leases%'`
    return waiting.length > 0
  }
  await db.begin(async (tx) => {
    await tx.run`
      select from webhook_endpoint_leases where account_id = ${ada.id} and webhook_id = ${data.uuid.slice(3)} for update`
    held.at(-1)?.writeHead(410).end()
    await until(isHeldUp)
    await parts.changes.invalidate(tx, 'webhooks')
    assert.equal(await isHeldUp(), true, 'PostgreSQL aborted one of the two')
  })
  await until(async () => !(await call(ada, 'GET', `/open/webhooks/${data.uuid}`)).body.webhook.enabled)
})

test('the previous secret signs for one day at most, however busy the webhook is', async () => {
  const ada = await tenant()
  // One call stays unanswered, so the webhook stays leased by the process that had it before the day was over.
  const hook_url = `http://127.0.0.1:${port}/busy`
  const { data } = (await call(ada, 'POST', '/open/webhooks/subscribe/contact.created', { hook_url })).body
  const before = held.length
  await createContacts(ada, ['held'], 'held')
  await until(async () => held.length === before + 1)
  let heard = 0
  parts.changes.on('webhooks', () => heard++)
  await call(ada, 'POST', `/open/webhooks/${data.uuid}/rotate-secret`)
  // A process is notified of a change once, and finds it once more when it polls. After that nothing is reread.
  await until(async () => heard === 2)
  const signatures = async (name: string) => {
    const count = held.length
    await createContacts(ada, [name])
    await until(async () => held.length === count + 1)
    const { req } = held[count] ?? assert.fail()
    held[count]?.end()
    return String(req.headers['webhook-signature']).split(' ').length
  }
  assert.equal(await signatures('both'), 2)
  await advance(86_401)
  assert.equal(await signatures('alone'), 1)
  held[before]?.end()
})

test('deliveries pending for a disabled webhook fail, and those of an enabled one do not', async () => {
  const ada = await tenant()
  const { uuid } = await subscribe(ada, '/status/500')
  await createContacts(ada, ['1'])
  await until(async () => (await deliveries(ada, uuid))[0].attempts.length === 1)
  const key = { account: ada.id, webhook: uuid.slice(3) }
  assert.equal(await lanes.failPending(db, key), 0)
  assert.equal((await deliveries(ada, uuid))[0].state, 'pending')
})

test('a delivery that succeeds while those of its disabled webhook fail stays delivered', async () => {
  const ada = await tenant()
  const { uuid } = await subscribe(ada, '/status/500')
  await createContacts(ada, ['1'])
  await until(async () => (await deliveries(ada, uuid))[0].attempts.length === 1)
  const key = { account: ada.id, webhook: uuid.slice(3) }
  const failing = await db.begin(async (tx) => {
    await tx.run`update webhook_deliveries set state = 'delivered', next_at = null where webhook_id = ${key.webhook}`
    await db.run`
      update webhooks set enabled = false, disabled_reason = 'failing', disabled_at = now() where id = ${key.webhook}`
    const failing = lanes.failPending(db, key)
    await until(
      async () =>
        db.maybe`select from pg_stat_activity
        where datname = current_database() and wait_event_type = 'Lock' and query like '%the webhook is disabled%'`,
    )
    return { failing }
  })
  assert.equal(await failing.failing, 0)
  assert.equal((await deliveries(ada, uuid))[0].state, 'delivered')
})

test('releasing idle webhooks delays no delivery', async () => {
  const ada = await tenant()
  const { uuid } = await subscribe(ada, '/idle')
  await createContacts(ada, ['1'])
  await until(async () => (await deliveries(ada, uuid))[0]?.state === 'delivered')
  const bob = await tenant()
  await subscribe(bob, '/meanwhile')
  await db.begin(async (tx) => {
    await tx.run`select from webhook_endpoint_leases where webhook_id = ${uuid.slice(3)} for update`
    await until(async () => {
      const { count } = await db.one<{ count: number }>`
        select count(*)::integer as count from pg_stat_activity
        where datname = current_database() and wait_event_type = 'Lock' and query like '%set owner = null%'`
      return count > 0
    })
    await createContacts(ada, ['2'])
    await createContacts(bob, ['3'])
    await until(async () => receiver.of('/meanwhile').length > 0)
  })
  await until(async () => receiver.of('/idle').length === 2)
})

test('all receivers that are down are probed at once, each with its failed delivery', async () => {
  const ada = await tenant()
  const keys: lanes.EndpointKey[] = []
  for (const path of ['/status/501', '/status/502']) {
    const { uuid } = await subscribe(ada, path)
    keys.push({ account: ada.id, webhook: uuid.slice(3) })
  }
  await createContacts(ada, ['1'])
  for (const { webhook } of keys)
    await until(async () => (await deliveries(ada, `WHK${webhook}`))[0].attempts.length === 1)
  await db.run`update webhook_deliveries set next_at = app_now() where account_id = ${ada.id} and state = 'pending'`
  const rows = await lanes.findProbes(db, keys)
  assert.deepEqual(rows.map((row) => row.webhook_id).sort(), keys.map(({ webhook }) => webhook).sort())
})
