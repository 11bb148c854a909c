import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, test } from 'node:test'
import { until } from '../../test/platform.ts'
import * as lanes from './lanes.ts'
import { disable } from './settle.ts'
import { makeStage, namesOf } from './testing.ts'

const { receiver, happen, subscribe, deliveries, call, tenant, db, parts, advance } = await makeStage({
  leaseSeconds: 300,
})

/** A receiver that answers when it is told to. */
const held: ServerResponse[] = []
const patient = createServer((_request, response) => held.push(response)).listen(0, '127.0.0.1')
await once(patient, 'listening')
after(() => patient.close().closeAllConnections())
const port = (patient.address() as AddressInfo).port // of TCP

test('a new address starts anew: the old one’s wish to be left alone does not hold for it', async () => {
  const ada = await tenant()
  const { uuid } = await subscribe(ada, '/later/3600')
  await happen(ada, ['1'])
  await until(async () => (await deliveries(ada, uuid))[0].attempts.length === 1)
  await call(ada, 'PUT', `/open/webhooks/${uuid}`, { hook_url: receiver.url('/moved') })
  await happen(ada, ['2'])
  await until(async () => receiver.of('/moved').length > 0)
  assert.deepEqual(namesOf(receiver.of('/moved')), ['2'])
})

test('410 of an address that a webhook has left disables nothing, and the event goes to the new one', async () => {
  const ada = await tenant()
  const hook_url = `http://127.0.0.1:${port}/old`
  const { data } = (await call(ada, 'POST', '/open/webhooks/subscribe/contact.created', { hook_url })).body
  await happen(ada, ['1'])
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

test('who changes a webhook at the moment in which another is disabled waits for nobody who waits for him', async () => {
  const ada = await tenant()
  const hook_url = `http://127.0.0.1:${port}/gone`
  const { data } = (await call(ada, 'POST', '/open/webhooks/subscribe/contact.created', { hook_url })).body
  const already = held.length
  await happen(ada, ['1'])
  await until(async () => held.length > already)
  const isHeldUp = async () => {
    const waiting = await db.many`
      select from pg_stat_activity
      where datname = current_database() and wait_event_type = 'Lock' and query like '%update webhook_lanes%'`
    return waiting.length > 0
  }
  await db.begin(async (tx) => {
    await tx.run`
      select from webhook_lanes where account_id = ${ada.id} and webhook_id = ${data.uuid.slice(3)} for update`
    held.at(-1)?.writeHead(410).end()
    await until(isHeldUp)
    await parts.changes.announce(tx, 'webhooks')
    assert.equal(await isHeldUp(), true, 'PostgreSQL had to end one of the two')
  })
  await until(async () => !(await call(ada, 'GET', `/open/webhooks/${data.uuid}`)).body.webhook.enabled)
})

test('the secret before a rotation signs no longer than its day, however busy the webhook is', async () => {
  const ada = await tenant()
  // One call stays unanswered, so that the webhook stays with the process that had it before the day was over.
  const hook_url = `http://127.0.0.1:${port}/busy`
  const { data } = (await call(ada, 'POST', '/open/webhooks/subscribe/contact.created', { hook_url })).body
  const before = held.length
  await happen(ada, ['held'], 'held')
  await until(async () => held.length === before + 1)
  let heard = 0
  parts.changes.on('webhooks', () => heard++)
  await call(ada, 'POST', `/open/webhooks/${data.uuid}/rotate-secret`)
  // Of a change a process hears at once, and once more when it looks for those of others: then nothing is read anew.
  await until(async () => heard === 2)
  const signatures = async (name: string) => {
    const count = held.length
    await happen(ada, [name])
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

test('what waits for a webhook is given up while it is disabled, and not once it is enabled again', async () => {
  const ada = await tenant()
  const { uuid } = await subscribe(ada, '/status/500')
  await happen(ada, ['1'])
  await until(async () => (await deliveries(ada, uuid))[0].attempts.length === 1)
  const key = { account: ada.id, webhook: uuid.slice(3) }
  assert.equal(await lanes.abandon(db, key), 0)
  assert.equal((await deliveries(ada, uuid))[0].state, 'pending')
})

test('nobody waits while webhooks that have nothing to tell are given back', async () => {
  const ada = await tenant()
  const { uuid } = await subscribe(ada, '/idle')
  await happen(ada, ['1'])
  await until(async () => (await deliveries(ada, uuid))[0]?.state === 'delivered')
  const bob = await tenant()
  await subscribe(bob, '/meanwhile')
  await db.begin(async (tx) => {
    await tx.run`select from webhook_lanes where webhook_id = ${uuid.slice(3)} for update`
    await until(async () => {
      const { count } = await db.one<{ count: number }>`
        select count(*)::integer as count from pg_stat_activity
        where datname = current_database() and wait_event_type = 'Lock' and query like '%set owner = null%'`
      return count > 0
    })
    await happen(ada, ['2'])
    await happen(bob, ['3'])
    await until(async () => receiver.of('/meanwhile').length > 0)
  })
  await until(async () => receiver.of('/idle').length === 2)
})

test('all receivers that are down are asked about at once, each for what failed before', async () => {
  const ada = await tenant()
  const keys: lanes.LaneKey[] = []
  for (const path of ['/status/501', '/status/502']) {
    const { uuid } = await subscribe(ada, path)
    keys.push({ account: ada.id, webhook: uuid.slice(3) })
  }
  await happen(ada, ['1'])
  for (const { webhook } of keys)
    await until(async () => (await deliveries(ada, `WHK${webhook}`))[0].attempts.length === 1)
  await db.run`update webhook_deliveries set next_at = app_now() where account_id = ${ada.id} and state = 'pending'`
  const rows = await lanes.probes(db, keys)
  assert.deepEqual(rows.map((row) => row.webhook_id).sort(), keys.map(({ webhook }) => webhook).sort())
})
