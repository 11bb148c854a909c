import assert from 'node:assert/strict'
import { randomInt } from 'node:crypto'
import { test } from 'node:test'
import fc from 'fast-check'
import { randomInputs } from '../../../test/needs.ts'
import { makeWorld, type Tenant } from '../../../test/world.ts'
import { uuid } from '../../platform/lib/id.ts'
import { beginCall, callAnswered, callEnded, closeAbandoned, heartbeatCall } from './ops.ts'

const world = await makeWorld()
const { db, call, tenant } = world
const long = process.env.TRUNKLINE_TEST_LONG === '1'
const seed = Number(process.env.TRUNKLINE_FUZZ_SEED ?? (long ? randomInt(2 ** 31) : 1))

const attempt = (who: Tenant, id: string, rate: string) => ({
  ...{ account_id: who.id, id, callid: id, direction: 'O' as const, user_id: null, from_number: null },
  ...{ to_number: '+447700900123', iso_country_code: 'GB', is_msgapp: false, is_trunk: true, caller_id: null },
  ...{ caller_id_used: '+441632960000', virtual_number_id: null, toll_free: false, rate },
})
const begin = async (who: Tenant, rate = '0.5') => {
  const id = uuid()
  await db.begin((tx) => beginCall(tx, attempt(who, id, rate)))
  return id
}
const answered = (who: Tenant, id: string) => db.begin((tx) => callAnswered(tx, who.id, id, null))
const beat = async (who: Tenant, id: string) => (await db.begin((tx) => heartbeatCall(tx, who.id, id))).cut
const ended = (who: Tenant, id: string, agoMs = 0) =>
  db.begin((tx) => callEnded(tx, who.id, id, { status: 'COMPLETED', reason: '200', agoMs }))
const close = () => db.begin((tx) => closeAbandoned(tx))
const pass = (seconds: number) => db.run`update clock set offset_seconds = offset_seconds + ${seconds}`
/** Makes the call look as if its process had been gone for `seconds`. */
const orphan = (id: string, seconds = 600) =>
  db.run`update calls set alive_at = alive_at - make_interval(secs => ${seconds}) where id = ${id}`
const cdr = async (who: Tenant, id: string) => (await call(who, 'GET', `/open/voip/call/CDR${id}`)).body.cdr
const money = async (who: Tenant) => {
  const { body } = await call('operator', 'GET', `/operator/accounts/${who.uuid}/ledger`)
  return { balance: Number(body.balance), held: Number(body.held) }
}
const eventsOf = (who: Tenant) =>
  db.many<{ name: string; status: string }>`
    select payload::jsonb ->> 'event' as name, payload::jsonb ->> 'status' as status
    from events where account_id = ${who.id} order by id`

test('a call that is ended when its held minute is over shows the billed seconds', async () => {
  const who = await tenant({ balance: '10' })
  for (const [talked, shown] of [
    [58_100, 59],
    [60_020, 60],
    [62_100, 63],
  ] as const) {
    const id = await begin(who)
    await answered(who, id)
    await pass(3_600)
    const { since } = await db.one<{ since: number }>`
      select (extract(epoch from app_now() - answered_at) * 1000)::float8 as since from calls where id = ${id}`
    await ended(who, id, since - talked)
    const { duration, call_cost } = await cdr(who, id)
    assert.deepEqual([duration, call_cost.duration], [shown, 60])
  }
})

test('a call is charged per started minute, from its hold', async () => {
  const who = await tenant({ balance: '10' })
  const id = await begin(who)
  assert.deepEqual(await money(who), { balance: 9.5, held: 0.5 })
  assert.equal(await answered(who, id), true)
  assert.equal(await answered(who, id), false)
  await pass(55)
  assert.equal(await beat(who, id), null)
  assert.deepEqual(await money(who), { balance: 9, held: 1 })
  await pass(10)
  assert.equal(await ended(who, id), true)
  assert.deepEqual(await money(who), { balance: 9, held: 0 })
  const { active, status, duration, call_cost, direction, is_sip_trunk_call } = await cdr(who, id)
  assert.deepEqual([active, status, direction, is_sip_trunk_call], [false, 'COMPLETED', 'O', true])
  assert.ok(duration >= 65 && duration <= 67, `${duration}`)
  assert.deepEqual([call_cost.duration, call_cost.call_price], [120, 1])
  assert.deepEqual(
    (await eventsOf(who)).map(({ name, status }) => `${name} ${status}`),
    [
      'call.initiated RINGING',
      'call.status.update RINGING',
      'call.answered ANSWERED',
      'call.status.update ANSWERED',
      'call.status.update COMPLETED',
      'call.outbound.completed COMPLETED',
    ],
  )
})

test('a call is charged until its end, however late the end is stored', async () => {
  const who = await tenant({ balance: '10' })
  const [late, early] = [await begin(who), await begin(who)]
  for (const id of [late, early]) await answered(who, id)
  await pass(55)
  for (const id of [late, early]) await beat(who, id)
  await pass(65)
  assert.equal(await ended(who, late, 65_000), true)
  const one = await cdr(who, late)
  assert.ok(one.duration >= 55 && one.duration <= 59, `${one.duration}`)
  assert.deepEqual([one.call_cost.duration, one.call_cost.call_price], [60, 0.5])
  // The end is never before the answer.
  assert.equal(await ended(who, early, 3_600_000), true)
  const other = await cdr(who, early)
  assert.deepEqual([other.duration, other.call_cost.duration, other.start_dt], [0, 60, other.end_dt])
  assert.deepEqual(await money(who), { balance: 9, held: 0 })
})

test('an unanswered call is free; a call that the balance does not cover does not start and leaves no record', async () => {
  const who = await tenant({ balance: '0.6' })
  const id = await begin(who)
  await assert.rejects(begin(who), /balance/)
  await pass(20)
  await ended(who, id)
  assert.deepEqual(await money(who), { balance: 0.6, held: 0 })
  const { duration, call_cost } = await cdr(who, id)
  assert.deepEqual([duration, call_cost.duration, call_cost.call_price, 'start_dt' in call_cost], [0, 0, 0, false])
  assert.equal((await call(who, 'GET', '/open/voip/call-history')).body.total, 1)
})

test('a call is ended when the minutes covered by the balance are used, and not before', async () => {
  const who = await tenant({ balance: '1.2' })
  const id = await begin(who)
  await answered(who, id)
  await pass(55)
  assert.equal(await beat(who, id), null)
  await pass(60)
  assert.equal(await beat(who, id), null, 'the third minute is not covered, the second not over')
  await pass(6)
  assert.equal(await beat(who, id), 'balance')
  await ended(who, id)
  assert.deepEqual(await money(who), { balance: 0.2, held: 0 })
  assert.equal(await beat(who, id), 'ended')
})

test('after a crash exactly one of several processes closes the call, as of its last heartbeat', async () => {
  const who = await tenant({ balance: '10' })
  const [talked, rang] = [await begin(who), await begin(who)]
  await answered(who, talked)
  await pass(30)
  await beat(who, talked)
  await pass(3_600)
  assert.equal(await close(), 0, 'a move of the sandbox clock is no crash')
  await orphan(talked)
  await orphan(rang)
  const closed = await Promise.all([close(), close(), close()])
  assert.equal(
    closed.reduce((sum, one) => sum + one),
    2,
  )
  const one = await cdr(who, talked)
  assert.deepEqual([one.status, one.end_reason, one.call_cost.call_price], ['COMPLETED', 'interrupted', 0.5])
  assert.ok(one.duration >= 30 && one.duration <= 32, `${one.duration}`)
  assert.equal((await cdr(who, rang)).status, 'FAILED')
  assert.deepEqual(await money(who), { balance: 9.5, held: 0 })
})

test('a call stays open if its process reaches the database again after more than a minute', async () => {
  const who = await tenant({ balance: '10' })
  const id = await begin(who)
  await answered(who, id)
  await orphan(id, 100)
  assert.equal(await close(), 0)
  assert.equal(await beat(who, id), null)
  await ended(who, id)
})

type Step = { what: 'answered' | 'beat' | 'ended' | 'close' | 'pass' | 'orphan' | 'begin'; which: number; by: number }
const step: fc.Arbitrary<Step> = fc.record({
  what: fc.constantFrom('answered', 'beat', 'ended', 'close', 'pass', 'orphan', 'begin'),
  which: fc.nat(2),
  by: fc.constantFrom(1, 5, 30, 61, 400),
})

test(`any order of call events leaves one record, one end, and the exact balance (TRUNKLINE_FUZZ_SEED=${seed})`, async () => {
  const property = fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 25 }), async (steps) => {
    const who = await tenant({ balance: '3' })
    const ids = [uuid(), uuid(), uuid()]
    const start = (id: string) => db.begin((tx) => beginCall(tx, attempt(who, id, '0.5'))).catch(() => 'refused')
    for (const { what, which, by } of steps) {
      const id = ids[which] ?? ''
      if (what === 'begin') await start(id)
      // Twice at once, like a retry of an unconfirmed message.
      if (what === 'answered') await Promise.all([answered(who, id), answered(who, id)])
      if (what === 'beat') await beat(who, id)
      if (what === 'ended') await Promise.all([ended(who, id), ended(who, id)])
      if (what === 'close') await close()
      if (what === 'pass') await pass(by)
      if (what === 'orphan') await orphan(id)
      const { balance, held } = await money(who)
      assert.ok(balance >= 0 && held >= 0)
    }
    for (const id of ids) await ended(who, id)
    const { cdrs } = (await call(who, 'GET', '/open/voip/call-history')).body
    const paid = cdrs.reduce(
      (sum: number, one: { call_cost: { call_price: number } }) => sum + one.call_cost.call_price,
      0,
    )
    const { balance, held } = await money(who)
    assert.deepEqual([held, Math.round((balance + paid) * 1e6)], [0, 3e6])
    const ends = (await eventsOf(who)).filter(({ name }) => name === 'call.outbound.completed')
    assert.equal(ends.length, cdrs.length)
    for (const { active, call_cost, duration } of cdrs) {
      assert.equal(active, false)
      // A call of zero length costs its first minute, like one of a second.
      assert.ok(call_cost.duration % 60 === 0 && call_cost.duration < Math.max(duration, 1) + 60)
    }
  })
  await fc.assert(property, { seed, numRuns: long ? 1_000 : randomInputs(25) })
})
