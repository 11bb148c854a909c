import assert from 'node:assert/strict'
import { test } from 'node:test'
import { until } from '../../../test/platform.ts'
import { makeRecipeWorld, makeScene } from '../../../test/recipes/scene.ts'
import { uuid } from '../../platform/lib/id.ts'
import { beginCall, callAnswered, callEnded } from './ops.ts'

const world = await makeRecipeWorld()
const { call, db } = world
const history = async (who: typeof scene.tenant, query = '') =>
  (await call(who, 'GET', `/open/voip/call-history?${query}`)).body
const scene = await makeScene(world, 'history')
const { tenant } = scene

test('a call on the messaging app has a record: RINGING, and MISSED after its end', async () => {
  const number = scene.chatNumber()
  await scene.chat(number)
  const caller = '+447700900555'
  const response = await call(tenant, 'POST', `/sandbox/handsets/${caller}/msgapp-calls`, { to: number })
  assert.equal(response.status, 202)
  const cdr = await until(async () => (await history(tenant)).cdrs.find(({ active }: { active: boolean }) => !active))
  assert.partialDeepStrictEqual(cdr, {
    direction: 'I',
    from: caller,
    to_number: number,
    iso_country_code: 'GB',
    status: 'MISSED',
    is_msgapp_call: true,
    is_sip_trunk_call: false,
    duration: 0,
    call_cost: { call_price: 0, duration: 0 },
  })
  assert.equal((await history(tenant)).total, 1)
})

test('filters, pages and cursors show each call once, newest first; the agent is named', async () => {
  const who = await world.tenant()
  const own = await makeScene(world, 'agent', who)
  const user = await own.user()
  const make = async (direction: 'O' | 'I', from: string, to: string) => {
    const id = uuid()
    await db.begin(async (tx) => {
      await beginCall(tx, {
        ...{ account_id: who.id, id, callid: id, direction, user_id: direction === 'O' ? user.slice(3) : null },
        ...{ from_number: from, to_number: to, iso_country_code: 'GB', is_msgapp: false, is_trunk: true },
        ...{ caller_id: null, caller_id_used: from, virtual_number_id: null, toll_free: false, rate: '0' },
      })
      await callAnswered(tx, who.id, id, user.slice(3))
      await callEnded(tx, who.id, id, { status: 'COMPLETED', reason: '200' })
    })
    return `CDR${id}`
  }
  const [ours, theirs, other] = ['+441632960000', '+447700900123', '+447700900124']
  const calls = [await make('O', ours, theirs), await make('I', theirs, ours), await make('O', ours, other)]
  const ids = async (query: string) => {
    const body = await history(who, query)
    assert.ok(body.success, JSON.stringify(body))
    return body.cdrs.map(({ uuid }: { uuid: string }) => uuid)
  }
  assert.deepEqual(await ids(''), calls.toReversed())
  assert.deepEqual(await ids('direction=inbound'), [calls[1]])
  assert.deepEqual(await ids('to_number=%2B447700900123'), [calls[0]])
  assert.deepEqual(await ids('from_number=447700900123'), [calls[1]])
  assert.deepEqual(await ids('direction=inbound&to_number=%2B447700900123'), [])
  assert.deepEqual(await ids('direction=outbound&to_number=%2B447700900123'), [calls[0]])
  assert.deepEqual(await ids('direction=inbound&from_number=%2B447700900123'), [calls[1]])
  assert.deepEqual(await ids('direction=outbound&from_number=%2B447700900999&to_number=447700900124'), [])
  assert.deepEqual(await ids('status=MISSED'), [])
  assert.deepEqual(await ids('since=2099-01-01T00:00:00Z'), [])
  assert.deepEqual(await ids('until=2099-01-01T00:00:00Z&page_number=1&results_per_page=2'), [calls[0]])
  const walked: string[] = []
  for (let cursor = ''; ; ) {
    const { cdrs, next_cursor, total } = await history(who, `results_per_page=1${cursor}`)
    assert.equal(total, 3)
    walked.push(...cdrs.map(({ uuid }: { uuid: string }) => uuid))
    if (!next_cursor) break
    cursor = `&cursor=${next_cursor}`
  }
  assert.deepEqual(walked, calls.toReversed())
  const { cdr, agent } = (await call(who, 'GET', `/open/voip/call/${calls[0]}`)).body
  assert.deepEqual([cdr.from, cdr.agent_id, agent.uuid], [user, user, user])
  assert.equal(agent.full_name, `${agent.first_name} ${agent.last_name}`)
})

test('calls are found by user, number of either side, recording, duration, digits and name of a contact', async () => {
  const who = await world.tenant()
  const own = await makeScene(world, 'filters', who)
  const [ada, bob] = [await own.user(), await own.user()]
  const [ours, theirs, other] = ['+441632960000', '+447700900123', '+33612345678']
  const contact_details = [{ type: 'PH', value: theirs }]
  await call(who, 'POST', '/open/contacts', { first_name: 'Grace', last_name: 'Hopper', contact_details })
  const make = async (direction: 'O' | 'I', number: string, user: string, isOver = true) => {
    const id = uuid()
    const [from, to] = direction === 'O' ? [null, number] : [number, ours]
    await db.begin(async (tx) => {
      await beginCall(tx, {
        ...{ account_id: who.id, id, callid: id, direction, user_id: null, from_number: from, to_number: to },
        ...{ iso_country_code: 'GB', is_msgapp: false, is_trunk: true, caller_id: null, virtual_number_id: null },
        ...{ caller_id_used: direction === 'O' ? ours : number, toll_free: false, rate: '0' },
      })
      await callAnswered(tx, who.id, id, user.slice(3))
      const quality = { callee: { mos: 4.31, loss_percent: 0.5, jitter_ms: 3, round_trip_ms: 40 } }
      if (isOver) await callEnded(tx, who.id, id, { status: 'COMPLETED', reason: '200', quality })
    })
    return `CDR${id}`
  }
  const first = await make('I', theirs, ada)
  const second = await make('O', other, bob)
  const third = await make('O', theirs, bob, false)
  await db.run`update calls set duration = 90, recorded_at = app_now() where id = ${second.slice(3)}`
  const found = async (query: string) => {
    const { cdrs, total } = await history(who, query)
    assert.equal(total, cdrs.length, query)
    return cdrs.map(({ uuid }: { uuid: string }) => uuid)
  }
  assert.deepEqual(await found(`user_uuid=${ada}`), [first])
  assert.deepEqual(await found(`user_uuid=${bob}`), [third, second], 'also a call in progress')
  assert.deepEqual(await found(`number=${encodeURIComponent(theirs)}`), [third, first])
  assert.deepEqual(await found(`number=${encodeURIComponent(ours)}`), [third, second, first])
  assert.deepEqual(await found(`number=${encodeURIComponent(ours)}&user_uuid=${ada}&min_duration=0`), [first])
  assert.deepEqual(await found('recorded=true'), [second])
  assert.deepEqual(await found('recorded=false'), [third, first])
  assert.deepEqual(await found('min_duration=60'), [second])
  assert.deepEqual(await found('q=900123'), [third, first], 'the end of a number')
  assert.deepEqual(await found('q=grace'), [third, first])
  assert.deepEqual(await found('q=unknown'), [])
  const reader = { label: 'reader', scopes: ['read_only'] }
  const { key } = (await call('operator', 'POST', `/operator/accounts/${who.uuid}/keys`, reader)).body
  assert.equal((await history({ ...who, key }, 'q=900123')).total, 2)
  assert.equal((await history({ ...who, key }, 'q=grace')).total, 0, 'a key without inbox probes no names of contacts')
  assert.deepEqual(await found('q=-'), [], 'a search without digits is no number')
  assert.deepEqual(await found('q=00000'), [], 'zeros are looked for like other digits')
  const { cdr } = (await call(who, 'GET', `/open/voip/call/${first}`)).body
  assert.equal(cdr.contact_name, 'Grace Hopper')
  assert.deepEqual(cdr.quality, { callee: { mos: 4.31, loss_percent: 0.5, jitter_ms: 3, round_trip_ms: 40 } })
})

test('calls under both dialled forms of an Argentine number are one history', async () => {
  const who = await world.tenant()
  const [ours, landline, mobile] = ['+442079460000', '+541123459900', '+5491123459900']
  const make = async (direction: 'O' | 'I', number: string) => {
    const id = uuid()
    const [from, to] = direction === 'O' ? [null, number] : [number, ours]
    await db.begin(async (tx) => {
      await beginCall(tx, {
        ...{ account_id: who.id, id, callid: id, direction, user_id: null, from_number: from, to_number: to },
        ...{ iso_country_code: 'AR', is_msgapp: false, is_trunk: true, caller_id: null, virtual_number_id: null },
        ...{ caller_id_used: direction === 'O' ? ours : number, toll_free: false, rate: '0' },
      })
      await callEnded(tx, who.id, id, { status: 'COMPLETED', reason: '200' })
    })
    return `CDR${id}`
  }
  const inbound = [await make('I', landline), await make('I', mobile)].toReversed()
  const outbound = [await make('O', landline), await make('O', mobile)].toReversed()
  for (const form of [landline, mobile].map(encodeURIComponent))
    for (const [query, expected] of [
      [`from_number=${form}`, inbound],
      [`to_number=${form}`, outbound],
      [`number=${form}`, [...outbound, ...inbound]],
      [`number=${form}&min_duration=0`, [...outbound, ...inbound]],
      [`q=${form}`, [...outbound, ...inbound]],
    ] as const) {
      const { cdrs, total } = await history(who, query)
      assert.deepEqual([cdrs.map(({ uuid }: { uuid: string }) => uuid), total], [expected, expected.length], query)
    }
})
