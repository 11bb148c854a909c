import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import pino from 'pino'
import { startSupplier } from '../../../../test/didww/simulated-supplier.ts'
import { until } from '../../../../test/platform.ts'
import { makeWorld, type Tenant } from '../../../../test/world.ts'
import { quoteIdentifier } from '../../../platform/db/identifier.ts'
import { startWorker } from '../../../platform/jobs/consume/worker.ts'
import { numberJobs } from '../jobs.ts'
import { makeSupplierRegistry } from './supplier-registry.ts'

// The simulated supplier is a process of its own, reached over HTTP.

const lines: { [key: string]: unknown }[] = []
const log = pino({ level: 'warn' }, { write: (line: string) => void lines.push(JSON.parse(line)) })
const supplier = await startSupplier()
const world = await makeWorld({ TRUNKLINE_QUOTAS: 'reservations=1' }, {}, { log })
const { db, parts, call } = world
const worker = startWorker({ db, log: pino({ level: 'silent' }), kinds: numberJobs(parts) })
after(() => worker.stop())

let connection = ''
before(async () => {
  const body = { kind: 'didww', name: 'Elsewhere', settings: supplier.settings }
  const created = await call('operator', 'POST', '/operator/connections', body)
  assert.equal(created.status, 201, JSON.stringify(created.body))
  connection = String(created.body.connection.uuid).slice(3)
  await until(async () => (await parts.suppliers.missing()).length === 0)
})

const london = async (who: Tenant) =>
  (await call(who, 'GET', '/open/numbers/groups?country=GB&city_name_or_prefix=London')).body.data.groups[0].id
const requests = async (method: string, path: string) =>
  (await supplier.log()).filter((one) => one.method === method && one.path.startsWith(path)).length

/** Returns the suppliers as seen by a process that has just started. */
const openRegistry = () => makeSupplierRegistry(db, parts.seal, parts.changes)

/** Makes a table or view unreadable while the work runs. */
const without = async (table: 'connections_with_accounts' | 'suppliers', work: () => Promise<void>) => {
  await db.raw(`alter table ${quoteIdentifier(table)} rename to ${quoteIdentifier(`unreadable_${table}`)}`)
  await work().finally(() =>
    db.raw(`alter table ${quoteIdentifier(`unreadable_${table}`)} rename to ${quoteIdentifier(table)}`),
  )
}

test('requests share one connection to a supplier, and so its rate limit, and read it once', async () => {
  const suppliers = makeSupplierRegistry(db, parts.seal, { ...parts.changes, on: () => {} })
  const [[first], [second]] = await Promise.all([suppliers.all(), suppliers.all()])
  assert.ok(first)
  assert.equal(first.supplier, second?.supplier)
  assert.deepEqual(await suppliers.missing(), [])
  await without('connections_with_accounts', async () => {
    assert.equal((await suppliers.of(connection))?.supplier, first.supplier)
    await without('suppliers', async () => assert.deepEqual(await suppliers.missing(), []))
  })
  assert.equal((await suppliers.reload(connection))?.supplier, first.supplier)
})

test('the next request reads suppliers again after a failed read', async () => {
  const suppliers = openRegistry()
  await without('connections_with_accounts', async () => {
    await assert.rejects(suppliers.all())
    await assert.rejects(suppliers.missing())
  })
  assert.deepEqual(
    (await suppliers.all()).map(({ id }) => id),
    [connection],
  )
  await without('suppliers', () => assert.rejects(suppliers.missing()))
  assert.deepEqual(await suppliers.missing(), [])
})

test('a reservation refused by the quota does not stay held at the supplier', async () => {
  const ada = await world.tenant()
  const group_id = await london(ada)
  const reserve = () => call(ada, 'POST', '/open/numbers/reservations', { group_id })
  const first = await reserve()
  assert.equal(first.status, 201, JSON.stringify(first.body))
  const refused = await reserve()
  assert.deepEqual(
    [refused.status, refused.body.error_code, refused.body.limit],
    [403, 'limit_exceeded', 'reservations'],
  )
  assert.equal(await requests('POST', '/did_reservations'), 2)
  await until(async () => (await requests('DELETE', '/did_reservations/')) === 1)
  const { uuid } = first.body.data.reservation_details
  assert.equal((await call(ada, 'DELETE', `/open/numbers/reservations/${uuid}`)).status, 200)
  await until(async () => (await requests('DELETE', '/did_reservations/')) === 2)
})

test('a number whose hold is refused for an unknown reason is 503, and the log names the supplier', async () => {
  const ada = await world.tenant()
  const group_id = await london(ada)
  const before = await requests('POST', '/did_reservations')
  await supplier.fault('number-gone', { method: 'POST', path: '/did_reservations' })
  await supplier.fault('slow', { method: 'POST', path: '/did_reservations', ms: 2000 })
  lines.length = 0
  const answer = call(ada, 'POST', '/open/numbers/reservations', { group_id })
  await until(async () => (await requests('POST', '/did_reservations')) > before)
  // The query whether the number is still available.
  await supplier.fault('broken', { method: 'GET', path: '/available_dids', times: 1000 })
  const { status, body } = await answer
  await supplier.clearFaults()
  assert.deepEqual([status, body.error_code], [503, 'supplier_unavailable'])
  const [line] = lines
  assert.equal(line?.connection, connection)
  assert.match(String(line?.reason), /500/)
})
