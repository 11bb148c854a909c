import assert from 'node:assert/strict'
import { createHmac, randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { testDatabase } from '../../../test/database.ts'
import { makeWorld, type Tenant, type World } from '../../../test/world.ts'

const key = randomBytes(32)
const db = await testDatabase()
const settings = {
  TRUNKLINE_CORS_ORIGINS: 'https://app.example.com/',
  TRUNKLINE_TURN_URLS: 'stun:turn.example.com:3478,turn:turn.example.com:3478?transport=udp',
  TRUNKLINE_TURN_SECRET: 'a secret that coturn knows',
}
const world = await makeWorld(settings, {}, { db, key })
const twin = await makeWorld(settings, {}, { db, key })
const stranger = await makeWorld(settings, {}, { db, key: randomBytes(32) })
const { call, app, tenant } = world
const account = await tenant()

const addUser = async (owner: Tenant = account): Promise<string> => {
  const names = { first_name: 'Ada', last_name: 'L', email: `${crypto.randomUUID()}@example.com`, status: 'ACTIVE' }
  return (await call('operator', 'POST', `/operator/accounts/${owner.uuid}/users`, names)).body.user.uuid
}
const mint = async (user_uuid: string, owner: Tenant = account, more = {}): Promise<string> =>
  (await call(owner, 'POST', '/open/sdk/access-token', { user_uuid, ...more })).body.token

const ask = async (token: string | null, body?: object, more: object = {}, at: World = world) => {
  const answer = await at.app.inject({
    method: 'POST',
    url: '/open/sdk/credentials',
    headers: { ...(token === null ? {} : { authorization: `Bearer ${token}` }), ...more },
    ...(body ? { payload: body } : {}),
  })
  return { status: answer.statusCode, body: answer.json(), headers: answer.headers }
}

test('a token is exchanged for credentials of SIP and TURN that end with it', async () => {
  const user = await addUser()
  const { status, body, headers } = await ask(await mint(user, account, { label: 'desk 4', ttl: 600 }))
  assert.equal(status, 200)
  const { sip, ice_servers, expires_at, user_uuid, label } = body
  assert.deepEqual([user_uuid, label, sip.generation], [user, 'desk 4', 1])
  assert.deepEqual(
    [sip.uri, sip.ws_url, sip.realm],
    [`sip:${user}@127.0.0.1`, 'ws://127.0.0.1:8080/voice', '127.0.0.1'],
  )
  const until = Date.parse(expires_at) / 1000
  assert.ok(Math.abs(until - Date.now() / 1000 - 600) < 5)
  assert.equal(sip.username, `${until}:${user}`)
  assert.equal(Buffer.from(sip.password, 'base64').length, 20)
  const [stun, turn] = ice_servers
  assert.deepEqual(stun, { urls: ['stun:turn.example.com:3478'] })
  const credential = createHmac('sha1', settings.TRUNKLINE_TURN_SECRET).update(turn.username).digest('base64')
  assert.deepEqual([turn.username, turn.credential], [`${until}:${user}`, credential])
  assert.ok('ratelimit' in headers, 'the request counts as a call of the account')
})

test('the generation grows with each Device, also concurrent ones, and not with renew; each user has a separate one', async () => {
  const [ada, bob] = [await addUser(), await addUser()]
  const token = await mint(ada)
  const generations = async (bodies: readonly (object | undefined)[]) =>
    (await Promise.all(bodies.map((body) => ask(token, body)))).map(({ body }) => body.sip.generation)
  assert.deepEqual(await generations([{ renew: true }]), [1], 'the first generation, even with renew')
  const many = await generations(Array.from({ length: 10 }))
  assert.deepEqual(
    many.sort((a, b) => a - b),
    Array.from({ length: 10 }, (_, i) => i + 2),
  )
  assert.deepEqual(await generations([{ renew: true }, { renew: true }]), [11, 11])
  assert.deepEqual(await generations([{ renew: false }]), [12])
  assert.equal((await ask(await mint(bob))).body.sip.generation, 1)
})

test('every process of an installation derives the same password; another installation derives another', async () => {
  const user = await addUser()
  const token = await mint(user)
  const [first, second] = [await ask(token), await ask(token, {}, {}, twin)]
  assert.deepEqual(second.body.sip.password, first.body.sip.password)
  assert.equal(second.body.sip.generation, 2)
  assert.notEqual((await ask(token, {}, {}, stranger)).body.sip.password, first.body.sip.password)
})

test('a missing, corrupt or expired token, or a key, is answered with 401', async () => {
  const user = await addUser()
  const token = await mint(user)
  const claims = { user, account: account.uuid, label: null }
  const { token: expired } = await db.begin((tx) => world.parts.tokens.mint(tx, claims, world.parts.publicUrl(), -1))
  for (const bad of [null, '', 'junk', `${token}x`, expired, account.key, `${token} x`]) {
    const { status, body } = await ask(bad)
    assert.deepEqual([status, body.error_code, body.detail], [401, 'token_invalid', body.error_message], String(bad))
  }
  assert.equal((await ask(null, {}, { 'x-user-api-key': account.key })).status, 401)
})

test('an inactive user and a blocked account get 403', async () => {
  const owner = await tenant()
  const user = await addUser(owner)
  const token = await mint(user, owner)
  for (const status of ['SUSPENDED', 'DELETED', 'PENDING_INVITE']) {
    await call('operator', 'PATCH', `/operator/users/${user}`, { status })
    const refused = await ask(token)
    assert.deepEqual([refused.status, refused.body.error_code], [403, 'user_inactive'])
  }
  await call('operator', 'PATCH', `/operator/users/${user}`, { status: 'ACTIVE' })
  assert.equal((await ask(token)).status, 200)
  await call('operator', 'PATCH', `/operator/accounts/${owner.uuid}`, { blocked: true })
  const refused = await ask(token)
  assert.deepEqual([refused.status, refused.body.error_code], [403, 'account_blocked'])
})

test('a response is not stored for an Idempotency-Key, because another user of the account must not get it', async () => {
  const repeated = { 'idempotency-key': 'same' }
  const [ada, bob] = [await addUser(), await addUser()]
  assert.equal((await ask(await mint(ada), {}, repeated)).body.user_uuid, ada)
  assert.equal((await ask(await mint(bob), {}, repeated)).body.user_uuid, bob)
})

test('plain HTTP from another machine gets no credentials', async () => {
  const answer = await app.inject({
    method: 'POST',
    url: '/open/sdk/credentials',
    headers: { authorization: `Bearer ${await mint(await addUser())}` },
    remoteAddress: '198.51.100.7',
  })
  assert.deepEqual([answer.statusCode, answer.json().error_code], [403, 'https_required'])
})

test('pages of a configured origin may send requests and read responses, also refusals; other pages may not', async () => {
  const token = await mint(await addUser())
  const preflight = (origin: string, url = '/open/sdk/credentials') =>
    app.inject({
      method: 'OPTIONS',
      url,
      headers: { origin, 'access-control-request-method': 'POST', 'access-control-request-headers': 'authorization' },
    })
  const good = await preflight('https://app.example.com')
  assert.equal(good.statusCode, 204)
  assert.equal(good.headers['access-control-allow-origin'], 'https://app.example.com')
  assert.match(String(good.headers['access-control-allow-headers']), /authorization/)
  assert.match(String(good.headers['access-control-allow-methods']), /POST/)
  for (const one of [
    await ask(token, {}, { origin: 'https://app.example.com' }),
    await ask('junk', {}, { origin: 'https://app.example.com' }),
  ])
    assert.equal(one.headers['access-control-allow-origin'], 'https://app.example.com')
  const others = [
    'https://evil.example',
    'https://app.example.com.evil.org',
    'https://app.example.co',
    'https://app.example.com:8443',
    'https://evil.app.example.com',
    'http://app.example.com',
  ]
  for (const origin of others)
    for (const one of [await preflight(origin), await ask(token, {}, { origin })]) {
      assert.equal(one.headers['access-control-allow-origin'], undefined, origin)
      assert.equal(one.headers.vary, 'origin')
    }
  const closed = await preflight('https://app.example.com', '/open/sdk/access-token')
  assert.deepEqual([closed.statusCode, closed.headers['access-control-allow-origin']], [405, undefined])
})

test('in the sandbox pages of this machine may send requests, and no other pages', async () => {
  const token = await mint(await addUser())
  const sandbox = await makeWorld({}, { sandbox: true }, { db, key })
  const plain = await makeWorld({}, { sandbox: false }, { db, key })
  const allowed = async (at: World, origin: string) =>
    (await ask(token, {}, { origin }, at)).headers['access-control-allow-origin'] === origin
  for (const origin of ['http://localhost:8000', 'http://127.0.0.1:3000', 'https://[::1]:8443'])
    assert.deepEqual([await allowed(sandbox, origin), await allowed(plain, origin)], [true, false], origin)
  for (const origin of ['null', 'http://localhost.evil.example', 'http://127.0.0.1.evil.example'])
    assert.equal(await allowed(sandbox, origin), false, origin)
})
