import assert from 'node:assert/strict'
import { createHmac, generateKeyPairSync } from 'node:crypto'
import { test } from 'node:test'
import { decodeJwt, decodeProtectedHeader, SignJWT, UnsecuredJWT } from 'jose'
import { makeWorld } from '../../test/world.ts'

const { app, call, parts, tenant, db } = await makeWorld()
const issuer = parts.publicUrl()
const account = await tenant()
const other = await tenant()

const user = async (owner: typeof account, status = 'ACTIVE'): Promise<string> => {
  const names = { first_name: 'Ada', last_name: 'L', email: 'ada@example.com', status }
  return (await call('operator', 'POST', `/operator/accounts/${owner.uuid}/users`, names)).body.user.uuid
}
const ada = await user(account)
const mint = (body: object) => call(account, 'POST', '/open/sdk/access-token', body)

test('a token is bound to one user, carries the label and expires when the answer says', async () => {
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

test('a missing user is 400; an unknown, foreign or inactive one is 404, all alike', async () => {
  assert.equal((await mint({})).status, 400)
  const strangers = ['USR01a1fcca-93ab-7cbc-9f10-be702f775479', 'USRnonsense', await user(other)]
  for (const status of ['PENDING_INVITE', 'SUSPENDED', 'DELETED']) strangers.push(await user(account, status))
  for (const uuid of strangers) {
    const { status, body } = await mint({ user_uuid: uuid })
    assert.equal(status, 404)
    assert.equal(body.error_message, `No active user ${uuid}`)
  }
})

test('over plain HTTP from elsewhere no token is given', async () => {
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

test('after a rotation new tokens are signed by the new key, and the old ones stay valid', async () => {
  const before = (await mint({ user_uuid: ada })).body.token
  const rotated = await call('operator', 'POST', '/operator/signing-keys')
  assert.equal(rotated.status, 201)
  const after = (await mint({ user_uuid: ada })).body.token
  assert.equal(decodeProtectedHeader(after).kid, rotated.body.signing_key.kid)
  assert.notEqual(decodeProtectedHeader(before).kid, decodeProtectedHeader(after).kid)
  assert.equal((await parts.tokens.verify(before, issuer)).user, ada)
  assert.equal((await parts.tokens.verify(after, issuer)).account, account.uuid)
})

test('no token but ours, unspoilt and current, is believed', async () => {
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
    await assert.rejects(parts.tokens.verify(token, issuer), `${name} was believed`)
  await assert.rejects(parts.tokens.verify(good, 'http://elsewhere'), 'the issuer was not asked for')
  const claimed = { user: ada, account: account.uuid, label: null }
  const expired = await db.begin((tx) => parts.tokens.mint(tx, claimed, issuer, -1))
  await assert.rejects(parts.tokens.verify(expired.token, issuer), 'an old one was believed')
})
