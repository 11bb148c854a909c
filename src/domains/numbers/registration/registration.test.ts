import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { pino } from 'pino'
import { makeRecipeWorld, makeScene, requirement } from '../../../../test/recipes/scene.ts'
import { startWorker } from '../../../platform/jobs/consume/worker.ts'
import { until } from '../../../platform/jobs/job-testing.ts'
import { numberJobs } from '../jobs.ts'
import { suspend } from '../lifecycle/suspension.ts'

// The test scene's country requires an address document for a local number; here it requires a value in words too.

const world = await makeRecipeWorld()
const { db, parts, call } = world
const worker = startWorker({ db, log: pino({ level: 'silent' }), kinds: numberJobs(parts) })
after(() => worker.stop())
const words = 2
await db.run`
  insert into number_requirements (id, iso_country_code, type, kind, description, documents, source, source_date)
  values (${words}, 'GB', 'local', 'identity', 'Name and number.', '{}', 'test', '2026-01-01'),
    (3, 'GB', 'mobile', 'identity', 'Somewhere else.', '{}', 'test', '2026-01-01')`

const scene = await makeScene(world, 'registered')
const { tenant } = scene
const group_id = 'GB-local-20-london'
const secret = 'Ada Lovelace, passport 123456789'

const purchase = (requirements: object[] = []) =>
  call(tenant, 'POST', '/open/numbers/purchase', { group_id, requirements })
const bought = async (requirements: object[] = []) => {
  const { status, body } = await purchase(requirements)
  assert.equal(status, 201, JSON.stringify(body))
  return body.data.numbers[0] as { uuid: string; phone_number: string; status_text: string }
}
const both = async () => [
  { requirement_id: requirement, document_uuid: await scene.document() },
  { requirement_id: words, value: secret },
]
const registration = async (uuid: string) =>
  (await call(tenant, 'GET', `/open/voip/virtual-numbers/${uuid}/requirements`)).body.data
const status = async (uuid: string) =>
  (await call(tenant, 'GET', `/open/voip/virtual-numbers/${uuid}`)).body.number.status_text
const give = (uuid: string, requirements: object[]) =>
  call(tenant, 'PUT', `/open/voip/virtual-numbers/${uuid}/requirements`, { requirements })
const decide = (uuid: string, verb: 'approve' | 'refuse', body = {}) =>
  call('operator', 'POST', `/operator/registrations/${uuid}/${verb}`, body)
const send = (from_number: string) =>
  call(tenant, 'POST', '/open/sms/send', { from_number, to_number: '+447700900123', text: 'Hello' })
const days = (count: number) => db.run`update clock set offset_seconds = offset_seconds + ${count * 86_400}`
const isSuspended = (uuid: string) => async () => (await status(uuid)) === 'SUSPENDED'
/** Waits until registrations past their deadline have been checked. */
const looked = (uuid: string) => async () =>
  (await db.maybe`
    select from jobs where kind = 'numbers.registration' and payload ->> 'id' = ${uuid.slice(3)} and run_at <= app_now()`) ===
  null
const ids = (rows: { id: number }[]) => rows.map(({ id }) => id)

test('pre-flight lists exactly the missing requirements', async () => {
  const [document, value] = await both()
  for (const [answers, missing] of [
    [[], [requirement, words]],
    [[document], [words]],
    [[value], [requirement]],
    [[document, value], []],
  ] as const) {
    const { status, body } = await call(tenant, 'POST', '/open/numbers/requirements/check', {
      group_id,
      requirements: answers,
    })
    assert.equal(status, 200, JSON.stringify(body))
    assert.deepEqual([body.data.satisfied, ids(body.data.missing).sort()], [missing.length === 0, missing])
    for (const row of body.data.missing) assert.ok(row.description && row.kind && row.documents && row.source)
  }
})

test('an invalid answer is refused by the name of its field, before a number is bought', async () => {
  const [document, value] = await both()
  const before = (await call(tenant, 'GET', '/open/voip/virtual-numbers')).body.total
  const url = '/open/numbers/documents?kind=proof&name=other'
  const headers = { 'x-user-api-key': tenant.key, 'content-type': 'application/pdf' }
  const proof = (await world.app.inject({ method: 'POST', url, headers, payload: '%PDF-1.7' })).json().document.uuid
  const stranger = await makeScene(world, 'stranger')
  for (const [code, requirements, field] of [
    [400, [{ requirement_id: 3, value: 'x' }], /requirements\.0\.requirement_id 3 is not a requirement here/],
    [400, [value, value], /requirements\.1\.requirement_id 2 appears twice/],
    [400, [{ requirement_id: words }], /requirements\.0\.value is required/],
    [400, [{ requirement_id: words, document_uuid: proof }], /requirements\.0\.document_uuid is not accepted here/],
    [400, [{ requirement_id: requirement, value: 'x' }], /requirements\.0\.value is not accepted here/],
    [400, [{ requirement_id: requirement }], /requirements\.0\.document_uuid is required/],
    [400, [{ requirement_id: requirement, document_uuid: proof }], /kind proof, and must be of the kind address/],
    [400, [{ requirement_id: 'one' }], /requirements\.0\.requirement_id/],
    [400, { address: 'London' }, /requirements must be an array/],
    [404, [{ requirement_id: requirement, document_uuid: await stranger.document() }], /There is no document DOC/],
    [404, [{ ...document, document_uuid: 'DOC1' }], /There is no document DOC1/],
  ] as const) {
    for (const url of ['/open/numbers/requirements/check', '/open/numbers/purchase']) {
      const answer = await call(tenant, 'POST', url, { group_id, requirements })
      assert.equal(answer.status, code, JSON.stringify(answer.body))
      assert.match(answer.body.error_message, field)
    }
  }
  assert.equal((await call(tenant, 'GET', '/open/voip/virtual-numbers')).body.total, before)
})

test('a number with unmet requirements awaits registration, works fully, and is active once it is approved', async () => {
  const number = await bought()
  assert.equal(number.status_text, 'AWAITING_REGISTRATION')
  assert.equal((await send(number.phone_number)).status, 202)
  assert.deepEqual(ids((await registration(number.uuid)).missing).sort(), [requirement, words])
  const submitted = await give(number.uuid, await both())
  assert.deepEqual(
    [submitted.status, submitted.body.data.satisfied, submitted.body.data.state],
    [200, true, 'awaiting'],
  )
  assert.equal(await status(number.uuid), 'AWAITING_REGISTRATION')
  assert.equal((await decide(number.uuid, 'approve')).status, 200)
  assert.equal(await status(number.uuid), 'ACTIVE')
  const { state, due_at } = await registration(number.uuid)
  assert.deepEqual([state, due_at], ['approved', undefined])
  assert.deepEqual(
    [(await decide(number.uuid, 'refuse', { reason: 'late' })).status, (await give(number.uuid, [])).status],
    [409, 409],
  )
})

test('submitted values are encrypted in the database, and the account and the operator can read them', async () => {
  const number = await bought(await both())
  const shown = await call('operator', 'GET', `/operator/registrations/${number.uuid}`)
  for (const { given } of [await registration(number.uuid), shown.body.registration])
    assert.equal(given.find((one: { requirement_id: number }) => one.requirement_id === words).value, secret)
  const columns = await db.many<{ sql: string }>`
    select format('select 1 from %I where %I::text like %L limit 1', table_name, column_name, '%passport 123%') as sql
    from information_schema.columns where table_schema = 'public'`
  for (const { sql } of columns) assert.deepEqual(await db.raw(sql), [], sql)
  const hex = Buffer.from(secret).toString('hex')
  const sealed =
    await db.many`select from registration_answers where position(${hex} in encode(sealed_value, 'hex')) > 0`
  assert.deepEqual(sealed, [])
})

test('the operator lists pending registrations, and reads only the documents submitted for them', async () => {
  const [document, value] = await both()
  const number = await bought([document, value].flatMap((one) => one ?? []))
  const { registrations } = (await call('operator', 'GET', '/operator/registrations?per_page=200')).body
  const listed = registrations.find((one: { virtual_number_uuid: string }) => one.virtual_number_uuid === number.uuid)
  assert.deepEqual([listed.account_uuid, listed.state, listed.missing], [tenant.uuid, 'awaiting', 0])
  const url = `/operator/registrations/${number.uuid}/documents`
  const headers = { 'x-operator-key': world.operatorKey }
  const answer = await world.app.inject({ url: `${url}/${document?.document_uuid}`, headers })
  assert.deepEqual(
    [answer.statusCode, answer.body, answer.headers['content-type']],
    [200, '%PDF-1.7 registered', 'application/pdf'],
  )
  assert.equal((await call('operator', 'GET', `${url}/${await scene.document()}`)).status, 404)
  assert.equal((await call(tenant, 'DELETE', `/open/numbers/documents/${document?.document_uuid}`)).status, 409)
  assert.equal((await call(tenant, 'DELETE', `/open/voip/virtual-numbers/${number.uuid}`)).status, 200)
  assert.equal((await call(tenant, 'DELETE', `/open/numbers/documents/${document?.document_uuid}`)).status, 200)
})

test('at its deadline a number with a missing answer is suspended; approval reinstates it', async () => {
  const [missing, complete] = [await bought(), await bought(await both())]
  await days(29)
  assert.equal((await send(missing.phone_number)).status, 202)
  await days(2)
  await until('it is suspended', isSuspended(missing.uuid), 5000)
  const refused = await send(missing.phone_number)
  assert.deepEqual([refused.status, refused.body.error_code], [403, 'number_suspended'])
  const event = await db.one<{ payload: { reason: string } }>`
    select payload from events where name = 'number.suspended' and conversation = ${missing.phone_number}`
  assert.match(event.payload.reason, /Still missing: .*Name and number\./)

  await until('the other one was checked', looked(complete.uuid), 5000)
  assert.equal(await status(complete.uuid), 'AWAITING_REGISTRATION', 'a complete registration waits for the operator')

  await give(missing.uuid, await both())
  assert.equal(await status(missing.uuid), 'SUSPENDED')
  await decide(missing.uuid, 'approve')
  assert.equal(await status(missing.uuid), 'ACTIVE')
  assert.equal((await send(missing.phone_number)).status, 202)
})

test('a refusal shows its reason and restarts the deadline, or suspends at once', async () => {
  const [first, second] = [await bought(await both()), await bought(await both())]
  await days(20)
  assert.equal((await decide(first.uuid, 'refuse', { reason: 'The scan cannot be read' })).status, 200)
  const { state, reason } = await registration(first.uuid)
  assert.deepEqual([state, reason], ['refused', 'The scan cannot be read'])
  await days(20)
  await until('the old deadline was checked', looked(first.uuid), 5000)
  assert.equal(await status(first.uuid), 'AWAITING_REGISTRATION')
  await days(11)
  await until('it is suspended', isSuspended(first.uuid), 5000)

  await decide(second.uuid, 'refuse', { reason: 'Forged', suspend: true })
  assert.equal(await status(second.uuid), 'SUSPENDED')
  const mended = await give(second.uuid, await both())
  assert.deepEqual([mended.body.data.state, mended.body.data.reason], ['awaiting', undefined])
})

test('a number that the operator suspended for another reason stays suspended when its registration is approved', async () => {
  const number = await bought(await both())
  await db.begin((tx) => suspend(tx, parts.changes, tenant.id, number.uuid.slice(3), 'operator', 'Complaints'))
  await decide(number.uuid, 'approve')
  assert.equal(await status(number.uuid), 'SUSPENDED')
})

test('registrations that end together lock their numbers in the order of the ids, without deadlocks', async () => {
  const numbers = [await scene.number(), await scene.number()].map(({ uuid }) => uuid.slice(3)).sort()
  const [low = '', high = ''] = numbers
  const kind = numberJobs(parts).find((one) => one.kind === 'numbers.registration')
  const now = new Date()
  const done = [high, low].map((id) => ({
    job: {
      ...{ id, account: tenant.id, kind: 'numbers.registration', key: null, attempt: 1, runAt: now, createdAt: now },
      payload: { account: tenant.id, id },
    },
    result: undefined,
  }))
  const settled = await db.begin(async (tx) => {
    await tx.run`select from virtual_numbers where id = ${low} for update`
    const settled = db.begin(async (other) => kind?.onComplete?.(other, done))
    await until('it waits for the first', async () => (await db.maybe`select from pg_locks where not granted`) !== null)
    assert.equal(await tx.run`select from virtual_numbers where id = ${high} for update nowait`, 1)
    return { end: settled }
  })
  await settled.end
})

test('the account gets an event when its documents are decided, and when a suspension ends', async () => {
  const number = await bought(await both())
  await decide(number.uuid, 'refuse', { reason: 'Unreadable' })
  await decide(number.uuid, 'approve')
  await call('operator', 'POST', `/operator/numbers/${number.uuid}/suspend`, { reason: 'abuse' })
  await call('operator', 'POST', `/operator/numbers/${number.uuid}/reinstate`)
  const events = await db.many<{ name: string; payload: { status_text: string; reason?: string } }>`
    select name, payload from events
    where account_id = ${tenant.id} and conversation = ${number.phone_number} and payload ->> 'uuid' = ${number.uuid}
    order by id`
  // The same number may have been bought and released before, under another uuid.
  assert.deepEqual(
    events.slice(1).map(({ name, payload }) => [name, payload.status_text, payload.reason]),
    [
      ['number.updated', 'AWAITING_REGISTRATION', 'Unreadable'],
      ['number.updated', 'ACTIVE', undefined],
      ['number.suspended', 'SUSPENDED', 'abuse'],
      ['number.updated', 'ACTIVE', undefined],
    ],
  )
})
