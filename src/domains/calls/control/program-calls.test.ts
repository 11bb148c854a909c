import assert from 'node:assert/strict'
import { test } from 'node:test'
import pino from 'pino'
import { putPrices } from '../../../../test/prices.ts'
import { makeWorld, type Tenant } from '../../../../test/world.ts'
import { print, uuid } from '../../../platform/lib/id.ts'
import type { VoicePlan } from '../../../ports/voice.ts'
import type { ProgramControl } from '../orders/call-programs.ts'
import { programCallOf } from '../orders/program-call.ts'
import type { ProgramCall } from '../programs/program.ts'
import { find } from '../store.ts'
import { makeCallControl } from './call-control.ts'

const world = await makeWorld()
const { db, call, tenant, parts } = world
await putPrices(world, [{ kind: 'call_out', prefix: '', price: '0.5' }])
const cuts: string[] = []
const programs: ProgramControl[] = []
const control = makeCallControl({
  ...{ db, sandboxAccounts: parts.sandboxAccounts, seal: parts.seal, prices: parts.prices, quotas: parts.quotas },
  ...{ log: pino({ level: 'silent' }), config: parts.config, linkOf: () => '', urlOfRecording: () => '', epoch: 1 },
  callPrograms: { ...parts.callPrograms, connect: (own) => void programs.push(own) },
  hangUp: (call, reason) => void cuts.push(`${call} ${reason}`),
  trunks: () => [{ id: 'trunk', kind: 'sip-trunk', name: 'trunk', settings: { host: '127.0.0.1' }, revision: '' }],
})
const [own] = programs
assert.ok(own)
const { placeChild, onStep } = own

const telephone = '+447911987654'
let numbers = 0

/** An account whose number, at a price per minute, runs a program. */
const furnish = async (balance = '100', ppm = '0') => {
  const who = await tenant({ balance })
  const [id, number] = [uuid(), `+4416329602${String(++numbers).padStart(2, '0')}`]
  const voice = {
    kind: 'url',
    url: 'https://example.com/call',
    method: 'POST',
    fallback_url: null,
    fallback_method: 'POST',
    shape: 'native',
  }
  await db.run`
    insert into virtual_numbers (account_id, id, number, group_id, iso_country_code, region_name, type, friendly_name,
      monthly_price, ppm, status_text, expires_at, voice)
    values (${who.id}, ${id}, ${number}, 'x', 'GB', '', 'local', 'x', 0, ${ppm}::numeric, 'ACTIVE', now() + interval '1 month',
      ${JSON.stringify(voice)}::text::jsonb)`
  await db.run`
    insert into caller_ids (account_id, id, virtual_number_id, phone_number, friendly_name, iso_country_code, type, verified)
    values (${who.id}, ${uuid()}, ${id}, ${number}, 'x', 'GB', 'VN', true)`
  const receive = async (hops = 0): Promise<VoicePlan | string> => {
    const came = { trunk: 'trunk', callId: uuid(), from: '+447700900123', to: number, name: null, isFull: false, hops }
    const facts = { asserted: null, divertedFrom: null, verstat: null, npdi: false, rn: null }
    const decision = await control.receiveCall({ ...came, ...facts })
    return 'value' in decision ? decision.value : `${decision.refused.status} ${decision.refused.reason}`
  }
  return { who, number, receive }
}

const planOf = (plan: VoicePlan | string): VoicePlan => (typeof plan === 'string' ? assert.fail(plan) : plan)
const rowOf = async (who: Tenant, id: string) => (await find(db, who.id, id)) ?? assert.fail('no call')
const programCall = async (who: Tenant, id: string): Promise<ProgramCall> => {
  const row = await rowOf(who, id)
  return programCallOf(row, row.tags)
}
const dial = (to = telephone, more: object = {}) => ({ verb: 'dial' as const, targets: [{ number: to }], ...more })

/** An answered inbound call that runs a program. */
const answered = async (balance?: string, ppm?: string) => {
  const { who, number, receive } = await furnish(balance, ppm)
  const plan = planOf(await receive())
  assert.ok('value' in (await control.answered(plan.call, null, [])))
  const child = async (verb: Parameters<typeof placeChild>[1] = dial()) =>
    await placeChild(await programCall(who, plan.call), verb)
  return { who, number, plan, child }
}
const placed = (child: Awaited<ReturnType<typeof placeChild>>) =>
  'plan' in child ? child : assert.fail(`${child.failed} ${child.reason}`)
const refusedAs = (child: Awaited<ReturnType<typeof placeChild>>) => ('failed' in child ? child.failed : 'placed')
const ended = { how: 'completed', status: 0, reason: '', by: 'callee', agoMs: 0, stats: [], recordings: [] } as const

test('a call to a number with a program searches no target, and holds its own price from the beginning', async () => {
  const { who, receive } = await furnish('1', '0.4')
  const plan = planOf(await receive())
  assert.deepEqual(plan.targets, [])
  assert.ok(plan.program)
  const row = await rowOf(who, plan.call)
  assert.deepEqual([row.origin, row.parent_id, row.depth, row.held_minutes], ['trunk', null, 0, 1])
  const poor = await furnish('0.3', '0.4')
  assert.equal(await poor.receive(), '480 The number takes no calls')
})

test('a dialled telephone is a call of its own: priced, held, and marked as forwarded by an inbound call', async () => {
  const { who, number, plan, child } = await answered()
  const { callId, plan: dialled } = placed(await child())
  assert.deepEqual([dialled.callerId, dialled.targets], [number, [{ trunk: 'trunk', number: telephone }]])
  const row = await rowOf(who, callId)
  assert.deepEqual(
    [row.parent_id, row.origin, row.depth, Number(row.rate), row.held_minutes, row.forwarded],
    [plan.call, 'dial', 1, 0.5, 1, true],
  )
  await control.answered(callId, { trunk: 'trunk', number: telephone }, [])
  await control.ended(callId, ended)
  const { cdr } = (await call(who, 'GET', `/open/voip/call/${print('CDR', callId)}`)).body
  assert.deepEqual([cdr.status, cdr.call_cost.forwarded, cdr.call_cost.call_price], ['COMPLETED', true, 0.5])
  const parent = (await call(who, 'GET', `/open/voip/call/${print('CDR', plan.call)}`)).body.cdr
  assert.deepEqual([parent.active, parent.call_cost.forwarded], [true, false])
})

test('a child obeys the rules of placed calls: balance, emergency numbers, caller ID, users of the account', async () => {
  const poor = await answered('0.4')
  assert.equal(refusedAs(await poor.child()), 402)
  const [unpaid] = (await call(poor.who, 'GET', '/open/voip/call-history')).body.cdrs
  assert.deepEqual([unpaid.status, unpaid.end_reason, unpaid.call_cost.call_price], ['FAILED', 'balance', 0])

  const { who, child } = await answered()
  assert.equal(refusedAs(await child(dial('112'))), 403)
  assert.equal(refusedAs(await child(dial(telephone, { caller_id: '+447700900999' }))), 403)
  assert.equal(refusedAs(await child(dial('not a number'))), 404)
  const other = await tenant()
  const names = { first_name: 'Bob', last_name: 'B', email: 'bob@example.com' }
  const { uuid: theirs } = (await call('operator', 'POST', `/operator/accounts/${other.uuid}/users`, names)).body.user
  const { uuid: hers } = (
    await call('operator', 'POST', `/operator/accounts/${who.uuid}/users`, { ...names, email: 'ada@example.com' })
  ).body.user
  const byUser = (user_uuid: string) => ({ verb: 'dial' as const, targets: [{ user_uuid }] })
  assert.equal(refusedAs(await child(byUser(theirs))), 404)
  const { plan, callId } = placed(await child(byUser(hers)))
  assert.deepEqual(plan.targets, [{ people: [{ account: who.id, user: hers.slice(3) }] }])
  const row = await rowOf(who, callId)
  assert.deepEqual([row.forwarded, Number(row.rate)], [false, 0])
})

test('the limits of an account count the calls of programs too', async () => {
  const { who, child } = await answered()
  await call('operator', 'PATCH', `/operator/accounts/${who.uuid}/call-limits`, { calls_at_a_time: 2 })
  placed(await child())
  assert.equal(refusedAs(await child()), 403)
  assert.equal((await call(who, 'GET', '/open/voip/call-history')).body.cdrs[0].end_reason, 'too_many_calls')
})

test('calls that dial one another are refused at depth 5, also where a carrier brings them back', async () => {
  const { who, receive } = await furnish()
  for (const hops of [0, 3]) {
    const inbound = planOf(await receive(hops))
    const { plan: dialled } = placed(await placeChild(await programCall(who, inbound.call), dial()))
    assert.equal(dialled.hops, hops + 1)
  }
  const last = planOf(await receive(4))
  assert.equal(refusedAs(await placeChild(await programCall(who, last.call), dial())), 482)
  const [refused] = (await call(who, 'GET', '/open/voip/call-history')).body.cdrs
  assert.equal(refused.end_reason, 'too_deep')
})

const pass = (seconds: number) => db.run`update clock set offset_seconds = offset_seconds + ${seconds}`
const beat = async (id: string) => {
  const decision = await control.heartbeat(id, [])
  return 'refused' in decision ? decision.refused.reason : null
}

test('an exhausted balance ends a child, and the call of its program where that costs too', async () => {
  const { child, plan } = await answered('0.9', '0.4')
  const { callId } = placed(await child())
  await control.answered(callId, { trunk: 'trunk', number: telephone }, [])
  await pass(61)
  assert.equal(await beat(callId), 'The balance is exhausted')
  assert.equal(await beat(plan.call), 'The balance is exhausted')
  await control.ended(callId, ended)
  await control.ended(plan.call, ended)
})

test('the spend limit of a day ends a child; the call of its program goes on', async () => {
  const { who, child, plan } = await answered()
  await call('operator', 'PATCH', `/operator/accounts/${who.uuid}/call-limits`, { spend_per_day: '0.5' })
  const { callId } = placed(await child())
  await control.answered(callId, { trunk: 'trunk', number: telephone }, [])
  await pass(61)
  assert.equal(await beat(callId), 'The daily spend limit is reached')
  assert.equal(await beat(plan.call), null)
})

test('calls that need another minute at the same moment share what is left of the spend limit', async () => {
  const { who, child } = await answered()
  await call('operator', 'PATCH', `/operator/accounts/${who.uuid}/call-limits`, { spend_per_day: '2' })
  const ids: string[] = []
  for (let n = 0; n < 3; n++) ids.push(placed(await child()).callId)
  for (const id of ids) await control.answered(id, { trunk: 'trunk', number: telephone }, [])
  await pass(61)
  const cuts = (await Promise.all(ids.map(beat))).filter((reason) => reason !== null)
  assert.deepEqual(cuts, Array(2).fill('The daily spend limit is reached'))
})

test('the timeline of a call tells the story of its program, without the query of its addresses', async () => {
  const { who, plan } = await answered()
  const before = await programCall(who, plan.call)
  const at = Date.now()
  const first = {
    sequence: 1,
    at,
    verb: null,
    requestUrl: 'https://example.com/a?token=1',
    answerStatus: 200,
    ms: 12,
    errorCode: null,
  }
  const verb = {
    sequence: 2,
    at: at + 12,
    verb: 'gather',
    requestUrl: null,
    answerStatus: null,
    ms: 900.4,
    errorCode: null,
  }
  const last = {
    ...first,
    sequence: 3,
    at: at + 920,
    verb: 'gather',
    requestUrl: 'file:///b?c=1',
    answerStatus: null,
    errorCode: 'timeout',
  }
  for (const step of [first, verb, last]) onStep(before, step)
  await control.flush()
  const { timeline } = (await call(who, 'GET', `/open/voip/call/${print('CDR', plan.call)}/timeline`)).body
  const story = timeline.filter(({ what }: { what: string }) => what.startsWith('program_'))
  assert.deepEqual(
    story.map(({ what, detail }: { what: string; detail: object }) => [what, detail]),
    [
      ['program_request', { sequence: 1, url: 'https://example.com/a', answer_status: 200, ms: 12 }],
      ['program_verb', { sequence: 2, verb: 'gather', ms: 900 }],
      ['program_request', { sequence: 3, verb: 'gather', url: 'file:///b', ms: 12, error_code: 'timeout' }],
    ],
  )
  const stranger = await tenant()
  assert.equal((await call(stranger, 'GET', `/open/voip/call/${print('CDR', plan.call)}/timeline`)).status, 404)
})
