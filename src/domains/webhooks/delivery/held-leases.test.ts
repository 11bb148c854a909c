import assert from 'node:assert/strict'
import { after, afterEach, test } from 'node:test'
import { Receiver } from '../../../../test/doubles/receiver.ts'
import { until } from '../../../../test/platform.ts'
import { makeWorld, type Tenant } from '../../../../test/world.ts'
import type { Db, Value } from '../../../platform/db/sql.ts'
import { asDatabaseError } from '../../../platform/db/unavailability.ts'
import { record } from '../../events/ops.ts'
import { type DeliveryEngine, startDeliveryEngine } from './delivery-engine.ts'

const receiver = await new Receiver().up()
const engines: DeliveryEngine[] = []
const cuts: { isCut: boolean }[] = []
afterEach(async () => {
  for (const cut of cuts) cut.isCut = false
  for (const engine of engines.splice(0)) await engine.stop(1_000)
})
after(() => receiver.down())
const { db, parts, tenant, call } = await makeWorld({ TRUNKLINE_SANDBOX: 'true' })

const kinds = [
  ['claim', 'skip locked'],
  ['release', 'set owner = null'],
  ['load', 'webhooks_load('],
  ['store', 'webhooks_record_attempts('],
  ['look', 'webhooks_due('],
] as const

/** Statements by kind, and the leases that were claimed. A look at what is due follows each release of idle leases. */
type Count = { claim: number; release: number; load: number; store: number; look: number; leases: string[] }

/** A database that counts statements, and that can be cut off. */
const countedDatabase = () => {
  const count: Count = { claim: 0, release: 0, load: 0, store: 0, look: 0, leases: [] }
  const state = { isCut: false }
  cuts.push(state)
  const counted =
    <Result>(run: (text: TemplateStringsArray, ...values: Value[]) => Promise<Result>) =>
    async (text: TemplateStringsArray, ...values: Value[]): Promise<Result> => {
      if (state.isCut) throw asDatabaseError(new Error('Connection terminated'))
      const [kind] = kinds.find(([, part]) => text.join('').includes(part)) ?? []
      if (kind) count[kind]++
      if (kind === 'claim')
        for (const value of values) if (Array.isArray(value)) count.leases.push(...value.map(String))
      return await run(text, ...values)
    }
  const counting: Db = {
    ...db,
    many: <Row>(text: TemplateStringsArray, ...values: Value[]) => counted(db.many<Row>)(text, ...values),
    run: counted(db.run),
  }
  const reset = () => Object.assign(count, { claim: 0, release: 0, load: 0, store: 0, look: 0, leases: [] })
  return { db: counting, count, state, reset }
}

const start = (options: Parameters<typeof startDeliveryEngine>[1] = {}) => {
  const database = countedDatabase()
  engines.push(startDeliveryEngine({ ...parts, db: database.db }, options))
  return database
}

const subscribe = async (who: Tenant, path: string): Promise<string> => {
  const body = { hook_url: receiver.url(path) }
  return (await call(who, 'POST', '/open/webhooks/subscribe/contact.created', body)).body.data.uuid.slice(3)
}

const event = ({ id }: Tenant) => ({
  ...{ account: id, name: 'contact.created' as const, channel: null, conversation: 'one', payload: {} },
})

const create = (...tenants: Tenant[]) => db.begin((tx) => record(tx, tenants.map(event)))

/** Waits until nothing is pending. */
const delivered = () =>
  until(async () => (await db.maybe`select from webhook_deliveries where state = 'pending' limit 1`) === null)

/** The webhooks whose leases are held. */
const held = async (): Promise<string[]> =>
  (await db.many<{ id: string }>`select webhook_id as id from webhook_endpoint_leases where owner is not null`).map(
    ({ id }) => id,
  )

test('events of receivers whose leases are held are loaded and stored together, without claims', async () => {
  const tenants = [await tenant(), await tenant(), await tenant()]
  const perTenant = 12
  for (const [i, who] of tenants.entries()) for (let n = 0; n < perTenant; n++) await subscribe(who, `/many/${i}/${n}`)
  const { count, reset } = start()
  await create(...tenants)
  await delivered()
  assert.ok(count.claim > 0)
  let claims = 0
  for (let wave = 0; wave < 3; wave++) {
    reset()
    await until(async () => count.look >= 2)
    await create(...tenants)
    await delivered()
    claims += count.claim
    assert.equal(count.release, 0)
    const all = count.claim + count.load + count.store
    assert.ok(all <= 12, `${all} statements for ${tenants.length * perTenant} deliveries`)
  }
  // A poll finds the last subscription once more.
  assert.ok(claims <= 1, `${claims} claims`)
})

test('a changed webhook is called at its new address, and the leases of other idle ones are not claimed again', async () => {
  const [ada, bob] = [await tenant(), await tenant()]
  const moved = await subscribe(ada, '/before')
  const other = await subscribe(bob, '/other')
  let heard = 0
  parts.changes.on('webhooks', () => heard++)
  const { count, reset } = start()
  await create(ada, bob)
  await delivered()
  assert.deepEqual((await held()).sort(), [moved, other].sort())
  reset()
  await call(ada, 'PUT', `/open/webhooks/WHK${moved}`, { hook_url: receiver.url('/after') })
  await until(async () => heard > 0)
  await create(ada)
  await until(async () => receiver.of('/after').length === 1)
  await delivered()
  assert.equal(receiver.of('/before').length, 1)
  assert.equal(count.leases.includes(moved), true)
  assert.equal(count.leases.includes(other), false)
})

test('a process holds a limited number of idle leases, and releases the longest idle ones first', async () => {
  const hooks: { who: Tenant; webhook: string }[] = []
  for (const path of ['/1', '/2', '/3', '/4']) {
    const who = await tenant()
    hooks.push({ who, webhook: await subscribe(who, path) })
  }
  start({ maxIdle: 2 })
  for (const { who } of hooks) {
    await create(who)
    await delivered()
  }
  await until(async () => (await held()).length === 2)
  assert.deepEqual(
    (await held()).sort(),
    hooks
      .slice(2)
      .map(({ webhook }) => webhook)
      .sort(),
  )
})

test('another process delivers for a webhook whose idle holder is cut off, within the time of the lease', async () => {
  const ada = await tenant()
  const webhook = await subscribe(ada, '/taken')
  const leaseSeconds = 2
  const { state } = start({ leaseSeconds })
  await create(ada)
  await delivered()
  assert.deepEqual(await held(), [webhook])
  state.isCut = true
  const { count } = start({ leaseSeconds })
  await create(ada)
  // Less than the default time of a lease.
  await until(async () => receiver.of('/taken').length === 2, 25)
  assert.equal(count.leases.includes(webhook), true)
  await delivered()
  assert.equal(receiver.of('/taken').length, 2)
})
