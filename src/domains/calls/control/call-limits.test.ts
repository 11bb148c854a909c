import assert from 'node:assert/strict'
import { test } from 'node:test'
import pino from 'pino'
import { until } from '../../../../test/platform.ts'
import { putPrices } from '../../../../test/prices.ts'
import { makeWorld, type Tenant } from '../../../../test/world.ts'
import type { VoicePlan } from '../../../ports/voice.ts'
import { makeCallControl } from './call-control.ts'
import { checkDestination } from './call-limits.ts'
import { closedCountries } from './closed-countries.ts'

const world = await makeWorld({ TRUNKLINE_CALLS_PER_MINUTE: '8', TRUNKLINE_CALL_SPEND_PER_DAY: '2.5' })
const { db, call, tenant, parts } = world
await putPrices(world, [{ kind: 'call_out', prefix: '', price: '0.5' }])
const cut: string[] = []
const callControl = makeCallControl({
  ...{ db, sandboxAccounts: parts.sandboxAccounts, seal: parts.seal, prices: parts.prices, quotas: parts.quotas },
  ...{ log: pino({ level: 'silent' }), config: parts.config },
  ...{ linkOf: () => '', urlOfRecording: () => '', callPrograms: parts.callPrograms, epoch: 1 },
  hangUp: (call, reason) => void cut.push(`${call} ${reason}`),
  trunks: () => [{ id: 'trunk', kind: 'sip-trunk', name: 'trunk', settings: { host: '127.0.0.1' }, revision: '' }],
})

// Noon of tomorrow, so that neither a minute nor a day ends during a test.
await db.run`
  update clock set offset_seconds =
    extract(epoch from date_trunc('day', now() at time zone 'UTC') + interval '36 hours' - now() at time zone 'UTC')::bigint + 1`

const furnish = async () => {
  const who = await tenant({ balance: '100' })
  const names = { first_name: 'Ada', last_name: 'L', email: 'ada@example.com' }
  const user: string = (await call('operator', 'POST', `/operator/accounts/${who.uuid}/users`, names)).body.user.uuid
  await db.run`
    insert into caller_ids (account_id, id, phone_number, friendly_name, iso_country_code, type, verified)
    values (${who.id}, gen_random_uuid(), '+447911123456', 'x', 'GB', 'CI', true)`
  let calls = 0
  const place = async (to = '+447911987654'): Promise<VoicePlan | string> => {
    const person = { account: who.id, user: user.slice(3) }
    const decision = await callControl.placeCall({ person, callId: `${user} ${++calls}`, to, from: null, headers: {} })
    return 'value' in decision ? decision.value : `${decision.refused.status} ${decision.refused.reason}`
  }
  const change = (limits: object) => call('operator', 'PATCH', `/operator/accounts/${who.uuid}/call-limits`, limits)
  return { who, place, change }
}
const reasons = async (who: Tenant): Promise<string[]> =>
  (await call(who, 'GET', '/open/voip/call-history')).body.cdrs.map((cdr: { end_reason?: string }) => cdr.end_reason)
const pass = (seconds: number) => db.run`update clock set offset_seconds = offset_seconds + ${seconds}`

test('concurrent attempts start no more calls than the account’s limit', async () => {
  const { who, place, change } = await furnish()
  await change({ calls_at_a_time: 2, spend_per_day: '1000' })
  const placed = await Promise.all(Array.from({ length: 6 }, () => place()))
  const [plan] = placed.filter((one) => typeof one !== 'string')
  assert.equal(placed.filter((one) => typeof one !== 'string').length, 2)
  assert.ok(placed.includes('403 The account may have 2 concurrent calls'))
  assert.equal((await reasons(who)).filter((reason) => reason === 'too_many_calls').length, 4)
  const end = { how: 'busy', status: 486, reason: 'Busy', by: 'callee', agoMs: 0, stats: [], recordings: [] } as const
  await callControl.ended(plan?.call ?? '', end)
  assert.equal(typeof (await place()), 'object')
})

test('attempts above the limit are refused until the next minute; a flood leaves few records, which state its size', async () => {
  const { who, place } = await furnish()
  for (let i = 0; i < 8; i++) await place('112')
  for (let i = 9; i <= 16; i++)
    assert.equal(await place(), `403 The account may attempt 8 calls per minute; this is attempt ${i}`)
  const before = await reasons(who)
  assert.deepEqual([before.length, before.filter((reason) => reason === 'too_many_attempts').length], [16, 8])
  for (let i = 17; i <= 72; i++) await place()
  // The 16th, 32nd and 64th of the excess attempts.
  assert.equal((await reasons(who)).length, 19)
  const { cdrs } = (await call(who, 'GET', '/open/voip/call-history')).body
  const { status, duration, call_cost, to_number } = cdrs[0]
  assert.deepEqual([status, duration, call_cost.call_price, to_number], ['FAILED', 0, 0, '+447911987654'])
  await callControl.flush()
  const { timeline } = (await call(who, 'GET', `/open/voip/call/${cdrs[0].uuid}/timeline`)).body
  assert.match(timeline[0].text, /this is attempt 72$/)
  await pass(60)
  assert.equal(typeof (await place()), 'object')
})

test('the spend limit of a day holds: calls that would exceed it do not start, and current ones are ended', async () => {
  const { who, place } = await furnish()
  const plans = await Promise.all(Array.from({ length: 5 }, () => place()))
  assert.ok(plans.every((plan) => typeof plan === 'object'))
  assert.equal(await place(), '403 The account may spend USD 2.50 per day on calls')
  const [first] = plans
  const name = typeof first === 'object' ? first.call : ''
  await callControl.answered(name, { trunk: 'trunk', number: '+447911987654' }, [])
  await pass(57)
  assert.ok('value' in (await callControl.heartbeat(name, [])), 'the held minute can be used')
  await until(async () => cut.length > 0)
  assert.deepEqual(cut, [`${name} The daily spend limit is reached`], 'on time, whenever the next heartbeat is')
  await pass(10)
  assert.deepEqual(await callControl.heartbeat(name, []), {
    refused: { status: 402, reason: 'The daily spend limit is reached' },
  })
  const end = { how: 'balance', status: 402, reason: '', by: null, agoMs: 0, stats: [], recordings: [] } as const
  await callControl.ended(name, end)
  assert.ok((await reasons(who)).includes('spend_limit'))
  await pass(86_400)
  assert.equal(typeof (await place()), 'object')
})

test('countries known for toll fraud, including those under +1, are closed by default and open if an operator allows them', () => {
  for (const [country, prefixes] of closedCountries)
    for (const prefix of prefixes) {
      const number = `+${prefix.padEnd(11, '5')}`
      assert.equal(checkDestination(number, null)?.code, 'destination_not_allowed', `${country} ${number}`)
      assert.equal(checkDestination(number, [prefix]), null)
    }
  assert.equal(checkDestination('+447012345678', null)?.code, 'destination_not_allowed', 'a personal number')
  for (const open of ['+12125550123', '+14165550123', '+17875550123', '+37120000000', '+5511987654321'])
    assert.equal(checkDestination(open, null), null, open)
})

test('premium rate and satellites are closed by default, and an operator’s list allows nothing else', async () => {
  for (const costly of ['+449098790000', '+8816123456', '+882123456789', '+979123456789'])
    assert.equal(checkDestination(costly, null)?.code, 'destination_not_allowed', costly)
  for (const plain of ['+447911987654', '+12125550123', '+33612345678', '+448001111111'])
    assert.equal(checkDestination(plain, null), null)
  const { who, place, change } = await furnish()
  await place('+449098790000')
  assert.deepEqual(await reasons(who), ['destination_not_allowed'])
  await change({ destinations: ['44'] })
  assert.equal(typeof (await place('+449098790000')), 'object')
  assert.equal(await place('+33612345678'), '403 The account may not call +33612345678')
  const { body } = await change({ destinations: null })
  assert.deepEqual(body.limits, {
    ...{ calls_at_a_time: null, attempts_per_minute: null, spend_per_day: null, calls_per_second: null },
    destinations: null,
  })
})

test('the limits of an account include the defaults in force', async () => {
  const who = await tenant()
  const url = `/operator/accounts/${who.uuid}/call-limits`
  const first = (await call('operator', 'GET', url)).body
  assert.equal(first.limits.calls_at_a_time, null)
  assert.deepEqual(
    [first.defaults.calls_at_a_time, first.defaults.attempts_per_minute, first.defaults.spend_per_day],
    [20, 8, '2.50'],
  )
  const changed = (await call('operator', 'PATCH', url, { calls_at_a_time: 3 })).body
  assert.deepEqual([changed.limits.calls_at_a_time, changed.defaults], [3, first.defaults])
})
