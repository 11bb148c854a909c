import assert from 'node:assert/strict'
import { test } from 'node:test'
import { until } from '../../../../test/platform.ts'
import type { Tenant } from '../../../../test/world.ts'
import { quoteIdentifier } from '../../../platform/db/identifier.ts'
import { makeDeliveryHarness, namesOf } from '../testing.ts'

const stage = await makeDeliveryHarness()
const { app, db, receiver, createContacts, subscribe, call, tenant } = stage

const wide = 20
const names = (count: number) => Array.from({ length: count }, (_, n) => `Ada ${n}`)

/** An account with this many webhooks for created contacts, and this rate of deliveries a second. */
const withHooks = async (fanouts: number, prefix: string) => {
  const who = await tenant()
  await (fanouts === 0 ? halt(who) : setPace(who, fanouts))
  for (let n = 0; n < wide; n++) await subscribe(who, `/${prefix}/${n}`)
  return who
}

/** Halts the fan-out: requests cannot set 0. */
const halt = (who: Tenant) => db.run`update accounts set quotas = '{"fanouts": 0}' where id = ${who.id}`

const setPace = async (who: Tenant, fanouts: number | null) => {
  const changed = await call('operator', 'PATCH', `/operator/accounts/${who.uuid}`, { quotas: { fanouts } })
  assert.equal(changed.status, 200, JSON.stringify(changed.body))
}

const count = async (who: Tenant, table: 'webhook_deliveries' | 'event_backlog' | 'events') => {
  const [row] = await db.raw<{ rows: number }>(
    `select count(*)::integer as rows from ${quoteIdentifier(table)} where account_id = $1`,
    [who.id],
  )
  return row?.rows ?? 0
}

const importContacts = async (who: Tenant, contacts: number) => {
  const lines = names(contacts).map((name, n) => `${name},+4477${String(n).padStart(8, '0')}`)
  const answer = await app.inject({
    method: 'POST',
    url: '/open/contacts/import',
    headers: { 'x-user-api-key': who.key, 'content-type': 'text/csv' },
    payload: `first_name,phone\n${lines.join('\n')}\n`,
  })
  assert.equal(answer.statusCode, 201, answer.body)
}

test('an event for many webhooks reaches each of them, in conversation order', async () => {
  const ada = await withHooks(500, 'wide')
  await createContacts(ada, names(5), 'c')
  for (let n = 0; n < wide; n++) {
    const calls = await until(async () => receiver.of(`/wide/${n}`).length >= 5 && receiver.of(`/wide/${n}`))
    assert.deepEqual(namesOf(calls), names(5))
  }
  await until(async () => (await count(ada, 'event_backlog')) === 0)
  assert.equal(await count(ada, 'webhook_deliveries'), 5 * wide)
})

test('a burst becomes deliveries at its account’s rate, and none is lost', async () => {
  const rate = 100
  const ada = await withHooks(rate, 'burst')
  const contacts = 65
  await importContacts(ada, contacts)
  const began = performance.now()
  assert.equal(await count(ada, 'events'), contacts, 'the event log is complete at once')
  const all = contacts * wide
  await until(async () => {
    const seconds = (performance.now() - began) / 1000
    const rows = await count(ada, 'webhook_deliveries')
    const passed = (performance.now() - began) / 1000 + 1
    assert.ok(rows <= 10 * rate + passed * rate + wide, `${rows} rows after ${seconds} s`)
    return rows === all
  })
  const seconds = (performance.now() - began) / 1000
  assert.ok(seconds >= (all - 10 * rate - wide) / rate - 1, `all were created within ${seconds} s`)
  assert.equal(await count(ada, 'event_backlog'), 0)
})

test('one account’s flood delays no event of another account, nor its own events of other names', async () => {
  const ada = await withHooks(1, 'flood')
  await subscribe(ada, '/flood/updated', 'contact.updated')
  const bob = await tenant()
  await subscribe(bob, '/calm')
  await importContacts(ada, 100)
  assert.ok((await count(ada, 'event_backlog')) > 50)
  const began = performance.now()
  await createContacts(bob, ['Grace'])
  const { body } = await call(ada, 'GET', '/open/contacts')
  const changed = await call(ada, 'PUT', `/open/contacts/${body.contacts[0].uuid}`, { first_name: 'Grace' })
  assert.equal(changed.status, 200)
  await until(async () => receiver.of('/calm').length === 1 && receiver.of('/flood/updated').length === 1)
  assert.ok(performance.now() - began < 2_000)
})

test('an event waits behind earlier ones of its name, even when few webhooks still match', async () => {
  const ada = await withHooks(0, 'late')
  await createContacts(ada, ['first'], 'c')
  const { body } = await call(ada, 'GET', '/open/webhooks')
  for (const { uuid } of body.webhooks.slice(1)) await call(ada, 'DELETE', `/open/webhooks/${uuid}`)
  await createContacts(ada, ['second'], 'c')
  assert.deepEqual([await count(ada, 'event_backlog'), await count(ada, 'webhook_deliveries')], [2, 0])
  await setPace(ada, null)
  const calls = await until(async () => receiver.of('/late/0').length === 2 && receiver.of('/late/0'))
  assert.deepEqual(namesOf(calls), ['first', 'second'])
})

test('a backlogged event is not delivered to a webhook created after it', async () => {
  const ada = await withHooks(0, 'later')
  await createContacts(ada, ['first'])
  await subscribe(ada, '/later/new')
  await setPace(ada, 500)
  await until(async () => (await count(ada, 'event_backlog')) === 0)
  await createContacts(ada, ['second'])
  const calls = await until(async () => receiver.of('/later/new').length > 0 && receiver.of('/later/new'))
  assert.deepEqual(namesOf(calls), ['second'])
})
