import assert from 'node:assert/strict'
import { test } from 'node:test'
import { putPrices } from '../../../../test/prices.ts'
import { makeWorld, type Tenant } from '../../../../test/world.ts'
import { uuid } from '../../../platform/lib/id.ts'
import { maxQueuedSeconds } from '../limits.ts'
import { callAnswered, callEnded, callRinging } from '../ops.ts'
import { endExpired } from './ops.ts'
import { claimQueued } from './order-store.ts'

const world = await makeWorld({ TRUNKLINE_SANDBOX: 'true', TRUNKLINE_CALL_SPEND_PER_DAY: '10000' })
const { db, call, tenant } = world
await putPrices(world, [{ kind: 'call_out', prefix: '', price: '0.01' }])
const settings = { host: '127.0.0.1', port: 9 }
await call('operator', 'POST', '/operator/connections', { kind: 'sip-trunk', name: 'trunk', settings })
/** As if a process ran the calls. */
const hold = (holder: string | null) => db.run`update voice_lease set holder = ${holder}`
await hold('a test')

const path = '/open/voip/calls'
const own = '+447911123456'
const to = '+447911987654'
const verbs = [{ verb: 'say', text: 'Hello.' }]

const furnish = async (limits: object = {}) => {
  const who = await tenant({ balance: '100' })
  await db.run`
    insert into caller_ids (account_id, id, phone_number, friendly_name, iso_country_code, type, verified)
    values (${who.id}, gen_random_uuid(), ${own}, 'x', 'GB', 'CI', true)`
  const changed = { attempts_per_minute: 10_000, calls_at_a_time: 1_000, ...limits }
  await call('operator', 'PATCH', `/operator/accounts/${who.uuid}/call-limits`, changed)
  return who
}
const make = (who: Tenant, more: object = {}) => call(who, 'POST', path, { from_number: own, to, verbs, ...more })
const queued = async (who: Tenant, more: object = {}) => {
  const made = await make(who, more)
  assert.equal(made.status, 201, JSON.stringify(made.body))
  return made.body
}
const history = async (who: Tenant) => (await call(who, 'GET', '/open/voip/call-history')).body.cdrs
const cdr = async (who: Tenant, id: string) => (await call(who, 'GET', `/open/voip/call/${id}`)).body.cdr
const claim = async (who: Tenant, callsAtATime = 1_000) =>
  (await claimQueued(db, 1, { maxWaitSeconds: maxQueuedSeconds, callsAtATime, limit: 100 })).filter(
    (row) => row.account_id === who.id,
  )
/** Lets the calls of an account be due some seconds earlier. */
const pass = (who: Tenant, seconds: number) => db.run`
  update calls set due_at = due_at - make_interval(secs => ${seconds}) where account_id = ${who.id} and queued`
const held = async (who: Tenant) => (await call('operator', 'GET', `/operator/accounts/${who.uuid}/ledger`)).body.held

test('a call of the API waits with the status QUEUED, from the number that it shows, with its minute held', async () => {
  const who = await furnish()
  const { cdr: made, queued_ms } = await queued(who, { tags: { order: '1' } })
  assert.deepEqual(
    [made.status, made.active, made.direction, made.from, made.caller_id_used, made.to_number, queued_ms],
    ['QUEUED', true, 'O', own, own, to, 0],
  )
  assert.equal(Number(await held(who)), 0.01)
  assert.deepEqual((await call(who, 'GET', '/open/voip/call-history?status=QUEUED')).body.cdrs, [made])
  const { outcome } = (await call(who, 'GET', `/open/voip/call/${made.uuid}/timeline`)).body
  assert.equal(outcome.state, 'in_progress')
})

test('calls of an account are due in order, at its pace, and one that repeats its key is made once', async () => {
  const who = await furnish({ calls_per_second: 10 })
  const ids: string[] = []
  for (let n = 0; n < 3; n++) {
    const { cdr: made, queued_ms } = await queued(who)
    assert.equal(queued_ms === 0, n === 0, String(queued_ms))
    ids.push(made.uuid.slice(3))
    // Far ahead, so that the time that the test takes changes nothing.
    if (n === 0) await pass(who, -60)
  }
  const rows = await db.many<{ id: string; ms: number }>`
    select id, extract(epoch from due_at - lag(due_at) over (order by due_at))::float8 * 1000 as ms
    from calls where account_id = ${who.id} order by due_at`
  assert.deepEqual(
    rows.map(({ id }) => id),
    ids,
  )
  for (const { ms } of rows.slice(1)) assert.ok(ms >= 100 && ms < 105, String(ms))
  assert.deepEqual(await claim(who), [])
  await db.run`update calls set due_at = app_now() where id = ${ids[0] ?? ''}`
  assert.deepEqual(
    (await claim(who)).map(({ id }) => id),
    ids.slice(0, 1),
  )
  await pass(who, 61)
  assert.deepEqual(
    (await claim(who)).map(({ id }) => id),
    ids.slice(1),
  )

  const headers = { 'x-user-api-key': who.key, 'idempotency-key': 'once' }
  const again = () => world.app.inject({ method: 'POST', url: path, headers, payload: { from_number: own, to, verbs } })
  const [one, other] = [await again(), await again()]
  assert.deepEqual([one.statusCode, other.statusCode, other.json()], [201, 201, one.json()])
  assert.equal((await history(who)).length, 4)
})

test('a call is not claimed while its account has as many calls as it may, nor twice', async () => {
  const who = await furnish({ calls_at_a_time: 2 })
  const ids: string[] = []
  for (let n = 0; n < 3; n++) ids.push((await queued(who)).cdr.uuid.slice(3))
  await pass(who, 10)
  const first = await claim(who)
  assert.deepEqual(
    first.map(({ id }) => id),
    ids.slice(0, 2),
  )
  assert.deepEqual(await claim(who), [])
  await db.begin((tx) => callEnded(tx, who.id, ids[0] ?? '', { status: 'BUSY', reason: '486' }))
  assert.deepEqual(
    (await claim(who)).map(({ id }) => id),
    ids.slice(2),
  )
})

test('the 1,001st call that waits is refused with 429 call_queue_full, and is in the history', async () => {
  const who = await furnish()
  const { cdr: first } = await queued(who)
  // 999 more of its kind.
  await db.run`
    insert into calls (account_id, id, callid, direction, to_number, iso_country_code, status, is_msgapp, is_trunk, caller_id_used,
      queued, due_at)
    select account_id, gen_random_uuid(), callid, direction, to_number, iso_country_code, status, is_msgapp, is_trunk, caller_id_used,
      true, due_at from calls, generate_series(1, 999) where account_id = ${who.id} and id = ${first.uuid.slice(3)}`
  const refused = await make(who)
  assert.deepEqual([refused.status, refused.body.error_code], [429, 'call_queue_full'])
  assert.match(String(refused.headers['retry-after']), /^\d+$/)
  const [newest] = await history(who)
  assert.deepEqual([newest.status, newest.end_reason], ['FAILED', 'call_queue_full'])
  await db.run`delete from calls where account_id = ${who.id} and queued and hold_id is null`
})

test('refusals have the codes of placed calls, and each leaves a record', async () => {
  const who = await furnish()
  const cases = [
    [{ from_number: '+447911000000' }, 403, 'caller_id'],
    [{ to: '999' }, 403, 'emergency'],
    [{ to: '+8821612345678' }, 403, 'destination_not_allowed'],
    [{ to: `USR${uuid()}` }, 404, 'unknown_user'],
    [{ to: 'nobody' }, 422, 'unprocessable'],
  ] as const
  for (const [more, status, code] of cases) {
    const refused = await make(who, more)
    assert.deepEqual([refused.status, refused.body.error_code], [status, code], JSON.stringify(refused.body))
  }
  const poor = await tenant({ balance: '0' })
  await db.run`
    insert into caller_ids (account_id, id, phone_number, friendly_name, iso_country_code, type, verified)
    values (${poor.id}, gen_random_uuid(), ${own}, 'x', 'GB', 'CI', true)`
  assert.equal((await make(poor)).status, 402)
  assert.deepEqual(
    (await history(poor)).map((one: { end_reason: string }) => one.end_reason),
    ['balance'],
  )
  const records = (await history(who)).map((one: { end_reason: string }) => one.end_reason)
  assert.deepEqual(records, ['not_e164', 'unknown_user', 'destination_not_allowed', 'emergency', 'caller_id'])

  const wrong = [
    [{ verbs: undefined }, 'invalid_request'],
    [{ url: 'https://example.com/' }, 'invalid_request'],
    [{ verbs: [{ verb: 'fly' }] }, 'document_invalid'],
    [{ verbs: undefined, url: 'http://user:word@example.com/' }, 'url_refused'],
    [{ tags: { long: 'x'.repeat(5_000) } }, 'tags_too_large'],
    [{ verbs: Array(17).fill({ verb: 'say', text: 'x'.repeat(4_000) }) }, 'document_invalid'],
    [{ headers: { 'X-Order': '1\r\nTo: <sip:other@example.com>' } }, 'invalid_request'],
  ] as const
  for (const [more, code] of wrong) {
    const refused = await make(who, more)
    assert.deepEqual([refused.status, refused.body.error_code], [400, code], code)
  }
  await hold(null)
  const away = await make(who)
  await hold('a test')
  assert.deepEqual([away.status, away.body.error_code], [503, 'no_voice'])
  assert.equal((await history(who)).length, records.length)
})

test('users and caller IDs of other accounts are answered like missing ones', async () => {
  const [who, other] = [await furnish(), await furnish()]
  const names = { first_name: 'Bob', last_name: 'L', email: 'bob@example.com' }
  const { user } = (await call('operator', 'POST', `/operator/accounts/${other.uuid}/users`, names)).body
  const theirs = (await queued(other)).cdr.uuid
  await db.run`
    update caller_ids set phone_number = '+447911555555' where account_id = ${other.id}`
  const told = async (more: object, name: string) => {
    const { status, body } = await make(who, more)
    return `${status} ${body.error_code} ${body.error_message.replaceAll(name, '')}`
  }
  const missing = `USR${uuid()}`
  assert.equal(await told({ to: user.uuid }, user.uuid), await told({ to: missing }, missing))
  const numbers = ['+447911555555', '+447911666666'] as const
  assert.equal(await told({ from_number: numbers[0] }, numbers[0]), await told({ from_number: numbers[1] }, numbers[1]))
  for (const id of [theirs, `CDR${uuid()}`]) {
    const { status } = await call(who, 'POST', `/open/voip/call/${id}/commands`, { command: 'hangup' })
    assert.equal(status, 404)
  }
  assert.equal((await cdr(other, theirs)).status, 'QUEUED')
})

test('a hang-up ends a call that waits, gives the held minute back, and it is never placed', async () => {
  const who = await furnish()
  const { uuid: id } = (await queued(who)).cdr
  const early = await call(who, 'POST', `/open/voip/call/${id}/commands`, { command: 'stop' })
  assert.deepEqual([early.status, early.body.outcome.code], [200, 'not_answered'])
  const command = () => call(who, 'POST', `/open/voip/call/${id}/commands`, { command: 'hangup' })
  const { status, body } = await command()
  assert.deepEqual([status, body.outcome], [200, { ok: true }])
  const ended = await cdr(who, id)
  assert.deepEqual([ended.status, ended.active, ended.call_cost.call_price], ['CANCELED', false, 0])
  assert.equal(Number(await held(who)), 0)
  assert.deepEqual(await claim(who), [])
  const again = await command()
  assert.deepEqual([again.status, again.body.error_code], [409, 'call_ended'])
})

test('a call that no process placed within 60 s of its time fails as expired, and one that is due later does not', async () => {
  const who = await furnish({ calls_per_second: 1 })
  const [late, early] = [(await queued(who)).cdr.uuid, (await queued(who)).cdr.uuid]
  await pass(who, 61)
  await db.run`update calls set due_at = app_now() where account_id = ${who.id} and id = ${early.slice(3)}`
  await db.begin((tx) => endExpired(tx, 100, maxQueuedSeconds))
  const ended = await cdr(who, late)
  assert.deepEqual([ended.status, ended.end_reason, ended.active], ['FAILED', 'expired', false])
  assert.equal((await cdr(who, early)).status, 'QUEUED')
  assert.deepEqual(
    (await claim(who)).map(({ id }) => `CDR${id}`),
    [early],
  )
})

test('each status of a call adds one callback, in order, in the transaction of the status', async () => {
  const who = await furnish()
  const status_events = ['initiated', 'ringing', 'answered', 'completed']
  const id = (await queued(who, { status_url: 'http://127.0.0.1:65000/', status_events })).cdr.uuid.slice(3)
  const jobs = () => db.many<{
    kind: string
    key: string
    payload: { event: string; status: string; sequence: number }
  }>`
    select kind, key, payload from jobs where kind = 'call.status' and key = ${id} order by id`
  assert.deepEqual(await jobs(), [])
  await claim(who)
  const undone = db.begin(async (tx) => {
    await callRinging(tx, who.id, id)
    throw new Error('undone')
  })
  await assert.rejects(undone, /undone/)
  await db.begin((tx) => callRinging(tx, who.id, id))
  await db.begin((tx) => callRinging(tx, who.id, id))
  await db.begin((tx) => callAnswered(tx, who.id, id, null))
  await db.begin((tx) => callEnded(tx, who.id, id, { status: 'COMPLETED', reason: '200' }))
  assert.deepEqual(
    (await jobs()).map(({ payload: { event, status, sequence } }) => `${sequence} ${event} ${status}`),
    ['0 initiated QUEUED', '1 ringing RINGING', '2 answered ANSWERED', '3 completed COMPLETED'],
  )
  const { program, placement } = await db.one<{ program: unknown; placement: unknown }>`
    select program, placement from calls where account_id = ${who.id} and id = ${id}`
  assert.deepEqual([program, placement], [null, null], 'verbs and digits are erased at the end')
  const names = await db.many<{ name: string }>`select name from events where account_id = ${who.id} order by id`
  assert.deepEqual(
    names.map(({ name }) => name),
    [
      ...['call.status.update', 'call.status.update', 'call.answered', 'call.status.update', 'call.status.update'],
      'call.outbound.completed',
    ],
  )
})

test('a call without callbacks, and events that nobody asked for, add none', async () => {
  const who = await furnish()
  const plain = (await queued(who)).cdr.uuid.slice(3)
  const last = (await queued(who, { status_url: 'http://127.0.0.1:65000/' })).cdr.uuid.slice(3)
  await pass(who, 1)
  await claim(who)
  for (const id of [plain, last]) {
    await db.begin((tx) => callRinging(tx, who.id, id))
    await db.begin((tx) => callEnded(tx, who.id, id, { status: 'BUSY', reason: '486' }))
  }
  const added = await db.many<{ key: string; event: string; sequence: number }>`
    select key, payload ->> 'event' as event, (payload ->> 'sequence')::integer as sequence
    from jobs where kind = 'call.status' and account_id = ${who.id}`
  assert.deepEqual(added, [{ key: last, event: 'completed', sequence: 0 }])
})
