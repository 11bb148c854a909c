import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import pino from 'pino'
import { startSupplier, supplierSecret } from '../../../../test/didww/simulated-supplier.ts'
import { until } from '../../../../test/platform.ts'
import { makeWorld, type Tenant } from '../../../../test/world.ts'
import { sign } from '../../../adapters/didww/codec/signature.ts'
import { startWorker } from '../../../platform/jobs/consume/worker.ts'
import { numberJobs } from '../jobs.ts'

// An external supplier, through the public interface: the simulated supplier is a process of its own, reached over
// HTTP.

const supplier = await startSupplier('--complete-ms', '100')
const world = await makeWorld()
const { db, parts, call } = world
const worker = startWorker({ db, log: pino({ level: 'silent' }), kinds: numberJobs(parts) })
after(() => worker.stop())

type Row = { [key: string]: unknown }
const rows = (list: unknown): Row[] => (Array.isArray(list) ? list : [])

let connection = ''
let tenant: Tenant
const open = (method: 'GET' | 'POST' | 'DELETE', path: string, body?: object) =>
  call(tenant, method, `/open${path}`, body)
const groups = async (query: string) => {
  const answer = await open('GET', `/numbers/groups?${query}`)
  assert.equal(answer.status, 200)
  return { list: rows(answer.body.data.groups), headers: answer.headers }
}
const london = async () => String((await groups('country=GB&city_name_or_prefix=London')).list[0]?.id)
const balance = async () =>
  (await open('GET', '/info')).body.account &&
  (
    await db.one<{ balance: string }>`
  select balance from balances where account_id = ${tenant.id}`
  ).balance
const numberOf = async (uuid: unknown) => (await open('GET', `/voip/virtual-numbers/${uuid}`)).body.number
const active = (uuid: unknown) =>
  until(async () => {
    const number = await numberOf(uuid)
    return number?.status_text === 'ACTIVE' && number
  })
const orders = async () =>
  (await supplier.log()).filter(({ method, path }) => method === 'POST' && path.startsWith('/orders')).length
const events = async (name: string) =>
  (await db.many`select 1 from events where account_id = ${tenant.id} and name = ${name}`).length

before(async () => {
  await db.run`insert into number_countries (iso_country_code, name, prefix) values ('LT', 'Lithuania', '370')`
  await db.run`insert into number_regions (id, iso_country_code, code, name, folded) values (7, 'GB', 'GB-ENG', 'England', 'england')`
  const settings = { ...supplier.settings, markup_percent: 25 }
  const created = await call('operator', 'POST', '/operator/connections', {
    kind: 'didww',
    name: 'Elsewhere',
    settings,
  })
  assert.equal(created.status, 201, JSON.stringify(created.body))
  connection = created.body.connection.uuid
  await until(async () => (await parts.suppliers.missing()).length === 0)
})

test('a supplier’s groups are in the catalogue, with the operator’s prices, and are found by place', async () => {
  tenant = await world.tenant()
  const { list, headers } = await groups('country=GB&city_name_or_prefix=london&region_id=7')
  const [group] = list
  assert.deepEqual(
    [list.length, group?.prefix, group?.location, group?.type, group?.allow_number_selection, group?.available_count],
    [1, '20', 'London', 'local', true, 40],
  )
  assert.deepEqual(group?.price, { setup_price: '0.50', monthly_price: '1.00', ppm: '0.00' })
  assert.equal(headers['trunkline-missing-supplier'], undefined)
  assert.equal((await groups('country=GB&city_name_or_prefix=4420')).list.length, 1)
  const [aachen] = (await groups('country=DE')).list
  assert.equal(aachen?.allow_number_selection, false)
})

test('the operator sees the supplier’s state, and tests the connection', async () => {
  const tried = await call('operator', 'POST', `/operator/connections/${connection}/test`)
  assert.deepEqual([tried.body.working, tried.body.message.replace(/[\d.]+$/, '')], [true, 'balance USD '])
  const shown = await call('operator', 'GET', `/operator/connections/${connection}`)
  assert.equal(shown.body.connection.state.state, 'up')
})

test('a number is ordered once, charged once, and belongs to the account after its delivery', async () => {
  tenant = await world.tenant({ balance: '10' })
  const bought = await open('POST', '/numbers/purchase', { group_id: await london(), friendly_name: 'Ours' })
  assert.equal(bought.status, 201, JSON.stringify(bought.body))
  const [number] = bought.body.data.numbers
  assert.match(number.phone_number, /^\+4420\d{8}$/)
  assert.equal(number.status_text, 'PENDING_ACTIVATION')
  const then = await active(number.uuid)
  assert.equal(then.friendly_name, 'Ours')
  assert.equal(await balance(), '8.500000')
  assert.equal(await events('number.purchased'), 1)
  const channels = rows((await open('GET', '/sms/channels')).body.channels)
  assert.deepEqual(
    channels.map((one) => one.phone_number),
    [number.phone_number],
  )
  const sold =
    await db.many<Row>`select kind, debit, credit, amount from transfers where account_id = ${tenant.id} and kind = 'number_purchase'`
  assert.deepEqual(sold, [{ kind: 'number_purchase', debit: 'held', credit: 'numbers', amount: '1.500000' }])
})

test('free numbers are queried live; a reserved number is held at the supplier, and cancelled there', async () => {
  tenant = await world.tenant()
  const group = await london()
  const shown = rows((await open('GET', `/numbers/available?group_id=${group}`)).body.data.numbers)
  assert.ok(shown.length > 3)
  const number = String(shown[0]?.number)
  const held = await open('POST', '/numbers/reservations', { group_id: group, number })
  assert.equal(held.status, 201, JSON.stringify(held.body))
  const details = held.body.data.reservation_details
  const minutes = (Date.parse(details.expires_at) - Date.parse(details.created_at)) / 60_000
  assert.ok(minutes > 8 && minutes <= 10, 'never longer than the supplier’s own ten minutes')
  const digits = number.slice(-8)
  const isFree = async () =>
    (await open('GET', `/numbers/available?group_id=${group}&number_contains=${digits}`)).body.count === 1
  assert.equal(await isFree(), false)
  assert.equal((await open('POST', '/numbers/reservations', { group_id: group, number })).status, 409)
  const other = await world.tenant()
  assert.equal((await call(other, 'POST', '/open/numbers/purchase', { number })).status, 409)
  assert.equal((await open('DELETE', `/numbers/reservations/${details.uuid}`)).status, 200)
  await until(isFree)
  assert.equal((await call(other, 'POST', '/open/numbers/purchase', { number })).status, 201)
})

test('of many buyers of one number one gets it, and one pays', async () => {
  const callers = await Promise.all(Array.from({ length: 6 }, () => world.tenant({ balance: '10' })))
  tenant = callers[0] ?? tenant
  const group = await london()
  const [one] = rows((await open('GET', `/numbers/available?group_id=${group}`)).body.data.numbers)
  const body = { group_id: group, number: one?.number }
  const answers = await Promise.all(callers.map((who) => call(who, 'POST', '/open/numbers/purchase', body)))
  assert.deepEqual(answers.map(({ status }) => status).sort(), [201, 409, 409, 409, 409, 409])
  const held = await db.many`select 1 from number_orders where number = ${String(one?.number)}`
  assert.equal(held.length, 1)
})

test('a number that the supplier cannot hold is not reserved, but can be bought', async () => {
  const group = await london()
  const who = [await world.tenant(), await world.tenant(), await world.tenant()]
  const held: { path: string; by: Tenant }[] = []
  for (const by of who) {
    const reserve = () => call(by, 'POST', '/open/numbers/reservations', { group_id: group })
    const before = held.length
    let answer = await reserve()
    // 503: a busy machine takes longer than a request may wait for its turn at the supplier.
    for (; answer.status === 201 || answer.status === 503; answer = await reserve())
      if (answer.status === 201)
        held.push({ path: `/open/numbers/reservations/${answer.body.data.reservation_details.uuid}`, by })
    assert.deepEqual([answer.status, answer.body.error_code], [409, 'holds_used_up'])
    assert.ok(held.length - before <= 5, 'an account may hold only a few of the supplier’s shared holds')
  }
  assert.ok(held.length > 5 && held.length <= 10, `${held.length} held`)
  const other = await world.tenant({ balance: '10' })
  const bought = await call(other, 'POST', '/open/numbers/purchase', { group_id: group })
  assert.equal(bought.status, 201, JSON.stringify(bought.body))
  for (const { path, by } of held) assert.equal((await call(by, 'DELETE', path)).status, 200)
})

test('a group without number selection delivers any number while the request waits', async () => {
  tenant = await world.tenant({ balance: '5' })
  const [group] = (await groups('country=US&city_name_or_prefix=833')).list
  const bought = await open('POST', '/numbers/purchase', { group_id: group?.id })
  assert.equal(bought.status, 201, JSON.stringify(bought.body))
  assert.match(bought.body.purchased[0], /^\+1833\d{7}$/)
  assert.equal(bought.body.data.numbers[0].status_text, 'ACTIVE')
  assert.equal((await open('POST', '/numbers/reservations', { group_id: group?.id })).body.error_code, 'not_reservable')
  const [aachen] = (await groups('country=DE')).list
  const registered = await open('POST', '/numbers/purchase', { group_id: aachen?.id })
  assert.equal(registered.body.data.numbers[0].status_text, 'AWAITING_REGISTRATION')
})

test('an account without balance gets nothing, and nothing is ordered', async () => {
  tenant = await world.tenant({ balance: '0.10' })
  const before = await orders()
  const requestCount = (await supplier.log()).length
  assert.equal((await open('POST', '/numbers/purchase', { group_id: await london() })).status, 402)
  assert.equal((await supplier.log()).length, requestCount, 'no number is held either')
  const [any] = (await groups('country=US&city_name_or_prefix=833')).list
  assert.equal((await open('POST', '/numbers/purchase', { group_id: any?.id })).status, 402)
  assert.equal(await orders(), before)
  assert.equal(await balance(), '0.100000')
})

test('an order whose answer was lost is found again: one order, one number', async () => {
  tenant = await world.tenant()
  const before = await orders()
  await supplier.fault('lose-answer', { method: 'POST', path: '/orders' })
  const bought = await open('POST', '/numbers/purchase', { group_id: await london() })
  await active(bought.body.data.numbers[0].uuid)
  assert.equal((await orders()) - before, 1)
})

test('an order that never arrived is sent again, but only once that is certain', async () => {
  tenant = await world.tenant()
  await supplier.fault('lose-request', { method: 'POST', path: '/orders' })
  const bought = await open('POST', '/numbers/purchase', { group_id: await london() })
  const [{ uuid }] = bought.body.data.numbers
  const row = () =>
    db.one<{ state: string; job_id: string }>`select state, job_id from number_orders where account_id = ${tenant.id}`
  const { job_id } = await row()
  const looked = () => db.maybe`select 1 from jobs where id = ${job_id} and last_error like '%not known yet%'`
  await db.run`update jobs set run_at = app_now() where id = ${job_id}`
  await until(async () => {
    await db.run`update jobs set run_at = app_now() where id = ${job_id} and leased_until is null and last_error not like '%not known yet%'`
    return looked()
  })
  assert.equal((await row()).state, 'sending')
  assert.equal((await numberOf(uuid)).status_text, 'PENDING_ACTIVATION')
  await db.run`update number_orders set sent_at = sent_at - interval '61 seconds' where account_id = ${tenant.id}`
  await db.run`update jobs set run_at = app_now() where id = ${job_id}`
  await active(uuid)
})

test('an order that the supplier cancels ends with a refund and without the number', async () => {
  tenant = await world.tenant({ balance: '10' })
  await supplier.fault('cancel-order')
  const bought = await open('POST', '/numbers/purchase', { group_id: await london() })
  assert.equal(await balance(), '8.500000')
  await until(async () => (await open('GET', '/voip/virtual-numbers')).body.total === 0)
  assert.equal(await balance(), '10.000000')
  assert.deepEqual([await events('number.purchased'), await events('number.released')], [0, 1])
  assert.equal(bought.status, 201)
  await supplier.fault('cancel-order')
  const [any] = (await groups('country=US&city_name_or_prefix=833')).list
  const refused = await open('POST', '/numbers/purchase', { group_id: any?.id })
  assert.deepEqual([refused.status, refused.body.error_code], [409, 'not_delivered'])
  assert.equal(await balance(), '10.000000')
  // The order was placed: the audit trail names the purchaser.
  const acts = (await open('GET', '/audit?action=purchaseNumber')).body.acts
  assert.equal(acts.length, 2)
  assert.deepEqual([acts[0].targets, acts[0].actor.kind], [[any?.id], 'api_key'])
})

test('a number sold elsewhere a moment ago is 409; a request for any number gets another of the group', async () => {
  tenant = await world.tenant({ balance: '10' })
  const group = await london()
  const [one] = rows((await open('GET', `/numbers/available?group_id=${group}`)).body.data.numbers)
  await supplier.fault('number-gone', { method: 'POST' })
  const named = await open('POST', '/numbers/purchase', { group_id: group, number: one?.number })
  assert.deepEqual([named.status, named.body.error_code], [409, 'number_unavailable'])
  assert.equal(await balance(), '10.000000')
  await supplier.fault('number-gone', { method: 'POST' })
  assert.equal((await open('POST', '/numbers/purchase', { group_id: group })).status, 201)
})

test('a released number is not renewed at the supplier, and is not sold again here', async () => {
  tenant = await world.tenant()
  const bought = await open('POST', '/numbers/purchase', { group_id: await london() })
  const [{ uuid, phone_number }] = bought.body.data.numbers
  await active(uuid)
  assert.equal((await open('DELETE', `/voip/virtual-numbers/${uuid}`)).status, 200)
  const ended = await until(async () => (await supplier.log()).findLast(({ method }) => method === 'PATCH'))
  assert.match(JSON.stringify(ended.body), /"attributes":\{"billing_cycles_count":0\}/)
  assert.equal(await db.maybe`select 1 from numbers where number = ${phone_number}`, null)
})

test('a callback hastens its order if the supplier signed it, and reveals nothing to others', async () => {
  tenant = await world.tenant()
  await supplier.fault('hold-order', { times: 1_000_000 })
  const bought = await open('POST', '/numbers/purchase', { group_id: await london() })
  const order = () =>
    db.maybe<{ external_id: string; job_id: string }>`
      select external_id, job_id from number_orders where account_id = ${tenant.id} and state = 'ordered'`
  const { external_id, job_id } = await until(order)
  await db.run`update jobs set run_at = app_now() + interval '1 hour' where id = ${job_id}`
  await until(async () => {
    await db.run`update jobs set run_at = app_now() + interval '1 hour' where id = ${job_id}`
    return db.maybe`select 1 from jobs where id = ${job_id} and leased_until is null and run_at > app_now() + interval '1 minute'`
  })
  await supplier.clearFaults()
  const expected = new Map([
    ['id', external_id],
    ['type', 'orders'],
    ['status', 'completed'],
  ])
  const url = `/callbacks/didww/${connection}`
  const post = (path: string, signature: string) =>
    world.app.inject({
      method: 'POST',
      url: path,
      headers: { 'content-type': 'application/x-www-form-urlencoded', 'x-didww-signature': signature },
      payload: new URLSearchParams([...expected]).toString(),
    })
  const good = sign(supplierSecret, `http://127.0.0.1:8080${url}`, expected) ?? ''
  const wrong = await post(
    url,
    good.replace(/^./, (c) => (c === '0' ? '1' : '0')),
  )
  const unknown = await post('/callbacks/didww/CNX00000000-0000-7000-8000-000000000000', good)
  assert.deepEqual([wrong.statusCode, unknown.statusCode], [401, 401])
  assert.equal(wrong.json().error_message, unknown.json().error_message)
  assert.equal((await post(url, good)).statusCode, 200)
  await active(bought.body.data.numbers[0].uuid)
})

test('a catalogue of several pages is read completely, and groups no longer in it are not sold', async () => {
  tenant = await world.tenant()
  const relation = (type: string, id: string) => ({ data: { type, id } })
  const country = { type: 'countries', id: 'lt', attributes: { name: 'Lithuania', prefix: '370', iso: 'LT' } }
  const kind = { type: 'did_group_types', id: 'any-local', attributes: { name: 'Local' } }
  const price = { setup_price: '0.0', monthly_price: '1.10', channels_included_count: 0 }
  const areas = Array.from({ length: 230 }, (_, i) => ({
    type: 'did_groups',
    id: `lt-${i}`,
    attributes: { prefix: String(300 + i), area_name: `Area ${i}`, features: [] },
    relationships: {
      country: relation('countries', 'lt'),
      did_group_type: relation('did_group_types', 'any-local'),
      stock_keeping_units: { data: [{ type: 'stock_keeping_units', id: 'lt-sku' }] },
    },
    meta: { available_dids_enabled: false, needs_registration: false },
  }))
  await supplier.add([country, kind, { type: 'stock_keeping_units', id: 'lt-sku', attributes: price }, ...areas])
  const offer = (countries: string[]) =>
    call('operator', 'PATCH', `/operator/connections/${connection}`, { settings: { countries } })
  await offer(['LT', 'GB'])
  await until(async () => (await groups('country=LT')).list.length === areas.length)
  const [first] = (await groups('country=LT&city_name_or_prefix=37030')).list
  assert.deepEqual(first?.price, { setup_price: '0.00', monthly_price: '1.375', ppm: '0.00' })
  await until(async () => (await groups('country=DE')).list.length === 0)
  await offer(['GB', 'US', 'DE'])
  await until(async () => (await groups('country=LT')).list.length === 0)
  await until(async () => (await groups('country=DE')).list.length === 1)
})

test('while the supplier is unreachable the search names it as missing, and purchases are not charged', async () => {
  tenant = await world.tenant({ balance: '10' })
  const group = await london()
  const patch = (settings: object) => call('operator', 'PATCH', `/operator/connections/${connection}`, { settings })
  await patch({ api_key: 'revoked' })
  const found = () => open('GET', `/numbers/available?group_id=${group}`)
  await until(async () => (await found()).headers['trunkline-missing-supplier'] !== undefined)
  assert.equal((await open('POST', '/numbers/purchase', { group_id: group })).body.error_code, 'supplier_unavailable')
  await patch({ base_url: 'http://127.0.0.1:3/v3' })
  await until(async () => (await parts.suppliers.missing()).length === 1)
  const { list, headers } = await groups('country=GB&city_name_or_prefix=London')
  assert.deepEqual([list.length, headers['trunkline-missing-supplier']], [1, 'Elsewhere'])
  const available = await open('GET', `/numbers/available?group_id=${group}`)
  assert.deepEqual(
    [available.status, available.body.count, available.headers['trunkline-missing-supplier']],
    [200, 0, 'Elsewhere'],
  )
  const refused = await open('POST', '/numbers/purchase', { group_id: group })
  assert.deepEqual([refused.status, refused.body.error_code], [503, 'supplier_unavailable'])
  assert.equal(await balance(), '10.000000')
  const tried = await call('operator', 'POST', `/operator/connections/${connection}/test`)
  assert.equal(tried.body.working, false)
})

test('a deleted connection sells nothing any more', async () => {
  assert.equal((await call('operator', 'DELETE', `/operator/connections/${connection}`)).status, 200)
  await until(async () => (await groups('country=GB')).list.length === 0)
})
