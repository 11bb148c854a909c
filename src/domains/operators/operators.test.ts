import assert from 'node:assert/strict'
import { test } from 'node:test'
import { makeWorld } from '../../../test/world.ts'
import { uuid } from '../../platform/lib/id.ts'
import { keyHash, makeKey } from '../../platform/lib/secret.ts'

const { app, call, db, operatorKey, tenant } = await makeWorld()

const ask = async (key: string, method: 'GET' | 'POST' | 'DELETE' = 'GET', url = '/operator/keys', body?: object) =>
  await app.inject({ method, url, headers: { 'x-operator-key': key }, ...(body ? { payload: body } : {}) })

const statusOf = async (key: string) => (await ask(key)).statusCode

test('an operator key works until another one revokes it, and cannot revoke itself', async () => {
  const created = (await call('operator', 'POST', '/operator/keys', { label: 'second' })).body
  assert.equal(await statusOf(created.key), 200)
  const { keys } = (await call('operator', 'GET', '/operator/keys')).body
  const own = keys.find((key: { current: boolean }) => key.current)
  assert.equal(own.last_four, operatorKey.slice(-4))
  assert.equal((await call('operator', 'DELETE', `/operator/keys/${own.uuid}`)).body.error_code, 'key_in_use')
  assert.equal((await call('operator', 'DELETE', `/operator/keys/${created.uuid}`)).status, 200)
  assert.equal(await statusOf(created.key), 401)
  assert.equal((await call('operator', 'DELETE', `/operator/keys/${created.uuid}`)).status, 404)
  assert.equal(await statusOf(operatorKey), 200)
})

test('a key has the role operator by default, and an unknown role is refused', async () => {
  assert.equal((await call('operator', 'POST', '/operator/keys', { label: 'plain' })).body.role, 'operator')
  const seen = await call('operator', 'POST', '/operator/keys', { label: 'eyes', role: 'observer' })
  assert.equal(seen.body.role, 'observer')
  assert.equal((await call('operator', 'POST', '/operator/keys', { label: 'x', role: 'root' })).status, 400)
})

test('a key of an earlier version, without a role, has the role operator', async () => {
  const key = makeKey('OPK')
  await db.run`
    insert into operator_keys (id, label, hash, last_four) values (${uuid()}, 'old', ${keyHash(key)}, ${key.slice(-4)})`
  assert.equal((await ask(key, 'POST', '/operator/keys', { label: 'by an old key' })).statusCode, 201)
})

test('an observer can neither create nor revoke keys, and the refusal says why', async () => {
  const observer = (await call('operator', 'POST', '/operator/keys', { label: 'eyes', role: 'observer' })).body
  const tried = await ask(observer.key, 'POST', '/operator/keys', { label: 'mine', role: 'operator' })
  assert.equal(tried.statusCode, 403)
  assert.equal(tried.json().error_code, 'role')
  assert.match(tried.json().error_message, /role observer.*needs the role operator/)
  const { keys } = (await call('operator', 'GET', '/operator/keys')).body
  for (const { uuid } of keys)
    assert.equal((await ask(observer.key, 'DELETE', `/operator/keys/${uuid}`)).statusCode, 403)
  // A cached key keeps its role.
  assert.equal((await ask(observer.key, 'POST', '/operator/keys', { label: 'mine' })).statusCode, 403)
  assert.equal(await statusOf(observer.key), 200)
})

test('an idempotent repeat by another operator does not return the key created by the first request', async () => {
  const { uuid: account } = await tenant()
  const other = (await call('operator', 'POST', '/operator/keys', { label: 'other' })).body.key
  for (const url of ['/operator/keys', `/operator/accounts/${account}/keys`]) {
    const again = async (key: string) => {
      const headers = { 'x-operator-key': key, 'idempotency-key': `make ${url}` }
      return (await app.inject({ method: 'POST', url, headers, payload: { label: 'one' } })).json()
    }
    const { key } = await again(operatorKey)
    assert.match(key, /^[OU][PA]K/)
    assert.equal((await again(operatorKey)).key, key)
    assert.equal((await again(other)).error_code, 'idempotency_key_reused', url)
  }
})

test('two operators who revoke each other at once leave one valid key', async () => {
  const label = 'rival'
  const [one, other] = await Promise.all(
    [0, 1].map(async () => (await call('operator', 'POST', '/operator/keys', { label })).body),
  )
  // Only two keys remain, and both are cached in this process.
  await db.run`update operator_keys set revoked_at = now() where label <> ${label} and role = 'operator'`
  assert.deepEqual([await statusOf(one.key), await statusOf(other.key)], [200, 200])
  const answers = await Promise.all([
    ask(one.key, 'DELETE', `/operator/keys/${other.uuid}`),
    ask(other.key, 'DELETE', `/operator/keys/${one.uuid}`),
  ])
  const codes = answers.map((answer) => answer.json().error_code ?? 'done').sort()
  assert.deepEqual(codes, ['done', 'last_operator_key'])
  const left = await db.many`select 1 from operator_keys where role = 'operator' and revoked_at is null`
  assert.equal(left.length, 1)
})
