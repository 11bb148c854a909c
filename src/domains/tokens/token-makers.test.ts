import assert from 'node:assert/strict'
import { test } from 'node:test'
import { decodeJwt } from 'jose'
import { member, signIn } from '../../../test/persons.ts'
import { makeWorld } from '../../../test/world.ts'

const turn = { TRUNKLINE_TURN_SECRET: 'a secret that coturn knows', TRUNKLINE_TURN_URLS: 'turn:turn.example.com:3478' }
const { app, call, tenant } = await makeWorld(turn)
const account = await tenant()

const user = async (): Promise<string> => {
  const names = { first_name: 'Ada', last_name: 'L', email: `${crypto.randomUUID()}@example.com` }
  return (await call('operator', 'POST', `/operator/accounts/${account.uuid}/users`, names)).body.user.uuid
}
const ada = await user()
const credentials = (token: string) =>
  app.inject({ method: 'POST', url: '/open/sdk/credentials', headers: { authorization: `Bearer ${token}` } })
const revoke = (who: typeof account, body: object) => call(who, 'POST', '/open/sdk/revocations', body)

/** Makes a key of the account that ends after these seconds. */
const keyEnding = async (seconds: number, limits: object = {}) => {
  const expires_at = new Date((Math.floor(Date.now() / 1000) + seconds) * 1000).toISOString()
  const created = await call(account, 'POST', '/open/keys', { label: 'limited', expires_at, ...limits })
  assert.equal(created.status, 201, JSON.stringify(created.body))
  return { end: Date.parse(expires_at), tenant: { ...account, key: String(created.body.key) } }
}

test('a token and its SIP and TURN credentials end with the key that mints it at the latest, also by a session', async () => {
  for (const left of [55, 80_000]) {
    const { end, tenant: key } = await keyEnding(left)
    const browser = await signIn({ app }, { key: key.key })
    for (const ask of [
      (body: object) => call(key, 'POST', '/open/sdk/access-token', body),
      (body: object) => browser.call('POST', '/open/sdk/access-token', body),
    ]) {
      const { body } = await ask({ user_uuid: ada, ttl: 86_400 })
      assert.equal(Date.parse(body.expires_at), end)
      assert.equal((decodeJwt(body.token).exp ?? 0) * 1000, end)
      const credentialsBody = (await credentials(body.token)).json()
      assert.equal(Date.parse(credentialsBody.expires_at), end)
      for (const { username } of [credentialsBody.sip, ...credentialsBody.ice_servers])
        assert.equal(Number(String(username).split(':')[0]) * 1000, end)
      assert.equal(credentialsBody.ice_servers.length, 1)
    }
    const early = (await call(key, 'POST', '/open/sdk/access-token', { user_uuid: ada, ttl: 60 })).body
    assert.ok(Date.parse(early.expires_at) <= end)
  }
})

test('a token that a key with an end mints after a revocation works, and one of the last seconds is not expired', async () => {
  const grace = await user()
  for (const left of [55, 3_000]) {
    const { end, tenant: key } = await keyEnding(left)
    for (let i = 0; i < 5; i++) {
      const { token } = (await call(key, 'POST', '/open/sdk/access-token', { user_uuid: grace, ttl: 86_400 })).body
      assert.ok((decodeJwt(token).exp ?? 0) * 1000 <= end)
      assert.equal((await credentials(token)).statusCode, 200)
      assert.equal((await revoke(account, { token })).status, 200)
    }
  }
})

test('a token is used from any address, whatever the addresses of the key that mints it', async () => {
  const { tenant: key } = await keyEnding(1_800, { allowed_addresses: ['127.0.0.1'] })
  const { token } = (await call(key, 'POST', '/open/sdk/access-token', { user_uuid: ada })).body
  const headers = { authorization: `Bearer ${token}` }
  const answer = await app.inject({ method: 'POST', url: '/open/sdk/credentials', headers, remoteAddress: '::1' })
  assert.equal(answer.statusCode, 200)
})

test('a repeated request with another key does not return the token that the first one minted', async () => {
  const { tenant: key } = await keyEnding(1_800)
  const ask = async (who: typeof account) => {
    const headers = { 'x-user-api-key': who.key, 'idempotency-key': 'one token' }
    const answer = await app.inject({
      method: 'POST',
      url: '/open/sdk/access-token',
      headers,
      payload: { user_uuid: ada, ttl: 86_400 },
    })
    return answer.json()
  }
  assert.equal((await ask(account)).token, (await ask(account)).token)
  assert.equal((await ask(key)).error_code, 'idempotency_key_reused')
})

test('a person revokes the tokens of the own user only, and one with team_settings those of every user', async () => {
  const owner = await member({ app, call }, account, 'owner')
  const agent = await member({ app, call }, account, 'agent')
  const admin = await member({ app, call }, account, 'admin')
  const minted = async (by: typeof agent) =>
    (await by.call('POST', '/open/sdk/access-token', { user_uuid: by.user })).body.token
  const ask = async (by: typeof agent, body: object) => {
    const answer = await by.call('POST', '/open/sdk/revocations', body)
    return [answer.status, answer.body.error_code]
  }
  const owners = await minted(owner)
  for (const foreign of [{ user_uuid: owner.user }, { token: owners }])
    assert.deepEqual(await ask(agent, foreign), [403, 'role'])
  const unknown = { user_uuid: 'USR01a1fcca-93ab-7cbc-9f10-be702f775479' }
  assert.deepEqual(await ask(agent, unknown), [403, 'role'], 'as that of a colleague')
  assert.equal((await credentials(owners)).statusCode, 200)

  const agents = await minted(agent)
  assert.deepEqual(await ask(agent, { token: agents }), [200, undefined])
  assert.deepEqual(await ask(agent, { user_uuid: agent.user }), [200, undefined])
  assert.deepEqual(await ask(admin, { token: owners }), [200, undefined])
  assert.equal((await credentials(owners)).statusCode, 401)
  assert.deepEqual(await ask(admin, { user_uuid: owner.user }), [200, undefined])
})
