import assert from 'node:assert/strict'
import { test } from 'node:test'
import pino from 'pino'
import { until } from '../../../../test/platform.ts'
import { putPrices } from '../../../../test/prices.ts'
import { makeWorld, type Tenant } from '../../../../test/world.ts'
import { print, uuid } from '../../../platform/lib/id.ts'
import type { VoicePlan } from '../../../ports/voice.ts'
import type { ProgramControl } from '../orders/call-programs.ts'
import { programCallOf } from '../orders/program-call.ts'
import type { ProgramCall } from '../programs/program.ts'
import type { CallCallbacks } from '../programs/program-source.ts'
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
  const receive = async (hops = 0, from = '+447700900123'): Promise<VoicePlan | string> => {
    const came = { trunk: 'trunk', callId: uuid(), from, to: number, name: null, isFull: false, hops }
    const facts = { asserted: null, divertedFrom: null, verstat: null, npdi: false, rn: null }
    const decision = await control.receiveCall({ ...came, ...facts })
    return 'value' in decision ? decision.value : `${decision.refused.status} ${decision.refused.reason}`
  }
  /** A call of a person at a browser. */
  const place = async (from: string | null = null): Promise<VoicePlan | string> => {
    const names = { first_name: 'Ada', last_name: 'L', email: `${uuid()}@example.com` }
    const { body } = await call('operator', 'POST', `/operator/accounts/${who.uuid}/users`, names)
    const asked = {
      person: { account: who.id, user: body.user.uuid.slice(3) },
      callId: uuid(),
      to: number,
      from,
      headers: {},
    }
    const decision = await control.placeCall(asked)
    return 'value' in decision ? decision.value : `${decision.refused.status} ${decision.refused.reason}`
  }
  return { who, id, number, receive, place }
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
  const child = async (
    verb: Parameters<typeof placeChild>[1] = dial(),
    callbacks: Parameters<typeof placeChild>[2] = null,
  ) => await placeChild(await programCall(who, plan.call), verb, callbacks)
  return { who, number, plan, child }
}
const placed = (child: Awaited<ReturnType<typeof placeChild>>) =>
  'plan' in child ? child : assert.fail(`${child.failed} ${child.reason}`)
const refusedAs = (child: Awaited<ReturnType<typeof placeChild>>) => ('failed' in child ? child.failed : 'placed')
/** The source of the recording of a plan, which is stored. */
const sourceOf = async ({ call, record }: VoicePlan): Promise<string> => {
  assert.ok(record)
  const { source } = await db.one<{ source: string }>`
    select source from call_recordings where call_id = ${call} and id = ${record.id}`
  return source
}

const ended = { how: 'completed', status: 0, reason: '', by: 'callee', agoMs: 0, stats: [], recordings: [] } as const

test('a call to a number with a program searches no target, has a longest time, and holds its own price from the beginning', async () => {
  const { who, receive } = await furnish('1', '0.4')
  const plan = planOf(await receive())
  assert.deepEqual([plan.targets, plan.mostSeconds], [[], 14_400])
  assert.ok(plan.program)
  const row = await rowOf(who, plan.call)
  assert.deepEqual([row.origin, row.parent_id, row.depth, row.held_minutes], ['trunk', null, 0, 1])
  const poor = await furnish('0.3', '0.4')
  assert.equal(await poor.receive(), '480 The number takes no calls')
})

test('a caller that cancels while its answer is stored is charged nothing, and its minute is given back', async () => {
  const { who, plan } = await answered('1', '0.4')
  await control.ended(plan.call, { ...ended, how: 'canceled', status: 487, by: 'caller' })
  const { cdr } = (await call(who, 'GET', `/open/voip/call/${print('CDR', plan.call)}`)).body
  assert.deepEqual([cdr.status, cdr.end_reason, cdr.call_cost.call_price], ['COMPLETED', '487', 0])
  assert.equal(Number((await call('operator', 'GET', `/operator/accounts/${who.uuid}/ledger`)).body.held), 0)
})

test('a call whose application is gone fails with an event, whether it comes in or is made by the API', async () => {
  const { who, number, receive } = await furnish()
  const gone = { kind: 'application', application: uuid(), shape: 'native' } as const
  await db.run`
    update virtual_numbers set voice = ${JSON.stringify(gone)}::text::jsonb where account_id = ${who.id}`
  assert.equal(await receive(), '480 The number takes no calls')
  await db.run`update voice_lease set holder = 'a test'`
  const settings = { host: '127.0.0.1', port: 9 }
  await call('operator', 'POST', '/operator/connections', { kind: 'sip-trunk', name: 'trunk', settings })
  const order = { from_number: number, to: telephone, verbs: [{ verb: 'hangup' }] }
  const { uuid: made } = (await call(who, 'POST', '/open/voip/calls', order)).body.cdr
  const row = await rowOf(who, made.slice(3))
  assert.equal(await control.placeQueuedCall({ ...row, program: gone, late: false, blocked: false }), null)
  const events = await db.many<{ code: string; application: string }>`
    select payload::jsonb -> 'error' ->> 'code' as code, payload::jsonb ->> 'application_uuid' as application
    from events where account_id = ${who.id} and name = 'call.program.failed'`
  assert.deepEqual(events, Array(2).fill({ code: 'unreachable', application: print('APP', gone.application) }))
  assert.equal((await rowOf(who, made.slice(3))).end_reason, 'program_error')
})

test('a dialled telephone is a call of its own: priced, held, and marked as forwarded by an inbound call', async () => {
  const { who, number, plan, child } = await answered()
  const {
    call: { id: callId },
    plan: dialled,
  } = placed(await child())
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

test('the statuses of a child are reported one by one where that is asked for', async () => {
  const { who, child } = await answered()
  const callbacks: CallCallbacks = {
    ...{ url: 'https://example.com/status', method: 'POST', shape: 'native', application: null },
    events: ['initiated', 'ringing', 'answered', 'completed'],
  }
  const { call: callee } = placed(await child(dial(), callbacks))
  const target = { trunk: 'trunk', number: telephone }
  await control.ringing(callee.id, target)
  await control.answered(callee.id, target, [])
  await control.ended(callee.id, ended)
  const jobs = await db.many<{ event: string; sequence: number }>`
    select payload ->> 'event' as event, (payload ->> 'sequence')::integer as sequence from jobs
    where account_id = ${who.id} and kind = 'call.status' and key = ${callee.id} order by sequence`
  assert.deepEqual(
    jobs,
    callbacks.events.map((event, sequence) => ({ event, sequence })),
  )
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
  const {
    plan,
    call: { id: callId },
  } = placed(await child(byUser(hers)))
  assert.deepEqual(plan.targets, [{ people: [{ account: who.id, user: hers.slice(3) }] }])
  const row = await rowOf(who, callId)
  assert.deepEqual([row.forwarded, Number(row.rate)], [false, 0])
  assert.equal(await sourceOf(placed(await child(dial(telephone, { record: 'from_answer' }))).plan), 'dial')
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
    const { plan: dialled } = placed(await placeChild(await programCall(who, inbound.call), dial(), null))
    assert.equal(dialled.hops, hops + 1)
  }
  const last = planOf(await receive(4))
  assert.equal(refusedAs(await placeChild(await programCall(who, last.call), dial(), null)), 482)
  const [refused] = (await call(who, 'GET', '/open/voip/call-history')).body.cdrs
  assert.equal(refused.end_reason, 'too_deep')
})

test('a call that a carrier brings back without our header is known by the number that a dialled call shows', async () => {
  const { who, number, receive } = await furnish()
  const depths: (number | undefined)[] = []
  for (const from of ['+447700900123', number, number]) {
    const { call: id } = planOf(await receive(0, from))
    const { plan, call } = placed(await placeChild(await programCall(who, id), dial(), null))
    depths.push(plan.hops)
    if (depths.length === 3) await control.answered(call.id, null, [])
  }
  assert.deepEqual(depths, [1, 2, 3])
  // One that is answered already does not come back, and another caller is not ours.
  const rows = [planOf(await receive(0, number)), planOf(await receive())].map(({ call: id }) => rowOf(who, id))
  assert.deepEqual(
    (await Promise.all(rows)).map(({ depth }) => depth),
    [2, 0],
  )
})

const pass = (seconds: number) => db.run`update clock set offset_seconds = offset_seconds + ${seconds}`
const beat = async (id: string) => {
  const decision = await control.heartbeat(id, [])
  return 'refused' in decision ? decision.refused.reason : null
}

test('an exhausted balance ends a child, and the call of its program where that costs too', async () => {
  const { child, plan } = await answered('0.9', '0.4')
  const {
    call: { id: callId },
  } = placed(await child())
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
  const {
    call: { id: callId },
  } = placed(await child())
  await control.answered(callId, { trunk: 'trunk', number: telephone }, [])
  await pass(61)
  assert.equal(await beat(callId), 'The daily spend limit is reached')
  assert.equal(await beat(plan.call), null)
})

test('the daily limit of a key ends the call that the key made and those that its program dialled, and refuses more', async () => {
  const { who, number } = await furnish()
  await db.run`update voice_lease set holder = 'a test'`
  const settings = { host: '127.0.0.1', port: 9 }
  await call('operator', 'POST', '/operator/connections', { kind: 'sip-trunk', name: 'limits', settings })
  const { key } = (await call(who, 'POST', '/open/keys', { label: 'limited', spend_per_day: '1.5' })).body
  const make = (by: Tenant) =>
    call(by, 'POST', '/open/voip/calls', { from_number: number, to: telephone, verbs: [{ verb: 'hangup' }] })
  const limited = { ...who, key }
  const made = await make(limited)
  assert.equal(made.status, 201, JSON.stringify(made.body))
  const id: string = made.body.cdr.uuid.slice(3)
  const row = await rowOf(who, id)
  assert.ok(row.program && row.placement)
  await control.placeQueuedCall({ ...row, program: row.program, placement: row.placement, late: false, blocked: false })
  await control.answered(id, { trunk: 'trunk', number: telephone }, [])
  const dialled = async () => await placeChild(await programCall(who, id), dial(), null)
  const child = placed(await dialled()).call.id
  await control.answered(child, { trunk: 'trunk', number: telephone }, [])
  const third = placed(await dialled()).call.id
  assert.equal(refusedAs(await dialled()), 402)
  const refused = await make(limited)
  assert.deepEqual([refused.status, refused.body.error_code], [402, 'key_spend_limit'])
  assert.equal((await make(who)).status, 201, 'another key of the account has no limit')
  const { cdrs } = (await call(who, 'GET', '/open/voip/call-history')).body
  const reasons = cdrs.map(({ end_reason }: { end_reason: string | null }) => end_reason)
  assert.equal(reasons.filter((reason: string | null) => reason === 'key_spend_limit').length, 2)

  await control.ended(third, { ...ended, how: 'no_answer', status: 408 })
  await pass(59)
  // Half a dollar is left: one of the two has another minute, and the other one is ended.
  const beats = [await beat(id), await beat(child)]
  assert.ok(beats[0] === null)
  if (beats[1] === null) await until(async () => cuts.some((cut) => cut.startsWith(child)))
  assert.ok((beats[1] ?? cuts.find((cut) => cut.startsWith(child)))?.endsWith('spend limit of the API key is reached'))
  await control.ended(child, { ...ended, how: 'operator' })
  assert.equal((await rowOf(who, child)).end_reason, 'key_spend_limit')
  await pass(60)
  if ((await beat(id)) === null) await until(async () => cuts.some((cut) => cut.startsWith(id)))
  await control.ended(id, { ...ended, how: 'operator' })
  assert.equal((await rowOf(who, id)).end_reason, 'key_spend_limit')
  const [shown] = (await call(who, 'GET', '/open/keys')).body.keys.filter(
    ({ spend_per_day }: { spend_per_day?: string }) => spend_per_day,
  )
  assert.equal(shown.spent_today, '1.50')
})

test('what a call dials after a limited key redirected it counts for that key', async () => {
  const { who, child, plan } = await answered()
  const { uuid: printed, key } = (await call(who, 'POST', '/open/keys', { label: 'limited', spend_per_day: '0.5' }))
    .body
  // Nothing executes the command here, so the request waits until the end of the test.
  const redirect = { command: 'redirect', verbs: [{ verb: 'hangup' }] }
  const asked = call({ ...who, key }, 'POST', `/open/voip/call/${print('CDR', plan.call)}/commands`, redirect)
  const counts = () => rowOf(who, plan.call).then(({ limited_keys: keys }) => keys !== null)
  await until(counts)
  assert.deepEqual((await rowOf(who, plan.call)).limited_keys, [printed.slice(3)])
  placed(await child())
  assert.equal(refusedAs(await child()), 402)
  await db.run`update call_commands set outcome = '{"ok": true}', done_at = now() where account_id = ${who.id}`
  assert.equal((await asked).status, 200)
})

test('calls that need another minute at the same moment share what is left of the spend limit', async () => {
  const { who, child } = await answered()
  await call('operator', 'PATCH', `/operator/accounts/${who.uuid}/call-limits`, { spend_per_day: '2' })
  const ids: string[] = []
  for (let n = 0; n < 3; n++) ids.push(placed(await child()).call.id)
  for (const id of ids) await control.answered(id, { trunk: 'trunk', number: telephone }, [])
  await pass(61)
  const cuts = (await Promise.all(ids.map(beat))).filter((reason) => reason !== null)
  assert.deepEqual(cuts, Array(2).fill('The daily spend limit is reached'))
})

test('a call whose held minutes run out names that in its record, and in that of the call which it dialled', async () => {
  const { who, child, plan } = await answered('1', '0.4')
  const {
    call: { id: callId },
  } = placed(await child())
  await control.answered(callId, { trunk: 'trunk', number: telephone }, [])
  await pass(59)
  // The timer of the held minute ends it; on a slow machine its heartbeat does.
  if ((await beat(plan.call)) === null) await until(async () => cuts.some((cut) => cut.startsWith(plan.call)))
  // The gateway hangs up as for an operator, and ends the dialled call for the same cause.
  for (const id of [callId, plan.call]) await control.ended(id, { ...ended, how: 'operator' })
  assert.deepEqual(
    [(await rowOf(who, callId)).end_reason, (await rowOf(who, plan.call)).end_reason],
    ['balance', 'balance'],
  )
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

test('a call from a browser to an own number runs its program: free, and with the depth of a first call', async () => {
  const { who, number, place } = await furnish('100', '0.4')
  const plan = planOf(await place())
  assert.ok(plan.program)
  assert.deepEqual([plan.targets, plan.record], [[], null])
  const row = await rowOf(who, plan.call)
  assert.deepEqual(
    [row.direction, row.origin, row.to_number, row.rate, row.hold_id, row.depth, row.status],
    ['O', 'device', number, '0.000000', null, 0, 'RINGING'],
  )
  assert.ok('value' in (await control.answered(plan.call, null, [])))
  // The number that was called is the caller ID of what its program dials.
  const child = placed(await placeChild(await programCall(who, plan.call), dial(), null))
  assert.deepEqual([child.plan.callerId, child.plan.hops], [number, 1])
  const { depth, forwarded } = await rowOf(who, child.call.id)
  assert.deepEqual([depth, forwarded], [1, false])
})

test('a call from a browser to an own number is refused as today: a false caller ID, a number that is suspended', async () => {
  const { who, id, place } = await furnish()
  assert.match(String(await place('+442079460999')), /^403/)
  await db.run`update virtual_numbers set status_text = 'SUSPENDED' where account_id = ${who.id} and id = ${id}`
  const plan = planOf(await place())
  assert.deepEqual([plan.program, plan.targets], [undefined, []])
})

test('the setting of a number records the whole call of its program, from a trunk and from a browser', async () => {
  const { who, id, receive, place } = await furnish()
  assert.equal(planOf(await receive()).record, null)
  await db.run`update virtual_numbers set record_inbound = true where account_id = ${who.id} and id = ${id}`
  for (const plan of [planOf(await receive()), planOf(await place())]) {
    assert.ok(plan.program)
    assert.equal(await sourceOf(plan), 'call')
  }
})

test('a dial to an own number with a program is free, and its other side has its depth and the keys that count it', async () => {
  const { who, child } = await answered('100', '0.4')
  const [id, number, keys] = [uuid(), `+4416329602${String(++numbers).padStart(2, '0')}`, [uuid()]]
  await db.run`
    insert into virtual_numbers (account_id, id, number, group_id, iso_country_code, region_name, type, friendly_name,
      monthly_price, ppm, status_text, expires_at, voice, record_inbound)
    select account_id, ${id}, ${number}, group_id, iso_country_code, region_name, type, friendly_name, monthly_price, ppm,
      status_text, expires_at, voice, true from virtual_numbers where account_id = ${who.id}`
  const { call: calling, plan } = placed(await child(dial(number)))
  assert.deepEqual([plan.targets, plan.callerId, plan.record], [[{ own: number }], '+447700900123', null])
  const receive = async (call: string) => {
    const decision = await control.receiveOwnCall({ call, callId: uuid(), from: plan.callerId })
    return 'value' in decision ? decision.value : `${decision.refused.status}`
  }
  await db.run`update calls set limited_keys = ${keys}::uuid[] where account_id = ${who.id} and id = ${calling.id}`
  const side = planOf(await receive(calling.id))
  assert.ok(side.program && side.record)
  for (const one of [calling.id, side.call]) {
    const row = await rowOf(who, one)
    assert.deepEqual(
      [row.account_id, row.to_number, row.rate, row.hold_id, row.depth, row.is_trunk, row.limited_keys],
      [who.id, number, '0.000000', null, 1, false, keys],
    )
  }
  const { direction: way, origin, from_number: from } = await rowOf(who, side.call)
  assert.deepEqual([way, origin, from], ['I', 'trunk', '+447700900123'])
  assert.equal(await receive(uuid()), '503')
  await db.run`update virtual_numbers set voice = null where account_id = ${who.id} and id = ${id}`
  assert.equal(await receive(calling.id), '404')
})

test('a number of another account is dialled by a trunk, like all others: its program does not run from here', async () => {
  const [other, { who, child }] = [await furnish(), await answered()]
  const { call: calling, plan } = placed(await child(dial(other.number)))
  assert.deepEqual(plan.targets, [{ trunk: 'trunk', number: other.number }])
  const decision = await control.receiveOwnCall({ call: calling.id, callId: uuid(), from: plan.callerId })
  assert.equal('refused' in decision && decision.refused.status, 404)
  assert.equal(Number((await rowOf(who, calling.id)).rate), 0.5)
})
