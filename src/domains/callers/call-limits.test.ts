import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { until } from '../../../test/platform.ts'
import type { Tenant } from '../../../test/world.ts'
import { quoteIdentifier } from '../../platform/db/identifier.ts'
import { giveNumber, makeSmsWorld, startSmsc } from '../sms/sms-testing.ts'
import { checkTypedCode } from './ops.ts'

// Tests the decisions of the process that serves requests. Calls wait in the database for the process that runs calls.

const world = await makeSmsWorld()
const smsc = await startSmsc()
const { call, tenant, advance, connect, db, parts } = world
after(async () => {
  await world.stop()
  smsc.close()
})
await connect('only', smsc)
await call('operator', 'PUT', '/operator/prices', { prices: [{ kind: 'call_out', prefix: '44', price: '0.012' }] })
await until(async () => parts.prices.of('call_out', '+442079460000') === 12_000)

const path = '/open/voip/caller-ids'
let last = 0
const landline = () => `+44207946${String(++last).padStart(4, '0')}`
const create = (who: Tenant, phone_number: string, body: object = {}) =>
  call(who, 'POST', path, { phone_number, method: 'call', ...body })
const wrong = (code: string) => String((Number(code) + 1) % 1_000_000).padStart(6, '0')

/** Proves a number by SMS, so that calls may show it. */
const prove = async (who: Tenant, phone_number: string) => {
  const before = smsc.submits.length
  const { body } = await call(who, 'POST', path, { phone_number })
  const { text } = await until(async () => smsc.submits[before])
  const proved = await call(who, 'POST', `${path}/${body.caller_id.uuid}/verify`, { code: text.slice(0, 6) })
  assert.equal(proved.status, 200, JSON.stringify(proved.body))
  return phone_number
}
let mobiles = 50_000
const make = async (options: Parameters<typeof tenant>[0] = {}) => {
  const who = await tenant(options)
  await giveNumber(world, who)
  return { who, shown: await prove(who, `+4479111${++mobiles}`) }
}
const refused = async (who: Tenant, phone_number: string, body: object = {}) => {
  const { status, body: said } = await create(who, phone_number, body)
  return `${status} ${said.error_code}`
}
const listed = async (who: Tenant, number: string) =>
  (await call(who, 'GET', path)).body.caller_ids.find((one: { phone_number: string }) => one.phone_number === number)
const typedIn = (who: Tenant, number: string, call_uuid: string, typed: string) =>
  checkTypedCode(db, parts.seal, { account: who.id, call: call_uuid.slice(3), number, simulated: false, typed })
const counted = async (subject: string) =>
  await db.one<{ codes: number; attempts: number }>`
    select codes, attempts from caller_id_code_counters where subject = ${subject}`

test('without a process that runs calls, a trunk or a caller ID, a request is refused and nothing is stored', async () => {
  const number = landline()
  const { who } = await make()
  assert.equal(await refused(who, number), '503 no_voice')
  await db.run`update voice_lease set holder = 'another process'`
  assert.equal(await refused(who, number), '503 no_trunk')
  const settings = { host: '127.0.0.1', port: 9 }
  const trunk = { kind: 'sip-trunk', name: 'trunk', settings }
  assert.equal((await call('operator', 'POST', '/operator/connections', trunk)).status, 201)
  assert.equal(await refused(await tenant(), number), '409 no_caller_id')
  const { number: own } = await giveNumber(world, who)
  assert.equal(await refused(who, own), '409 number_of_account')
  const { shown: foreign } = await make()
  assert.equal(await refused(who, number, { from_number: foreign }), '404 not_found')
  assert.equal(await listed(who, number), undefined)
  assert.equal((await db.one<{ n: number }>`select count(*)::integer as n from calls`).n, 0)
})

test('a call beyond the balance is refused with 402, and a call beyond the account’s limits with 403 or 429', async () => {
  // After the SMS that proves the caller ID, the balance is below the price of a minute.
  const { who: poor } = await make({ balance: '0.05' })
  assert.equal(await refused(poor, landline()), '402 insufficient_balance')
  const { who } = await make()
  const limits = `/operator/accounts/${who.uuid}/call-limits`
  const limit = async (body: object) => assert.equal((await call('operator', 'PATCH', limits, body)).status, 200)
  await limit({ destinations: ['49'] })
  assert.equal(await refused(who, landline()), '403 destination_not_allowed')
  await limit({ destinations: null, calls_at_a_time: 1, attempts_per_minute: 2 })
  assert.equal((await create(who, landline())).status, 201)
  assert.equal(await refused(who, landline()), '403 too_many_calls')
  await limit({ calls_at_a_time: 10 })
  assert.equal((await create(who, landline())).status, 201)
  assert.equal(await refused(who, landline()), '429 too_many_attempts')
  assert.equal(await refused(who, '911'), '422 invalid_phone_number')
  assert.equal((await call(who, 'GET', '/open/voip/call-history')).body.cdrs.length, 2, 'refused calls leave no record')
})

test('codes by call and by SMS share the limits of the account and of the number', async () => {
  const { who } = await make()
  const number = `+4479111${++mobiles}`
  assert.equal((await create(who, number)).status, 201)
  const soon = await call(who, 'POST', path, { phone_number: number })
  assert.deepEqual([soon.status, soon.body.error_code], [429, 'code_too_soon'])
  await advance(61)
  assert.equal((await call(who, 'POST', path, { phone_number: number })).status, 201)
  assert.equal(await refused(who, number), '429 code_too_soon')
  assert.deepEqual(await counted(number), { codes: 2, attempts: 0 })
  // Includes the code that proved the caller ID.
  assert.equal((await counted(who.id)).codes, 3)
  await db.run`update caller_id_code_counters set codes = 50 where subject = ${who.id}`
  assert.equal(await refused(who, landline()), '429 code_limit')
})

test('codes typed in calls count as attempts over all calls, and beyond the limit the right code proves nothing', async () => {
  const { who } = await make()
  const number = landline()
  const { body } = await create(who, number)
  const tries = []
  for (const code of [wrong(body.code), wrong(body.code), wrong(body.code), body.code])
    tries.push(await typedIn(who, number, body.call_uuid, code))
  assert.deepEqual(tries, [
    { verdict: 'wrong', mayRetry: true },
    { verdict: 'wrong', mayRetry: true },
    { verdict: 'wrong', mayRetry: false },
    { verdict: 'expired', mayRetry: false },
  ])
  assert.equal((await counted(number)).attempts, 3)
  await advance(61)
  await db.run`update caller_id_code_counters set attempts = 49 where subject = ${number}`
  const { body: next } = await create(who, number)
  assert.equal((await typedIn(who, number, body.call_uuid, next.code)).verdict, 'expired', 'another call')
  assert.equal((await typedIn(who, number, next.call_uuid, wrong(next.code))).verdict, 'wrong')
  assert.deepEqual(await typedIn(who, number, next.call_uuid, next.code), { verdict: 'limit', mayRetry: false })
  assert.equal((await listed(who, number)).verified, false)
  await advance(61)
  assert.equal(await refused(who, number), '201 undefined', 'the limit of codes is not reached')
  await db.run`update caller_id_code_counters set attempts = 51 where subject = ${number}`
  await advance(61)
  assert.equal(await refused(who, number), '429 attempt_limit')
})

test('a caller ID that is deleted, or a code by SMS that comes after, ends the code of a call', async () => {
  const { who } = await make()
  const number = `+4479111${++mobiles}`
  const { body } = await create(who, number)
  await advance(61)
  assert.equal((await call(who, 'POST', path, { phone_number: number })).status, 201)
  assert.equal((await typedIn(who, number, body.call_uuid, body.code)).verdict, 'expired')
  await advance(61)
  const { body: next } = await create(who, number)
  assert.equal((await call(who, 'DELETE', `${path}/${next.caller_id.uuid}`)).status, 200)
  assert.equal((await typedIn(who, number, next.call_uuid, next.code)).verdict, 'expired')
})

test('the code of a call appears only in its response, which an Idempotency-Key repeats', async () => {
  const { who } = await make()
  const payload = { phone_number: landline(), method: 'call' }
  const headers = { 'x-user-api-key': who.key, 'idempotency-key': 'once' }
  const answers = []
  for (let time = 0; time < 2; time++)
    answers.push((await world.app.inject({ method: 'POST', url: path, headers, payload })).json())
  assert.deepEqual(answers[1], answers[0])
  const { code } = answers[0]
  assert.match(code, /^\d{6}$/)
  const tables = await db.many<{ name: string }>`
    select table_name as name from information_schema.tables
    where table_schema = current_schema() and table_type = 'BASE TABLE'`
  assert.ok(tables.length > 50)
  for (const { name } of tables) {
    const found = await db.raw(
      `select 1 from ${quoteIdentifier(name)} t where t::text ~ '(^|[^0-9a-z.])${code}([^0-9a-z]|$)'`,
    )
    assert.equal(found.length, 0, name)
  }
})
