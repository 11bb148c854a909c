import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import pino from 'pino'
import { startSupplier } from '../../../../test/didww/simulated-supplier.ts'
import { until } from '../../../../test/platform.ts'
import { makeWorld, type Tenant } from '../../../../test/world.ts'
import { startWorker } from '../../../platform/jobs/consume/worker.ts'
import { numberJobs } from '../jobs.ts'

// Orders under clock changes, disabled connections and failing suppliers.

const supplier = await startSupplier('--complete-ms', '50')
const world = await makeWorld()
const { db, parts, call } = world
const worker = startWorker({ db, log: pino({ level: 'silent' }), kinds: numberJobs(parts) })
after(() => worker.stop())

let url = ''
before(async () => {
  const { settings } = supplier
  const created = await call('operator', 'POST', '/operator/connections', {
    kind: 'didww',
    name: 'Elsewhere',
    settings,
  })
  url = `/operator/connections/${created.body.connection.uuid}`
  await until(async () => (await parts.suppliers.missing()).length === 0)
})

const buy = async (tenant: Tenant) => {
  const found = await call(tenant, 'GET', '/open/numbers/groups?country=GB&city_name_or_prefix=London')
  const bought = await call(tenant, 'POST', '/open/numbers/purchase', { group_id: found.body.data.groups[0].id })
  assert.equal(bought.status, 201, JSON.stringify(bought.body))
}
const order = ({ id }: Tenant) =>
  db.one<{ state: string; job_id: string }>`select state, job_id from number_orders where account_id = ${id}`
const balance = async ({ id }: Tenant) =>
  (await db.one<{ balance: string }>`select balance from balances where account_id = ${id}`).balance
const promote = (job: string) => db.run`update jobs set run_at = app_now() where id = ${job} and leased_until is null`
const placed = async () =>
  (await supplier.log()).filter(({ method, path }) => method === 'POST' && path === '/orders').length

test('the silence after a lost order is measured by the database clock that recorded its sending', async (t) => {
  const tenant = await world.tenant()
  const [before, real] = [await placed(), Date.now]
  await supplier.fault('lose-request', { method: 'POST', path: '/orders' })
  await buy(tenant)
  t.mock.method(Date, 'now', () => real() + 3_600_000)
  const { job_id } = await order(tenant)
  await until(async () => {
    await promote(job_id)
    return db.maybe`select 1 from jobs where id = ${job_id} and last_error like '%not known yet%'`
  })
  assert.equal((await order(tenant)).state, 'sending')
  assert.equal(await placed(), before + 1)
  await db.run`update number_orders set sent_at = sent_at - interval '61 seconds' where account_id = ${tenant.id}`
  await until(async () => {
    await promote(job_id)
    return (await order(tenant)).state === 'completed'
  })
})

test('an order waits without using up attempts while its supplier is disabled or refuses queries', async () => {
  const tenant = await world.tenant()
  await supplier.fault('hold-order', { times: 1_000_000 })
  await buy(tenant)
  await until(async () => (await order(tenant)).state === 'ordered')
  const { job_id } = await order(tenant)
  const waits = async (why: string) => {
    const waiting = () =>
      until(async () => {
        await promote(job_id)
        return db.maybe<{ attempts: number }>`
          select attempts from jobs where id = ${job_id} and leased_until is null and last_error = ${`Error: ${why}`}`
      })
    const { attempts } = await waiting()
    await db.run`update jobs set last_error = null where id = ${job_id}`
    assert.equal((await waiting()).attempts, attempts)
  }
  await call('operator', 'PATCH', url, { settings: { api_key: 'revoked' } })
  await waits('Unauthorized')
  await call('operator', 'PATCH', url, { enabled: false })
  await waits('the connection of the supplier is not enabled')
  await call('operator', 'PATCH', url, { enabled: true, settings: supplier.settings })
  await supplier.clearFaults()
  await until(async () => {
    await promote(job_id)
    return (await order(tenant)).state === 'completed'
  })
})

test('an abandoned order releases its money and no longer blocks its connection', async () => {
  const tenant = await world.tenant({ balance: '10' })
  await supplier.fault('hold-order', { times: 1_000_000 })
  await buy(tenant)
  await until(async () => (await order(tenant)).state === 'ordered')
  const refused = await call('operator', 'DELETE', url)
  assert.deepEqual([refused.status, refused.body.error_code], [409, 'orders_open'])
  const { job_id } = await order(tenant)
  await db.run`update jobs set attempts = 9999 where id = ${job_id}`
  await until(async () => {
    await db.run`update jobs set attempts = greatest(attempts, 9999), run_at = app_now() where id = ${job_id} and leased_until is null`
    return (await order(tenant)).state === 'failed'
  })
  assert.equal(await balance(tenant), '10.000000')
  assert.equal((await call(tenant, 'GET', '/open/voip/virtual-numbers')).body.total, 0)
  assert.ok(await db.maybe`select 1 from dead_jobs where id = ${job_id}`)
})

test('an order made while its connection was deleted ends with a refund', async () => {
  const tenant = await world.tenant({ balance: '10' })
  await buy(tenant)
  await until(async () => (await order(tenant)).state === 'ordered')
  const { job_id } = await order(tenant)
  const later = () =>
    db.run`update jobs set run_at = app_now() + interval '1 hour' where id = ${job_id} and leased_until is null`
  await until(async () => (await later()) === 1)
  await db.run`update number_orders set state = 'completed' where account_id = ${tenant.id}`
  assert.equal((await call('operator', 'DELETE', url)).status, 200)
  await db.run`update number_orders set state = 'ordered' where account_id = ${tenant.id}`
  await until(async () => {
    await promote(job_id)
    return (await order(tenant)).state === 'failed'
  })
  assert.equal(await balance(tenant), '10.000000')
})
