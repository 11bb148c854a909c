import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { until } from '../../../test/platform.ts'
import { group, makeRecipeWorld, makeScene } from '../../../test/recipes/scene.ts'
import { parse } from '../../platform/lib/id.ts'
import { hold } from '../ledger/ops.ts'
import { callPermissionOf } from '../users/ops.ts'

const world = await makeRecipeWorld()
const { app, call, db } = world

const close = (uuid: string, body: object = { reason: 'left' }) =>
  call('operator', 'POST', `/operator/accounts/${uuid}/close`, body)

/** Makes an account with one of each resource. */
const furnished = async () => {
  const scene = await makeScene(world, 'closing', await world.tenant({ balance: '50' }))
  const { tenant } = scene
  const [user, number, channel] = [await scene.user(), await scene.number(), await scene.chat()]
  const message = await scene.message({ send_at: new Date(Date.now() + 3_600_000).toISOString() })
  const reservation = await scene.reservation()
  const webhook = await scene.webhook()
  const token: string = (await call(tenant, 'POST', '/open/sdk/access-token', { user_uuid: user })).body.token
  return { scene, tenant, user, number, channel, message, reservation, webhook, token }
}

const stateOf = async (id: string) =>
  db.one<{ keys: number; webhooks: number; numbers: number; channels: number; reservations: number }>`
    select
      (select count(*)::integer from api_keys where account_id = ${id} and revoked_at is null) as keys,
      (select count(*)::integer from webhooks where account_id = ${id} and enabled) as webhooks,
      (select count(*)::integer from virtual_numbers where account_id = ${id} and released_at is null) as numbers,
      (select count(*)::integer from msgapp_channels where account_id = ${id} and deleted_at is null) as channels,
      (select count(*)::integer from reservations where account_id = ${id} and state = 'active') as reservations`

test('closing ends all resources of an account, keeps its records, and refuses its keys and tokens with the reason', async () => {
  const all = await furnished()
  const { tenant } = all
  const refused = await close(tenant.uuid)
  assert.deepEqual([refused.status, refused.body.error_code], [409, 'balance_remains'])
  const before = await stateOf(tenant.id)
  assert.ok(
    Object.values(before).every((count) => count > 0),
    JSON.stringify(before),
  )

  const { status, body } = await close(tenant.uuid, { reason: 'the customer left', write_off: true })
  assert.equal(status, 201, JSON.stringify(body))
  assert.deepEqual(
    { ...body.ended, numbers: undefined },
    { keys: 1, users: 1, webhooks: 1, messages: 1, channels: 1, reservations: 1, numbers: undefined },
  )
  assert.equal(body.ended.numbers, before.numbers)
  assert.deepEqual([body.account.blocked, body.account.close_reason], [true, 'the customer left'])
  assert.ok(body.account.closed_at)
  assert.deepEqual(await stateOf(tenant.id), { keys: 0, webhooks: 0, numbers: 0, channels: 0, reservations: 0 })

  const { rest } = await db.one<{ rest: number }>`
    select count(*)::integer as rest from numbers where number = ${all.number.number} and state = 'quarantine'`
  assert.equal(rest, 1, 'a released number is quarantined before resale')
  const ledger = (await call('operator', 'GET', `/operator/accounts/${tenant.uuid}/ledger`)).body
  const [last, refund] = ledger.transfers
  assert.deepEqual(
    [ledger.balance, last.kind, last.amount, last.note, last.made_by.label],
    ['0.00', 'write_off', body.written_off, 'the customer left', 'test'],
  )
  assert.equal(refund.kind, 'sms_refund', 'a scheduled message was refunded first')
  const message = await call('operator', 'GET', `/operator/messages/${all.message.uuid}`)
  assert.equal(message.body.message.status, 'canceled')

  for (const headers of [{ 'x-user-api-key': tenant.key }, { 'x-user-api-key': tenant.key, 'x-request-id': 'again' }]) {
    const answer = await app.inject({ method: 'GET', url: '/open/info', headers })
    assert.deepEqual([answer.statusCode, answer.json().error_code], [403, 'account_closed'])
  }
  const voice = await app.inject({
    method: 'POST',
    url: '/open/sdk/credentials',
    headers: { authorization: `Bearer ${all.token}` },
    payload: {},
  })
  assert.deepEqual([voice.statusCode, voice.json().error_code], [403, 'account_closed'])
  assert.deepEqual(await callPermissionOf(db, parse('USR', all.user) ?? ''), {
    ...{ account: tenant.id, may: false, rings: false },
  })

  const { acts } = (await call('operator', 'GET', `/operator/audit?account_uuid=${tenant.uuid}&action=closeAccount`))
    .body
  assert.equal(acts.length, 1)
  const fields = new Map(acts[0].changes.map((one: { field: string; after?: unknown }) => [one.field, one.after]))
  assert.deepEqual([fields.get('close_reason'), fields.get('ended.numbers')], ['the customer left', before.numbers])
})

test('a closed account cannot be closed again, changed, credited or given keys, users and grants', async () => {
  const { uuid } = await world.tenant({ balance: '0' })
  assert.equal((await close(uuid)).status, 201)
  const path = `/operator/accounts/${uuid}`
  const user = { first_name: 'A', last_name: 'B', email: 'a@example.com' }
  const answers = [
    await close(uuid),
    await call('operator', 'PATCH', path, { blocked: false }),
    await call('operator', 'POST', `${path}/credit`, { amount: '1' }),
    await call('operator', 'POST', `${path}/keys`, { label: 'x' }),
    await call('operator', 'POST', `${path}/users`, user),
    await call('operator', 'POST', `${path}/number-grants`, { phone_number: '+447700900999' }),
  ]
  for (const { status, body } of answers) assert.deepEqual([status, body.error_code], [409, 'account_closed'])
  assert.equal((await call('operator', 'GET', path)).body.account.blocked, true)
  const late = await call('operator', 'POST', `${path}/corrections`, { amount: '1', reason: 'a late refund' })
  assert.equal(late.status, 201, 'the books can still be corrected')
})

test('a key revoked before its account was closed is treated as unknown', async () => {
  const ada = await world.tenant({ balance: '0' })
  const { body } = await call('operator', 'POST', `/operator/accounts/${ada.uuid}/keys`, { label: 'old' })
  await call('operator', 'DELETE', `/operator/accounts/${ada.uuid}/keys/${body.uuid}`)
  await db.run`update api_keys set revoked_at = revoked_at - interval '1 second' where revoked_at is not null
    and account_id = ${ada.id}`
  assert.equal((await close(ada.uuid)).status, 201)
  const answer = await call({ ...ada, key: body.key }, 'GET', '/open/info')
  assert.equal(answer.status, 401)
})

test('an account with open holds is not closed, and none of its resources end', async () => {
  const { scene, tenant } = await furnished()
  await db.begin((tx) =>
    hold(tx, tenant.id, 1_000_000, 'calls', { kind: 'call', reference: 'CDR1', limitedKeys: null }),
  )
  const before = await stateOf(tenant.id)
  const { status, body } = await close(tenant.uuid, { reason: 'x', write_off: true })
  assert.deepEqual([status, body.error_code], [409, 'holds_open'])
  assert.deepEqual(await stateOf(tenant.id), before)
  assert.equal((await call(scene.tenant, 'GET', '/open/info')).status, 200)
})

test('a write-off balances a debt in the books', async () => {
  const { id, uuid } = await world.tenant({ balance: '1' })
  await call('operator', 'POST', `/operator/accounts/${uuid}/debit`, {
    amount: '3',
    reason: 'x',
    allow_negative: true,
  })
  assert.equal((await close(uuid)).body.error_code, 'balance_remains')
  assert.equal((await close(uuid, { reason: 'lost', write_off: true })).body.written_off, '-2.00')
  const { balance } = await db.one<{ balance: string }>`select balance from balances where account_id = ${id}`
  assert.equal(Number(balance), 0)
})

test('one of two concurrent requests to close an account succeeds', async () => {
  const { uuid } = await world.tenant({ balance: '5' })
  const answers = await Promise.all(Array.from({ length: 4 }, () => close(uuid, { reason: 'x', write_off: true })))
  assert.deepEqual(answers.map(({ status }) => status).sort(), [201, 409, 409, 409])
  const { transfers } = (await call('operator', 'GET', `/operator/accounts/${uuid}/ledger?kind=write_off`)).body
  assert.equal(transfers.length, 1)
})

test('closing needs an existing account and a reason', async () => {
  assert.equal((await close(`ACC${randomUUID()}`)).status, 404)
  const { uuid } = await world.tenant({ balance: '0' })
  assert.match((await close(uuid, {})).body.error_message, /reason/)
})

test('closing leaves other accounts unchanged', async () => {
  const [gone, stays] = [await furnished(), await furnished()]
  const before = await stateOf(stays.tenant.id)
  assert.equal((await close(gone.tenant.uuid, { reason: 'x', write_off: true })).status, 201)
  assert.deepEqual(await stateOf(stays.tenant.id), before)
  assert.equal((await call(stays.tenant, 'GET', '/open/info')).status, 200)
})

test('a number bought during the closing of its account is released', async () => {
  const { tenant } = await makeScene(world, 'closed meanwhile', await world.tenant({ balance: '50' }))
  const waiting = async () =>
    (
      await db.one<{ count: number }>`
        select count(*)::integer as count from pg_stat_activity
        where datname = current_database() and wait_event_type = 'Lock'`
    ).count
  const locked = db.begin(async (tx) => {
    const { number } = await tx.one<{ number: string }>`
      select number from numbers where group_id = ${group.id} and state = 'free' order by number limit 1 for update`
    const purchase = call(tenant, 'POST', '/open/numbers/purchase', { number })
    await until(async () => (await waiting()) === 1)
    let isOver = false
    const closing = close(tenant.uuid, { reason: 'left', write_off: true }).finally(() => {
      isOver = true
    })
    await until(async () => isOver || (await waiting()) === 2)
    return { purchase, closing }
  })
  const { purchase, closing } = await locked
  assert.equal((await purchase).status, 201)
  const closed = await closing
  assert.deepEqual([closed.status, closed.body.ended?.numbers], [201, 1], JSON.stringify(closed.body))
  assert.equal((await stateOf(tenant.id)).numbers, 0)
})
