import assert from 'node:assert/strict'
import { test } from 'node:test'
import { until } from '../../../test/platform.ts'
import { makeWorld, type Tenant, type World } from '../../../test/world.ts'

const world = await makeWorld({ TRUNKLINE_SANDBOX: 'true' })
const { db, call } = world
const moved = await makeWorld({ TRUNKLINE_SANDBOX: 'true' })
const proxied = await makeWorld({ TRUNKLINE_TRUST_PROXY: '10.1.0.0/16' }, {}, { db })

/** Makes a key as the operator and returns it as a tenant. */
const keyed = async (owner: Tenant, limits: object): Promise<Tenant & { keyUuid: string }> => {
  const created = await call('operator', 'POST', `/operator/accounts/${owner.uuid}/keys`, {
    label: 'limited',
    ...limits,
  })
  assert.equal(created.status, 201, JSON.stringify(created.body))
  return { ...owner, key: created.body.key, keyUuid: created.body.uuid }
}

const from = async (at: World, key: string, remoteAddress: string, forwarded?: string) => {
  const headers = { 'x-user-api-key': key, ...(forwarded ? { 'x-forwarded-for': forwarded } : {}) }
  const answer = await at.app.inject({ method: 'GET', url: '/open/info', remoteAddress, headers })
  return { status: answer.statusCode, body: answer.json() }
}

/** Returns the next whole second that is at least a second away. */
const soon = () => new Date(Math.ceil(Date.now() / 1000 + 1) * 1000).toISOString()

test('the limits of a key are shown on creation and in the list; a key without limits shows none', async () => {
  const ada = await world.tenant()
  const limits = {
    scopes: ['read_only', 'develop'],
    expires_at: '2099-01-01T00:00:00Z',
    allowed_addresses: ['127.0.0.0/8', '2001:db8::/32'],
  }
  const path = `/operator/accounts/${ada.uuid}/keys`
  const created = await call('operator', 'POST', path, { label: 'limited', ...limits })
  assert.partialDeepStrictEqual(created.body, limits)
  const [plain, limited] = (await call('operator', 'GET', path)).body.keys
  assert.partialDeepStrictEqual(limited, limits)
  for (const name of Object.keys(limits)) assert.ok(!(name in plain), name)
  const own = (await call({ ...ada, key: created.body.key }, 'GET', '/open/keys')).body.keys
  assert.deepEqual(
    own.map(({ current }: { current: boolean }) => current),
    [false, true],
  )
  assert.partialDeepStrictEqual(own[1], limits)
})

test('an expired key answers 401 key_expired, also from the cache', async () => {
  const ada = await world.tenant()
  const key = await keyed(ada, { expires_at: soon() })
  assert.equal((await call(key, 'GET', '/open/info')).status, 200)
  const refused = await until(async () => {
    const answer = await call(key, 'GET', '/open/info')
    return answer.status === 401 && answer
  })
  assert.equal(refused.body.error_code, 'key_expired')
  assert.match(refused.body.error_message, /expired at \d{4}-/)
  assert.equal((await call(ada, 'GET', '/open/info')).status, 200)
  const late = await call('operator', 'POST', `/operator/accounts/${ada.uuid}/keys`, {
    label: 'late',
    expires_at: '2020-01-01T00:00:00Z',
  })
  assert.equal(late.status, 400)
})

test('a key expires by the real clock: the clock of the sandbox does not end it', async () => {
  const ada = await moved.tenant()
  const created = await moved.call('operator', 'POST', `/operator/accounts/${ada.uuid}/keys`, {
    label: 'an hour',
    expires_at: new Date(Date.now() + 3_600_000).toISOString(),
  })
  const key = { ...ada, key: created.body.key }
  assert.equal((await moved.call(ada, 'POST', '/sandbox/clock', { advance_seconds: 86_400 })).status, 202)
  assert.equal((await moved.call(key, 'GET', '/open/info')).status, 200)
})

test('a key with an address list is refused from other addresses, and the refusal names the address', async () => {
  const ada = await world.tenant()
  const { key } = await keyed(ada, { allowed_addresses: ['192.0.2.0/24', '2001:db8::/32'] })
  for (const inside of ['192.0.2.7', '::ffff:192.0.2.7', '2001:db8::7'])
    assert.equal((await from(world, key, inside)).status, 200, inside)
  for (const outside of ['192.0.3.7', '::ffff:192.0.3.7', '2001:db9::7', '127.0.0.1']) {
    const { status, body } = await from(world, key, outside)
    assert.deepEqual([status, body.error_code], [403, 'address_not_allowed'])
    assert.ok(body.error_message.includes(outside.replace('::ffff:', '')), body.error_message)
  }
  assert.equal((await from(world, key, '192.0.3.7', '192.0.2.7')).status, 403, 'the header of an untrusted peer')
  for (const wrong of [['here'], ['10.0.0.0/33'], [], Array(51).fill('10.0.0.1')])
    assert.equal(
      (await call('operator', 'POST', `/operator/accounts/${ada.uuid}/keys`, { label: 'x', allowed_addresses: wrong }))
        .status,
      400,
    )
})

test('the forwarded address counts behind a trusted proxy only', async () => {
  const ada = await world.tenant()
  const { key } = await keyed(ada, { allowed_addresses: ['192.0.2.7'] })
  assert.equal((await from(proxied, key, '10.1.2.3', '192.0.2.7')).status, 200)
  assert.equal((await from(proxied, key, '10.1.2.3', '192.0.2.7, 198.51.100.1')).status, 403)
  assert.equal((await from(proxied, key, '10.2.2.3', '192.0.2.7')).status, 403)
})

test('an account makes, lists and revokes its own keys', async () => {
  const ada = await world.tenant()
  const created = await call(ada, 'POST', '/open/keys', { label: 'ci', scopes: ['read_only'] })
  assert.equal(created.status, 201)
  assert.match(created.body.key, /^UAK/)
  const ci = { ...ada, key: created.body.key }
  assert.equal((await call(ci, 'GET', '/open/info')).status, 200)
  assert.equal((await call(ci, 'GET', '/open/keys')).body.error_code, 'scope_missing')
  const { keys } = (await call(ada, 'GET', '/open/keys')).body
  assert.ok(!JSON.stringify(keys).includes(ci.key))
  const own = keys.find(({ current }: { current: boolean }) => current)
  assert.equal((await call(ada, 'DELETE', `/open/keys/${own.uuid}`)).body.error_code, 'key_in_use')
  assert.equal((await call(ada, 'DELETE', `/open/keys/${created.body.uuid}`)).status, 200)
  assert.equal((await call(ci, 'GET', '/open/info')).status, 401)
  assert.equal((await call(ada, 'DELETE', `/open/keys/${created.body.uuid}`)).status, 404)
})

test('a key cannot create a key with more permissions', async () => {
  const limits = {
    scopes: ['develop', 'inbox'],
    expires_at: '2090-01-01T00:00:00Z',
    allowed_addresses: ['127.0.0.0/8', '2001:db8::/32'],
  }
  const key = await keyed(await world.tenant(), limits)
  const make = async (limits: object) => (await call(key, 'POST', '/open/keys', { label: 'more', ...limits })).body
  for (const more of [
    { scopes: ['money'] },
    { scopes: ['develop', 'read_only'] },
    { expires_at: '2090-01-01T00:00:01Z' },
    { allowed_addresses: ['0.0.0.0/0'] },
    { allowed_addresses: ['127.0.0.1', '10.0.0.1'] },
    { allowed_addresses: ['2001::/16'] },
  ]) {
    const { error_code, error_message } = await make(more)
    assert.equal(error_code, 'exceeds_own_key', JSON.stringify(more))
    assert.ok(error_message.includes(Object.keys(more)[0]), error_message)
  }
  // Omitted limits are inherited from the creating key.
  assert.partialDeepStrictEqual(await make({}), limits)
  const less = { scopes: ['inbox'], expires_at: '2080-01-01T00:00:00Z', allowed_addresses: ['127.0.0.1'] }
  assert.partialDeepStrictEqual(await make(less), less)
})

test('a key cannot revoke a key with more permissions', async () => {
  const ada = await world.tenant()
  const key = await keyed(ada, { scopes: ['develop', 'inbox'] })
  const make = async (limits: object) => (await call(ada, 'POST', '/open/keys', { label: 'x', ...limits })).body.uuid
  const { keys } = (await call(ada, 'GET', '/open/keys')).body
  const full = keys.find(({ current }: { current: boolean }) => current).uuid
  for (const stronger of [full, await make({ scopes: ['money'] }), await make({ scopes: ['inbox', 'read_only'] })]) {
    const { status, body } = await call(key, 'DELETE', `/open/keys/${stronger}`)
    assert.deepEqual([status, body.error_code], [403, 'exceeds_own_key'])
  }
  assert.equal((await call(ada, 'GET', '/open/info')).status, 200)
  const weaker = await make({ scopes: ['inbox'] })
  assert.equal((await call(key, 'DELETE', `/open/keys/${weaker}`)).status, 200)
})

test('an idempotent repeat with another key does not return the key created by the first request', async () => {
  const ada = await world.tenant()
  const limited = await keyed(ada, { scopes: ['develop'] })
  const ask = async (who: Tenant) => {
    const headers = { 'x-user-api-key': who.key, 'idempotency-key': 'make a key' }
    const answer = await world.app.inject({ method: 'POST', url: '/open/keys', headers, payload: { label: 'one' } })
    return { status: answer.statusCode, body: answer.json() }
  }
  const [first, again] = [await ask(ada), await ask(ada)]
  assert.equal(again.body.key, first.body.key)
  const other = await ask(limited)
  assert.deepEqual([other.status, other.body.error_code], [409, 'idempotency_key_reused'])
})

test('an account has at most 100 keys, also under concurrent requests, and creates at most 1,000 a day', async () => {
  const ada = await world.tenant()
  const make = async () => (await call(ada, 'POST', '/open/keys', { label: 'one of many' })).status
  const created = await Promise.all(Array.from({ length: 110 }, make))
  assert.equal(created.filter((status) => status === 201).length, 99)
  const refused = await call(ada, 'POST', '/open/keys', { label: 'one more' })
  assert.deepEqual([refused.status, refused.body.error_code], [403, 'too_many_keys'])
  const { keys } = (await call(ada, 'GET', '/open/keys')).body
  const other = keys.find(({ current }: { current: boolean }) => !current)
  await call(ada, 'DELETE', `/open/keys/${other.uuid}`)
  assert.equal(await make(), 201)
  await db.run`
    insert into api_keys (account_id, id, label, hash, last_four, revoked_at)
    select ${ada.id}, gen_random_uuid(), 'revoked', sha256(gen_random_uuid()::text::bytea), 'last', app_now()
    from generate_series(1, 900)`
  await db.run`
    update api_keys set revoked_at = app_now() where account_id = ${ada.id} and label = 'one of many'`
  assert.equal((await call(ada, 'POST', '/open/keys', { label: 'one a day' })).body.error_code, 'too_many_keys')
})
