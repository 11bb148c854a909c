import assert from 'node:assert/strict'
import { test } from 'node:test'
import { makeWorld } from '../../../test/world.ts'
import { giveNumber } from '../../domains/sms/sms-testing.ts'
import { makeRequestShare } from '../../platform/jobs/request-share.ts'
import { printSid } from '../../platform/lib/sid.ts'
import { accessOf } from './callbacks/account-access.ts'
import { basic, makeTwilioWorld, sidOf } from './testing.ts'

const world = await makeTwilioWorld()
const { app, call, db, parts, tenant, credentials, ask } = world

const fetchWith = async (user: string, password: string, path = `/2010-04-01/Accounts/${user}.json`) =>
  (await app.inject({ url: path, headers: { authorization: basic(user, password) } })).statusCode

test('the interface is off for an account until it makes credentials, and then its keys work, too', async () => {
  const who = await tenant()
  assert.equal(await fetchWith(sidOf(who), who.key), 401)
  const { sid, token } = await credentials(who)
  assert.equal(sid, sidOf(who))
  assert.match(token, /^[0-9a-f]{32}$/)
  assert.equal(await fetchWith(sid, token), 200)
  assert.equal(await fetchWith(sid, who.key), 200)
})

test('requests of an account that does not use the interface count for its rate limit', async () => {
  const who = await tenant()
  await db.run`update accounts set requests_per_minute = 5 where id = ${who.id}`
  const statuses: number[] = []
  for (let n = 0; n < 10; n++) statuses.push(await fetchWith(sidOf(who), who.key))
  assert.deepEqual([statuses[0], statuses.at(-1)], [401, 429])
})

test('two tokens live at once, a third is refused, and a revoked one is refused at once', async () => {
  const who = await tenant()
  const [first, second] = [await credentials(who), await credentials(who)]
  const third = await call(who, 'POST', '/open/compat/credentials', {})
  assert.deepEqual([third.status, third.body.error_code], [409, 'too_many_tokens'])
  const listed = await call(who, 'GET', '/open/compat/credentials')
  assert.deepEqual(
    listed.body.credentials.map((one: { key_uuid: string; signs: boolean }) => [one.key_uuid, one.signs]),
    [
      [first.key, true],
      [second.key, false],
    ],
  )
  assert.equal((await call(who, 'DELETE', `/open/compat/credentials/${first.key}`)).status, 200)
  assert.equal(await fetchWith(first.sid, first.token), 401)
  assert.equal(await fetchWith(second.sid, second.token), 200)
  assert.equal((await call(who, 'DELETE', `/open/compat/credentials/${second.key}`)).status, 200)
  assert.equal(await fetchWith(first.sid, who.key), 401, 'without a token the interface is off')
})

test('an expired token does not count: the account makes the next one', async () => {
  const who = await tenant()
  const expires_at = new Date(Date.now() + 3_600_000).toISOString()
  const { body: made } = await call(who, 'POST', '/open/keys', { label: 'short', expires_at })
  for (let n = 0; n < 2; n++) await credentials({ ...who, key: made.key })
  await db.run`
    update api_keys set expires_at = now() - interval '1 second' where account_id = ${who.id} and expires_at is not null`
  assert.deepEqual((await call(who, 'GET', '/open/compat/credentials')).body.credentials, [])
  const { sid, token } = await credentials(who)
  assert.equal(await fetchWith(sid, token), 200)
})

test('an interface that the operator turned off makes no tokens, serves no path and calls no program', async () => {
  const off = await makeWorld({ TRUNKLINE_COMPAT: 'off' })
  const who = await off.tenant()
  const refused = await off.call(who, 'POST', '/open/compat/credentials', {})
  assert.deepEqual([refused.status, refused.body.error_code], [409, 'compat_off'])
  for (const path of [`/2010-04-01/Accounts/${sidOf(who)}.json`, '/v1/PhoneNumbers/1', '/v2/PhoneNumbers/1', '/v2/x'])
    assert.equal((await off.app.inject({ url: path })).statusCode, 404, path)
  const { signal } = new AbortController()
  const share = makeRequestShare()
  const user = await tenant()
  await credentials(user)
  assert.notEqual(await accessOf(parts, user.id, share, signal), null)
  assert.equal(await accessOf({ ...parts, config: { ...parts.config, compat: 'off' } }, user.id, share, signal), null)
})

test('a token is for its account alone, whatever the path says', async () => {
  const [ada, bob] = [await tenant(), await tenant()]
  const [own, other] = [await credentials(ada), await credentials(bob)]
  assert.equal(await fetchWith(other.sid, own.token), 401)
  assert.equal(await fetchWith(own.sid, own.token, `/2010-04-01/Accounts/${other.sid}.json`), 401)
  assert.equal(await fetchWith(own.sid, 'f'.repeat(32)), 401)
  const without = await app.inject({ url: `/2010-04-01/Accounts/${own.sid}.json` })
  assert.deepEqual([without.statusCode, without.json().code], [401, 20003])
})

test('a key has its scopes here, too', async () => {
  const who = await tenant()
  const { sid } = await credentials(who)
  const made = await call(who, 'POST', '/open/keys', { label: 'numbers', scopes: ['numbers'] })
  const answer = await ask({ sid, token: made.body.key, key: '' }, 'GET', '/Messages.json')
  assert.deepEqual([answer.status, answer.body.code], [403, 20403])
})

test('a token has the limits of the key that made it', async () => {
  const who = await tenant()
  const made = await call(who, 'POST', '/open/keys', { label: 'limited', scopes: ['develop', 'read_only'] })
  const { body } = await call({ ...who, key: made.body.key }, 'POST', '/open/compat/credentials', {})
  const own = { sid: body.account_sid, token: body.auth_token, key: body.key_uuid }
  assert.equal((await ask(own, 'GET', '.json')).status, 200)
  assert.equal((await ask(own, 'POST', '/Messages.json', { To: '+447911123456' })).body.code, 20403)
})

test('a key that may not read messages sets no address that gets them', async () => {
  const who = await tenant()
  const { sid } = await credentials(who)
  const { did } = await giveNumber(world, who)
  const { body: made } = await call(who, 'POST', '/open/keys', { label: 'numbers', scopes: ['numbers', 'read_only'] })
  const path = `/IncomingPhoneNumbers/${printSid('PN', did)}.json`
  const set = (fields: Record<string, string>) => ask({ sid, token: made.key, key: '' }, 'POST', path, fields)
  const refused = await set({ SmsUrl: 'http://127.0.0.1:8099/' })
  assert.deepEqual([refused.status, refused.body.code], [403, 20403])
  assert.equal((await set({ FriendlyName: 'Desk' })).body.friendly_name, 'Desk')
})

test('what is not offered answers 404 with code 20404 and a page that names what to use', async () => {
  const own = await credentials(await tenant())
  for (const path of ['/Queues.json', '/Conferences.json', '/Nothing']) {
    const { status, body } = await ask(own, 'POST', path, { To: '+447911123456' })
    assert.deepEqual([status, body.code, body.status], [404, 20404, 404], path)
    assert.match(body.more_info, /\/docs\/twilio#/)
  }
  assert.equal((await ask(own, 'GET', '/Messages.xml')).status, 406)
  assert.deepEqual(
    [(await ask(own, 'DELETE', '/Messages.json')).status, (await ask(own, 'GET', '/Messages.json')).status],
    [405, 200],
  )
})
