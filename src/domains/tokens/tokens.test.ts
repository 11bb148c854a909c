import assert from 'node:assert/strict'
import { createHmac, generateKeyPairSync, randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { decodeJwt, decodeProtectedHeader, SignJWT, UnsecuredJWT } from 'jose'
import { member } from '../../../test/persons.ts'
import { makeWorld } from '../../../test/world.ts'
import { deleteRevokedTokens } from './ops.ts'

const masterKey = randomBytes(32)
const { app, call, parts, tenant, db } = await makeWorld({}, {}, { key: masterKey })
const issuer = parts.publicUrl()
const account = await tenant()
const other = await tenant()

const user = async (owner: typeof account, status = 'ACTIVE'): Promise<string> => {
  const names = { first_name: 'Ada', last_name: 'L', email: `${crypto.randomUUID()}@example.com`, status }
  return (await call('operator', 'POST', `/operator/accounts/${owner.uuid}/users`, names)).body.user.uuid
}
const ada = await user(account)
const mint = (body: object) => call(account, 'POST', '/open/sdk/access-token', body)

test('a token is bound to one user, carries the label and expires at the stated time', async () => {
  const { status, body } = await mint({ user_uuid: ada, label: 'desk 4', ttl: 600 })
  assert.equal(status, 200)
  const claims = decodeJwt(body.token)
  assert.equal(body.success, true)
  assert.equal(claims.sub, ada)
  assert.equal(claims.aud, 'voice')
  assert.equal(claims.iss, issuer)
  assert.equal(claims.account_uuid, account.uuid)
  assert.equal(claims.label, 'desk 4')
  assert.equal(body.label, 'desk 4')
  assert.equal((claims.exp ?? 0) - (claims.iat ?? 0), 600)
  assert.equal(Date.parse(body.expires_at) / 1000, claims.exp)
  assert.equal(decodeProtectedHeader(body.token).alg, 'EdDSA')
})

test('the lifetime is clamped to 60 to 86,400 seconds and is 3,600 by default; the label is null by default', async () => {
  for (const [ttl, seconds] of [
    [1, 60],
    [-5, 60],
    [1e9, 86_400],
    [undefined, 3600],
  ] as const) {
    const { status, body } = await mint({ user_uuid: ada, ...(ttl === undefined ? {} : { ttl }) })
    assert.equal(status, 200)
    const { exp = 0, iat = 0 } = decodeJwt(body.token)
    assert.equal(exp - iat, seconds)
    assert.equal(body.label, null)
  }
  assert.equal((await mint({ user_uuid: ada, ttl: 'long' })).status, 400)
  assert.equal((await mint({ user_uuid: ada, ttl: 60.5 })).status, 400)
})

test('a missing user answers 400; an unknown, foreign or inactive user answers an identical 404', async () => {
  assert.equal((await mint({})).status, 400)
  const strangers = ['USR01a1fcca-93ab-7cbc-9f10-be702f775479', 'USRnonsense', await user(other)]
  for (const status of ['PENDING_INVITE', 'SUSPENDED', 'DELETED']) strangers.push(await user(account, status))
  for (const uuid of strangers) {
    const { status, body } = await mint({ user_uuid: uuid })
    assert.equal(status, 404)
    assert.equal(body.error_message, `No active user ${uuid}`)
  }
})

test('a token that the console fetches for the own user is not in the audit trail, one for a colleague is', async () => {
  const owner = await member({ app, call }, account, 'owner')
  const minted = async (user_uuid: string, ttl?: number) => {
    assert.equal((await owner.call('POST', '/open/sdk/access-token', { user_uuid, ttl })).status, 200)
    return (await call(account, 'GET', '/open/audit?action=mintToken')).body.acts.length
  }
  assert.equal(await minted(owner.user), 0)
  assert.equal(await minted(ada), 1)
  assert.equal(await minted(owner.user, 86_400), 2, 'a long one is')
})

test('plain HTTP from another machine gets no token', async () => {
  const answer = await app.inject({
    method: 'POST',
    url: '/open/sdk/access-token',
    headers: { 'x-user-api-key': account.key },
    payload: { user_uuid: ada },
    remoteAddress: '198.51.100.7',
  })
  assert.equal(answer.statusCode, 403)
  assert.equal(answer.json().error_code, 'https_required')
})

const twin = await makeWorld({}, {}, { db, key: masterKey })
const credentials = async (token: string, at = app) =>
  await at.inject({ method: 'POST', url: '/open/sdk/credentials', headers: { authorization: `Bearer ${token}` } })
const revoke = (who: typeof account, body: object) => call(who, 'POST', '/open/sdk/revocations', body)

test('a revoked token is refused by every process at once; other tokens of the user are not', async () => {
  const leaked = (await mint({ user_uuid: ada })).body.token
  const good = (await mint({ user_uuid: ada, ttl: 7200 })).body.token
  assert.equal((await credentials(leaked, twin.app)).statusCode, 200)
  const { status, body } = await revoke(account, { token: leaked })
  assert.deepEqual([status, body.user_uuid, body.revoked], [200, ada, 'token'])
  for (const at of [app, twin.app]) {
    const refused = await credentials(leaked, at)
    assert.deepEqual([refused.statusCode, refused.json().error_code], [401, 'token_invalid'])
    assert.equal((await credentials(good, at)).statusCode, 200)
  }
  assert.equal((await revoke(account, { token: leaked })).status, 200, 'again')
})

test('a token minted after a revocation is never treated as the revoked one', async () => {
  for (let i = 0; i < 5; i++) {
    const { token } = (await mint({ user_uuid: ada })).body
    assert.equal((await credentials(token)).statusCode, 200)
    assert.equal((await revoke(account, { token })).status, 200)
    assert.equal((await credentials(token)).statusCode, 401)
  }
})

test('all tokens minted so far for a user are revoked at once; later tokens work', async () => {
  const grace = await user(account)
  const old = [
    (await mint({ user_uuid: grace })).body.token,
    (await mint({ user_uuid: grace, ttl: 86_400 })).body.token,
  ]
  const adas = (await mint({ user_uuid: ada })).body.token
  for (let round = 0; round < 2; round++) {
    assert.equal((await revoke(account, { user_uuid: grace })).body.revoked, 'user')
    for (const token of old) assert.equal((await credentials(token, twin.app)).statusCode, 401)
    const fresh = (await mint({ user_uuid: grace })).body.token
    assert.equal((await credentials(fresh, twin.app)).statusCode, 200)
    assert.equal(decodeJwt(fresh).epoch, round + 1)
    old.push(fresh)
  }
  assert.equal((await credentials(adas)).statusCode, 200)
})

test('an account revokes only its own tokens, by token or by user', async () => {
  const { token } = (await mint({ user_uuid: ada })).body
  for (const foreign of [{ token }, { user_uuid: ada }]) assert.equal((await revoke(other, foreign)).status, 404)
  assert.equal((await credentials(token)).statusCode, 200)
  for (const unknown of [
    { token: `${token}x` },
    { token: 'x' },
    { user_uuid: 'USR01a1fcca-93ab-7cbc-9f10-be702f775479' },
  ])
    assert.equal((await revoke(account, unknown)).status, 404)
  assert.equal((await revoke(account, {})).status, 400)
  assert.equal((await revoke(account, { token, user_uuid: ada })).status, 400)
})

test('revoked tokens are deleted after their expiry, and an account has at most 10,000 of them', async () => {
  const owner = await tenant()
  const person = await user(owner)
  await db.run`
    insert into revoked_tokens (account_id, user_id, expires_at)
    select ${owner.id}, ${person.slice(3)}, date_trunc('second', clock_timestamp()) + interval '5 hours' + n * interval '1 second'
    from generate_series(1, 10000) n`
  const minted = async () => (await call(owner, 'POST', '/open/sdk/access-token', { user_uuid: person })).body.token
  const full = await revoke(owner, { token: await minted() })
  assert.deepEqual([full.status, full.body.error_code], [403, 'too_many_revocations'])
  assert.equal((await revoke(owner, { user_uuid: person })).status, 200)
  await db.run`
    update revoked_tokens set expires_at = expires_at - interval '1 day' where account_id = ${owner.id}`
  await db.begin((tx) => deleteRevokedTokens.run(tx, new Date()))
  const left = await db.one<{ count: number }>`
    select count(*)::integer as count from revoked_tokens where account_id = ${owner.id}`
  assert.equal(left.count, 0)
  assert.equal((await revoke(owner, { token: await minted() })).status, 200)
})

test('after a rotation the new key signs new tokens, and old tokens remain valid', async () => {
  const before = (await mint({ user_uuid: ada })).body.token
  const rotated = await call('operator', 'POST', '/operator/signing-keys')
  assert.equal(rotated.status, 201)
  const after = (await mint({ user_uuid: ada })).body.token
  assert.equal(decodeProtectedHeader(after).kid, rotated.body.signing_key.kid)
  assert.notEqual(decodeProtectedHeader(before).kid, decodeProtectedHeader(after).kid)
  assert.equal((await parts.tokens.verify(before, issuer)).user, ada)
  assert.equal((await parts.tokens.verify(after, issuer)).account, account.uuid)
})

test('only valid and current tokens of ours are accepted', async () => {
  const good = (await mint({ user_uuid: ada })).body.token as string
  const [head = '', body = '', signature = ''] = good.split('.')
  const header = decodeProtectedHeader(good)
  const claims = decodeJwt(good)
  const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
  const foreign = generateKeyPairSync('ed25519').privateKey
  const { public_jwk } = await db.one<{
    public_jwk: { x: string }
  }>`select public_jwk from signing_keys where kid = ${header.kid ?? ''}`
  const hmac = (secret: string) => {
    const signed = `${encode({ ...header, alg: 'HS256' })}.${body}`
    return `${signed}.${createHmac('sha256', secret).update(signed).digest('base64url')}`
  }
  const by = (change: object, head: object = header) =>
    new SignJWT({ ...claims, ...change }).setProtectedHeader({ alg: 'EdDSA', ...head }).sign(foreign)
  const bad: Record<string, string> = {
    empty: '',
    'not a token': 'a.b.c',
    'no signature': `${head}.${body}.`,
    'two parts': `${head}.${body}`,
    'cut signature': good.slice(0, -4),
    'other body': `${head}.${encode({ ...claims, sub: 'USRother' })}.${signature}`,
    'later expiry': `${head}.${encode({ ...claims, exp: (claims.exp ?? 0) + 9999 })}.${signature}`,
    'other type': `${encode({ ...header, typ: 'JWT' })}.${body}.${signature}`,
    'algorithm none': `${encode({ alg: 'none', kid: header.kid, typ: header.typ })}.${body}.`,
    unsecured: new UnsecuredJWT(claims).encode(),
    'HMAC with the public key': hmac(public_jwk.x),
    'HMAC with the public key as JSON': hmac(JSON.stringify(public_jwk)),
    'foreign key under our kid': await by({}),
    'foreign key in the header': await by({}, { ...header, jwk: { kty: 'OKP', crv: 'Ed25519', x: public_jwk.x } }),
    'unknown kid': await by({}, { ...header, kid: 'nobody' }),
    'no kid': await by({}, { alg: 'EdDSA', typ: 'voice+jwt' }),
    oversize: `${head}.${body}${'A'.repeat(100_000)}.${signature}`,
  }
  for (const [name, token] of Object.entries(bad))
    await assert.rejects(parts.tokens.verify(token, issuer), `${name} was accepted`)
  await assert.rejects(parts.tokens.verify(good, 'http://elsewhere'), 'the issuer was not checked')
  const claimed = { user: ada, account: account.uuid, label: null }
  const expired = await db.begin((tx) => parts.tokens.mint(tx, claimed, issuer, -1))
  await assert.rejects(parts.tokens.verify(expired.token, issuer), 'an expired token was accepted')
})

test('a person mints tokens of the own user only, and one with team_settings of every user', async () => {
  const agent = await member({ app, call }, account, 'agent')
  const admin = await member({ app, call }, account, 'admin')
  const status = async (who: typeof agent, user_uuid: string) =>
    (await who.call('POST', '/open/sdk/access-token', { user_uuid })).status
  assert.deepEqual([await status(agent, agent.user), await status(agent, ada)], [200, 403])
  assert.deepEqual([await status(admin, admin.user), await status(admin, ada)], [200, 200])
})
