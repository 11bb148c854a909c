import assert from 'node:assert/strict'
import { test } from 'node:test'
import { idleConnection } from '../../../../test/connection.ts'
import { makeWorld, type Tenant, type World } from '../../../../test/world.ts'
import { uuid } from '../../../platform/lib/id.ts'
import type { ChatNumberCheck } from '../../../ports/chat.ts'

// Rate limits of number checks. The clock is moved and results are cached: no network is called.

const world = await makeWorld()
const twin = await makeWorld({}, {}, { db: world.db })

const connection = await idleConnection(world.db)
let serial = 0

/** A number of the tenant that counts as connected for an hour. */
const connect = async ({ id: account }: Tenant): Promise<string> => {
  const [id, number] = [uuid(), `+4477009${String(++serial).padStart(5, '0')}`]
  await world.db.run`
    insert into msgapp_channels (account_id, id, connection_id, platform, phone_number, friendly_name, iso_country_code,
      timezone, created_at, updated_at)
    values (${account}, ${id}, ${connection}, 'sandbox', ${number}, 'x', 'GB', 'Europe/London', app_now(), app_now())`
  await world.db.run`
    insert into msgapp_links (account_id, channel_id, phase, reason, since, proved_at)
    values (${account}, ${id}, 'connected', 'test', app_now(), clock_timestamp() + interval '1 hour')`
  return number
}

const found = (number: string, there: ChatNumberCheck['there']): ChatNumberCheck => ({
  number,
  there,
  id: number.slice(1),
  picture: null,
  pushname: 'Ada',
  status: 'Busy',
  business: null,
})

const know = (
  tenant: Tenant,
  number: string,
  there: ChatNumberCheck['there'] = 'yes',
  until = '1 day',
  extra = false,
) =>
  world.db.run`
    insert into msgapp_checks (account_id, connection_id, number, extra, found, until)
    values (${tenant.id}, ${connection}, ${number}, ${extra}, ${found(number, there)}, app_now() + ${until}::interval)`

const now = async () =>
  (await world.db.one<{ now: number }>`select extract(epoch from app_now())::float8 * 1000 as now`).now
const advance = (seconds: number) => world.db.run`update clock set offset_seconds = offset_seconds + ${seconds}`

const target = '+442079460958'
const check = (where: World, tenant: Tenant, from: string, to = target) =>
  where.call(tenant, 'GET', `/open/msgapp/check-number/${from}/${to}`)

test('16 clients of two processes get 50 checks in any minute for each connected number, and at least 98 % of them', async () => {
  const tenant = await world.tenant()
  const from = await connect(tenant)
  await connect(tenant)
  await know(tenant, target)
  const limit = 100
  const minutes = 2
  const taken: { from: number; to: number }[] = []
  const began = await now()
  for (let time = began; time < began + minutes * 60_000; ) {
    const answers = await Promise.all(Array.from({ length: 16 }, (_, i) => check(i % 2 ? twin : world, tenant, from)))
    const after = await now()
    const fine = answers.filter(({ status }) => status === 200)
    const refused = answers.filter(({ status }) => status === 429)
    assert.equal(fine.length + refused.length, 16)
    for (const { headers } of refused) assert.ok(Number(headers['retry-after']) >= 1)
    taken.push(...fine.map(() => ({ from: time, to: after })))
    if (fine.length === 0) await advance(1)
    time = await now()
  }
  for (const { from: start } of taken) {
    const inside = taken.filter(({ from, to }) => from >= start && to < start + 60_000)
    assert.ok(inside.length <= limit, `${inside.length} in a minute`)
  }
  assert.ok(taken.length >= limit * minutes * 0.98, `${taken.length} in ${minutes} minutes`)
  assert.ok(taken.length <= limit * (minutes + 1))
})

test('a trial checks every 6 s, and 100 numbers in all: the 101st is 402', async () => {
  const tenant = await world.tenant({ onTrial: true, requestsPerMinute: 100_000 })
  const from = await connect(tenant)
  await know(tenant, target)
  await world.db.run`update accounts set max_api_requests = null where id = ${tenant.id}`
  for (let i = 0; i < 100; i++) {
    assert.equal((await check(world, tenant, from)).status, 200, `${i}`)
    if (i < 3) {
      const soon = await check(world, tenant, from)
      assert.equal(soon.status, 429)
      assert.ok(Number(soon.headers['retry-after']) <= 6)
    }
    await advance(6)
  }
  const last = await check(world, tenant, from)
  assert.equal(last.status, 402)
  assert.equal(last.body.error_code, 'quota_exceeded')
  const { body } = await world.call(tenant, 'GET', '/open/info')
  assert.equal(body.usage.number_check_count, 100)
})

test('a check is one API call, and two with extra information', async () => {
  const tenant = await world.tenant()
  const from = await connect(tenant)
  await know(tenant, target, 'yes', '1 day', true)
  const calls = async () => (await world.call(tenant, 'GET', '/open/info')).body.usage.api_request_count
  const start = await calls()
  await check(world, tenant, from)
  assert.equal((await calls()) - start, 2, 'the check, and reading the count')
  await world.call(tenant, 'GET', `/open/msgapp/check-number/${from}/${target}?extra-information=true`)
  assert.equal((await calls()) - start, 5)
})

test('a number that is possible is checked, whether or not it is in use', async () => {
  const tenant = await world.tenant()
  const from = await connect(tenant)
  for (const unused of ['+442012345678', '+15551234567']) {
    await know(tenant, unused, 'no')
    const { is_valid, on_msgapp } = (await check(world, tenant, from, unused)).body
    assert.deepEqual([is_valid, on_msgapp], [true, false], unused)
  }
})

test('an impossible number is reported as invalid without other fields, and costs no check', async () => {
  const tenant = await world.tenant()
  const from = await connect(tenant)
  for (const wrong of ['123', '+4499', 'hello', '+999999999999', '%2B'])
    assert.deepEqual((await check(world, tenant, from, wrong)).body, { is_valid: false }, wrong)
  const { body } = await world.call(tenant, 'GET', '/open/info')
  assert.equal(body.usage.number_check_count, 0)
})

test('a cached result is returned without a network request; an expired or missing one is unknown while the network is down', async () => {
  const tenant = await world.tenant()
  const from = await connect(tenant)
  const [registered, gone, old] = ['+442079460101', '+442079460102', '+442079460103']
  await know(tenant, registered)
  await know(tenant, gone, 'no')
  await know(tenant, old, 'yes', '-1 second')
  await world.db.run`update msgapp_links set proved_at = null`
  const count = async () => (await world.call(tenant, 'GET', '/open/info')).body.usage.number_check_count
  const yes = (await check(world, tenant, from, registered)).body
  assert.equal(yes.on_msgapp, true)
  assert.equal(yes.number.region, 'London')
  assert.deepEqual(yes.msgapp_info, {
    number_id: '442079460101',
    pushname: 'Ada',
    is_business: false,
    is_enterprise: false,
  })
  const no = (await check(world, tenant, from, gone)).body
  assert.equal(no.on_msgapp, false)
  assert.ok(!('msgapp_info' in no))
  const unknown = (await check(world, tenant, from, old)).body
  assert.equal(unknown.on_msgapp_unknown, true)
  assert.ok(!('on_msgapp' in unknown))
  assert.equal(await count(), 2, 'a request that no network could answer is not a check')
})

test('a number of another account is unknown; a channel uuid works as well as the number', async () => {
  const [one, other] = [await world.tenant(), await world.tenant()]
  const from = await connect(one)
  await know(one, target)
  const { id } = await world.db.one<{ id: string }>`select id from msgapp_channels where phone_number = ${from}`
  assert.equal((await check(world, one, `WPN${id}`)).status, 200)
  assert.equal((await check(world, one, from.slice(1))).status, 200)
  const foreign = await check(world, other, from)
  const missing = await check(world, other, '+447700999999')
  assert.equal(foreign.status, 404)
  assert.equal(missing.status, 404)
  assert.equal(foreign.body.error_code, missing.body.error_code)
  assert.equal((await check(world, other, `WPN${id}`)).status, 404)
})

test('an account never sees another account’s cached results', async () => {
  const [one, other] = [await world.tenant(), await world.tenant()]
  const [mine, theirs] = [await connect(one), await connect(other)]
  const number = '+442079460104'
  await know(one, number)
  await world.db.run`update msgapp_links set proved_at = null`
  assert.equal((await check(world, one, mine, number)).body.on_msgapp, true)
  assert.equal((await check(world, other, theirs, number)).body.on_msgapp_unknown, true)
})
