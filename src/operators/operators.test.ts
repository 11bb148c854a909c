import assert from 'node:assert/strict'
import { test } from 'node:test'
import { makeWorld } from '../../test/world.ts'

const { app, call, operatorKey } = await makeWorld()

const ask = async (key: string) =>
  (await app.inject({ method: 'GET', url: '/operator/keys', headers: { 'x-operator-key': key } })).statusCode

test('an operator key works until another one revokes it, and cannot revoke itself', async () => {
  const made = (await call('operator', 'POST', '/operator/keys', { label: 'second' })).body
  assert.equal(await ask(made.key), 200)
  const { keys } = (await call('operator', 'GET', '/operator/keys')).body
  const own = keys.find((key: { current: boolean }) => key.current)
  assert.equal(own.last_four, operatorKey.slice(-4))
  assert.equal((await call('operator', 'DELETE', `/operator/keys/${own.uuid}`)).body.error_code, 'key_in_use')
  assert.equal((await call('operator', 'DELETE', `/operator/keys/${made.uuid}`)).status, 200)
  assert.equal(await ask(made.key), 401)
  assert.equal((await call('operator', 'DELETE', `/operator/keys/${made.uuid}`)).status, 404)
  assert.equal(await ask(operatorKey), 200)
})
