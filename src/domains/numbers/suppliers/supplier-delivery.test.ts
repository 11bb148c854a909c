import assert from 'node:assert/strict'
import { test } from 'node:test'
import { until } from '../../../../test/platform.ts'
import { makeWorld, type Tenant } from '../../../../test/world.ts'
import { requestDigest } from '../../../platform/http/idempotency.ts'
import { uuid } from '../../../platform/lib/id.ts'
import * as virtualNumbers from '../lifecycle/virtual-number-store.ts'
import { release } from '../ops.ts'
import * as inventory from '../purchase/inventory-store.ts'
import { register } from '../registration/registration.ts'
import * as store from '../store.ts'
import type * as orders from './supplier-order-store.ts'
import { deliverOrder, failOrder, placeOrder } from './supplier-orders.ts'
import { makeSupplierPurchase } from './supplier-purchase.ts'

// Outcomes of orders, each ended as its job ends it. Supplier requests are tested with the order job.

const world = await makeWorld()
const { db, parts, call } = world
const { changes } = parts
const settings = { api_key: 'key', base_url: 'http://127.0.0.1:3/v3' }
const connected = await call('operator', 'POST', '/operator/connections', { kind: 'didww', name: 'Away', settings })
const connection: string = connected.body.connection.uuid.slice(3)

/** Creates a supplier's group; `asks`: it needs registrations. Without number selection any number is delivered. */
const makeGroup = async (id: string, asks: boolean, isChosen = true) => {
  await db.run`
    insert into number_groups (id, iso_country_code, type, prefix, location, folded, setup_price, monthly_price, ppm,
      allow_number_selection, is_eligible_for_free_number, needs_registration, supplier)
    values (${id}, 'GB', 'local', '1632', 'Nowhere', 'nowhere', 1, 1.5, 0.005, ${isChosen}, false, ${asks}, ${connection})`
  await db.run`insert into number_stock (group_id, free) values (${id}, 1)`
  await db.run`
    insert into supplier_groups (group_id, connection_id, external_id, sku, setup_cost, monthly_cost, features, seen_at)
    values (${id}, ${connection}, ${id}, 'sku', 1, 1, '{voice_in,sms_in,sms_out}', app_now())`
}
await db.run`insert into number_countries values ('GB', 'United Kingdom', '44')`
await makeGroup('free', false)
await makeGroup('asking', true)
await makeGroup('any', false, false)
await makeGroup('any-asking', true, false)
const words = 1
await db.run`
  insert into number_requirements (id, iso_country_code, type, kind, description, documents, source, source_date)
  values (${words}, 'GB', 'local', 'identity', 'A name.', '{}', 'test', '2026-01-01')`

let serial = 0
const next = () => `+441632${100_000 + ++serial}`

/** An account's order of a number, pending at the supplier. */
const ordered = async (number = next(), groupId = 'free') => {
  const tenant = await world.tenant()
  const row = await db.begin(async (tx) => {
    const group = await store.group(tx, groupId, 'real')
    assert.ok(group)
    await inventory.addSupplied(tx, number, groupId, connection, tenant.id, 'owned')
    const { order } = await placeOrder(tx, tenant.id, group, {
      limitedKeys: null,
      number,
      item: { number },
      name: null,
      rings: null,
      by: null,
    })
    return order
  })
  return { tenant, row, number, uuid: `DID${row.virtual_number_id}` }
}
const delivered = (row: orders.OrderRow, number: string, awaitsRegistration = false) =>
  db.begin((tx) => deliverOrder(tx, parts, row, { id: uuid(), number, awaitsRegistration }))
const statusOf = async (tenant: Tenant, printed: string) =>
  (await call(tenant, 'GET', `/open/voip/virtual-numbers/${printed}`)).body.number?.status_text
const operator = (path: string, body = {}) => call('operator', 'POST', `/operator${path}`, body)

test('a number suspended before its delivery is delivered without SMS until it is reinstated', async () => {
  const { tenant, row, number, uuid: printed } = await ordered()
  assert.equal((await operator(`/numbers/${printed}/suspend`, { reason: 'Fraud' })).status, 200)
  await delivered(row, number)
  assert.equal(await statusOf(tenant, printed), 'SUSPENDED')
  const ended = await db.maybe`select 1 from jobs where kind = 'numbers.end' and payload ->> 'id' = ${row.id}`
  assert.equal(ended, null, 'a paid number is not released')
  const ways = async () => {
    const [one] = (await call(tenant, 'GET', '/open/sms/channels')).body.channels
    return [one.supports_sms_in, one.supports_sms_out]
  }
  assert.deepEqual(await ways(), [false, false])
  assert.equal((await operator(`/numbers/${printed}/reinstate`)).status, 200)
  assert.deepEqual([await statusOf(tenant, printed), ...(await ways())], ['ACTIVE', true, true])
})

test('an order that ends after its number was released does not affect the number’s present owner', async () => {
  const first = await ordered()
  await db.begin((tx) => release(tx, changes, first.tenant.id, first.uuid.slice(3), 'requested', 1))
  const second = await ordered(first.number)
  await db.begin((tx) => failOrder(tx, changes, first.row, 'canceled', null))
  assert.equal(await inventory.isInInventory(db, first.number), true)
  await delivered(second.row, second.number)
  assert.equal(await statusOf(second.tenant, second.uuid), 'ACTIVE')
})

test('a registration is opened whenever the supplier requires one, and ends with its approval', async () => {
  const { tenant, row, number, uuid: printed } = await ordered()
  await delivered(row, number, true)
  assert.equal(await statusOf(tenant, printed), 'AWAITING_REGISTRATION')
  assert.equal((await operator(`/registrations/${printed}/approve`)).status, 200)
  assert.equal(await statusOf(tenant, printed), 'ACTIVE')
})

test('the registration decides the status of a delivered number, whatever the supplier says', async () => {
  for (const [isApproved, awaits, status] of [
    [true, true, 'ACTIVE'],
    [false, false, 'AWAITING_REGISTRATION'],
  ] as const) {
    const { tenant, row, number, uuid: printed } = await ordered(next(), 'asking')
    const bought = await virtualNumbers.find(db, tenant.id, printed.slice(3))
    assert.ok(bought)
    await db.begin((tx) => register(tx, parts, tenant.id, [bought], []))
    if (isApproved) assert.equal((await operator(`/registrations/${printed}/approve`)).status, 200)
    assert.equal(await statusOf(tenant, printed), 'PENDING_ACTIVATION')
    await delivered(row, number, awaits)
    assert.equal(await statusOf(tenant, printed), status)
  }
})

const purchase = async (tenant: Tenant, body: object, key?: string) => {
  const headers = { 'x-user-api-key': tenant.key, ...(key ? { 'idempotency-key': key } : {}) }
  const answer = await world.app.inject({ method: 'POST', url: '/open/numbers/purchase', headers, payload: body })
  return { status: answer.statusCode, body: answer.json() }
}
const orderOf = ({ id }: Tenant) => db.maybe<orders.OrderRow>`select * from number_orders where account_id = ${id}`

test('answers are validated before a number is ordered, and stored with the order', async () => {
  const tenant = await world.tenant()
  const requirements = [{ requirement_id: words, value: 'Ada' }]
  for (const [group_id, answers] of [
    ['any', requirements],
    ['any-asking', [{ requirement_id: words }]],
    ['asking', [{ requirement_id: words }]],
  ])
    assert.equal((await purchase(tenant, { group_id, requirements: answers })).status, 400)
  assert.equal(await orderOf(tenant), null)
  const bought = purchase(tenant, { group_id: 'any-asking', requirements })
  await delivered(await until(() => orderOf(tenant)), next())
  const { status, body } = await bought
  assert.equal(status, 201, JSON.stringify(body))
  const [{ uuid: printed, status_text }] = body.data.numbers
  const { data } = (await call(tenant, 'GET', `/open/voip/virtual-numbers/${printed}/requirements`)).body
  assert.deepEqual([status_text, data.satisfied, data.given], ['AWAITING_REGISTRATION', true, requirements])
})

test('the pre-flight check and the search show the same requirements', async () => {
  const tenant = await world.tenant()
  for (const [group_id, count] of [
    ['free', 0],
    ['asking', 1],
  ]) {
    const { body } = await call(tenant, 'POST', '/open/numbers/requirements/check', { group_id })
    assert.equal(body.data.missing.length, count)
  }
})

test('an order is found again by its key and body for a day; a refused order is not', async () => {
  const tenant = await world.tenant({ balance: '2.5' })
  const body = { group_id: 'any' }
  const order = () =>
    db.begin(async (tx) => {
      const group = await store.group(tx, 'any', 'real')
      assert.ok(group)
      const request = { key: 'key', digest: requestDigest(body) }
      return (
        await placeOrder(tx, tenant.id, group, {
          number: null,
          item: {},
          name: null,
          rings: null,
          by: null,
          limitedKeys: null,
          request,
        })
      ).order
    })
  const refused = await order()
  await db.begin((tx) => failOrder(tx, changes, refused, 'canceled', null))
  const number = next()
  await delivered(await order(), number)
  assert.equal((await purchase(tenant, { group_id: 'any-asking' }, 'key')).body.error_code, 'idempotency_key_reused')
  await db.run`update clock set offset_seconds = offset_seconds + 86000`
  const again = await purchase(tenant, body, 'key')
  assert.deepEqual([again.status, again.body.purchased], [201, [number]])
  await db.run`update clock set offset_seconds = offset_seconds + 87000`
  assert.equal((await purchase(tenant, body, 'key')).status, 402, 'another one is bought')
})

test('the supplier hold of a failed request is cancelled', async () => {
  const [reservation, number] = [uuid(), next()]
  const held = { group: 'free', connection, number, supplierNumber: number, reservation: { id: reservation, until: 0 } }
  const { withHold } = makeSupplierPurchase(parts)
  const assigned = () => db.maybe`
    select from jobs where kind = 'numbers.unreserve' and payload ->> 'reservation' = ${reservation}`
  assert.equal(await withHold(held, async () => 'bought'), 'bought')
  assert.equal(await assigned(), null)
  await assert.rejects(withHold(held, () => Promise.reject(new Error('refused'))))
  assert.ok(await assigned())
})

test('an unreachable supplier answers 503 and reveals no operator details to a tenant', async () => {
  const tenant = await world.tenant()
  for (const body of [{ group_id: 'free' }, { number: next() }]) {
    const { status, body: answer } = await purchase(tenant, body)
    assert.deepEqual([status, answer.error_code], [503, 'supplier_unavailable'])
    assert.equal(answer.error_message, 'The supplier of this number does not answer: nothing was charged, try again')
  }
})

test('a held number that its supplier no longer sells does not stop the purchase of the others', async () => {
  const tenant = await world.tenant()
  await makeGroup('withdrawn', false)
  await makeGroup('own', false)
  await db.run`delete from supplier_groups where group_id = 'own'`
  await db.run`update number_stock set free = 2 where group_id = 'own'`
  const [ours, theirs] = [next(), next()]
  await db.run`insert into numbers (number, group_id, shuffle) values (${ours}, 'own', 0), (${theirs}, 'own', 0)`
  for (const number of [ours, theirs]) {
    const body = { group_id: 'own', number }
    assert.equal((await call(tenant, 'POST', '/open/numbers/reservations', body)).status, 201)
  }
  await db.run`update numbers set group_id = 'withdrawn', supplier_id = ${connection} where number = ${theirs}`
  await db.run`update number_groups set offered = false where id in ('own', 'withdrawn')`
  const { status, body } = await purchase(tenant, {})
  assert.deepEqual([status, body.purchased, body.failed], [201, [ours], [theirs]])
})

test('an ordered number rings the user whom its order names, also when the supplier chooses it', async () => {
  const tenant = await world.tenant()
  const rings = uuid()
  await db.run`
    insert into users (account_id, id, first_name, last_name, email, status)
    values (${tenant.id}, ${rings}, 'A', 'B', 'a@example.com', 'ACTIVE')`
  const order = (groupId: string, number: string | null) =>
    db.begin(async (tx) => {
      const group = await store.group(tx, groupId, 'real')
      assert.ok(group)
      if (number) await inventory.addSupplied(tx, number, groupId, connection, tenant.id, 'owned')
      const item = number ? { number } : {}
      return (await placeOrder(tx, tenant.id, group, { number, item, name: null, rings, by: null, limitedKeys: null }))
        .order
    })
  const [known, chosen] = [next(), next()]
  await delivered(await order('free', known), known)
  await delivered(await order('any', null), chosen)
  const { numbers } = (await call(tenant, 'GET', '/open/voip/virtual-numbers')).body
  assert.deepEqual(
    numbers.map((one: { phone_number: string; inbound_user_uuid: string }) => [
      one.phone_number,
      one.inbound_user_uuid,
    ]),
    [known, chosen].map((number) => [number, `USR${rings}`]),
  )
})
