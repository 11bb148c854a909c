import assert from 'node:assert/strict'
import { test } from 'node:test'
import { makeWorld } from '../../../test/world.ts'

const world = await makeWorld()
const { call } = world

test('the operator opens an account, gives it a key once, and the key works until it is revoked', async () => {
  const opened = await call('operator', 'POST', '/operator/accounts', { name: 'Example Ltd' })
  assert.equal(opened.status, 201)
  assert.equal(opened.body.account.on_trial, false)
  const { uuid } = opened.body.account

  const created = await call('operator', 'POST', `/operator/accounts/${uuid}/keys`, { label: 'ci' })
  assert.equal(created.status, 201)
  assert.match(created.body.key, /^UAK[0-9A-Za-z]{49}$/)
  const tenant = { id: uuid.slice(3), uuid, key: created.body.key }

  const info = await call(tenant, 'GET', '/open/info')
  assert.equal(info.status, 200)
  assert.equal(info.body.account.uuid, uuid)

  const listed = await call('operator', 'GET', `/operator/accounts/${uuid}/keys`)
  assert.equal(listed.body.keys[0].last_four, created.body.key.slice(-4))
  assert.ok(!JSON.stringify(listed.body).includes(created.body.key))

  assert.equal((await call('operator', 'DELETE', `/operator/accounts/${uuid}/keys/${created.body.uuid}`)).status, 200)
  assert.equal((await call(tenant, 'GET', '/open/info')).status, 401)
  assert.equal((await call('operator', 'DELETE', `/operator/accounts/${uuid}/keys/${created.body.uuid}`)).status, 404)
})

test('a blocked account is refused with the reason, and served again once unblocked', async () => {
  const tenant = await world.tenant()
  await call('operator', 'PATCH', `/operator/accounts/${tenant.uuid}`, { blocked: true, block_reason: 'unpaid' })
  const refused = await call(tenant, 'GET', '/open/info')
  assert.equal(refused.status, 403)
  assert.match(refused.body.error_message, /unpaid/)
  await call('operator', 'PATCH', `/operator/accounts/${tenant.uuid}`, { blocked: false })
  assert.equal((await call(tenant, 'GET', '/open/info')).status, 200)
})

test('a trial account has 30 requests a minute, and a refusal states how long to wait', async () => {
  const tenant = await world.tenant({ onTrial: true })
  for (let i = 0; i < 30; i++) assert.equal((await call(tenant, 'GET', '/open/info')).status, 200)
  const refused = await call(tenant, 'GET', '/open/info')
  assert.equal(refused.status, 429)
  assert.equal(refused.headers['retry-after'], '2')
  assert.equal(refused.headers['ratelimit-policy'], '"requests";q=30;w=60')
})

test('an exhausted quota answers 402, and calls are counted exactly', async () => {
  const tenant = await world.tenant({ onTrial: true })
  await call('operator', 'PATCH', `/operator/accounts/${tenant.uuid}`, { max_api_request_count: 3 })
  for (let i = 1; i <= 3; i++) {
    const info = await call(tenant, 'GET', '/open/info')
    assert.equal(info.body.usage.api_request_count, i)
  }
  const refused = await call(tenant, 'GET', '/open/info')
  assert.equal(refused.status, 402)
  assert.equal(refused.body.error_code, 'quota_exceeded')
})

test('a wrong key is refused in the response shape of old clients', async () => {
  const answer = await call({ id: '', uuid: '', key: 'nonsense' }, 'GET', '/open/info')
  assert.equal(answer.status, 401)
  assert.equal(answer.body.success, false)
  assert.equal(answer.body.error, true)
  assert.equal(answer.body.detail, answer.body.error_message)
})

test('operator endpoints refuse an account’s key', async () => {
  const tenant = await world.tenant()
  assert.equal((await call(tenant, 'GET', '/operator/accounts')).status, 401)
})
