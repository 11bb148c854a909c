import assert from 'node:assert/strict'
import { test } from 'node:test'
import { bytesOf } from '../../../../test/authenticator-app.ts'
import { acceptLink, type Browser, callAs, claim, goodPassword, member, signIn } from '../../../../test/persons.ts'
import { makeWorld } from '../../../../test/world.ts'
import { base32, codeAt, stepAt, stepOf } from './totp.ts'

const world = await makeWorld()
const { db, call } = world
const ada = await world.tenant()
const operator = await claim(world, 'olive@example.com')

/** Sets up the app of a person. */
const activate = async (browser: Browser) => {
  const prepared = await browser.call('POST', '/console/totp')
  assert.equal(prepared.status, 201, JSON.stringify(prepared.body))
  const secret = bytesOf(prepared.body.secret)
  // The code of this step and of the next one are valid for half a minute more, however slow the machine is.
  const now = stepAt(Date.now()) + 1
  const verified = await browser.call('POST', '/console/totp/verify', { code: codeAt(secret, now - 1) })
  assert.equal(verified.status, 200, JSON.stringify(verified.body))
  return { secret, now, prepared, codes: verified.body.recovery_codes as string[] }
}

const enter = (email: string, code?: string, password = goodPassword) =>
  callAs(world, null, 'POST', '/console/session', { email, password, ...(code === undefined ? {} : { code }) })

const outcome = ({ status, body }: { status: number; body: { error_code?: string } }) => [status, body.error_code]

test('codes are those of RFC 6238, appendix B, and a code is valid one step before and after its own', () => {
  const secret = Buffer.from('12345678901234567890')
  const vectors = [
    [59, '94287082'],
    [1111111109, '07081804'],
    [1111111111, '14050471'],
    [1234567890, '89005924'],
    [2000000000, '69279037'],
    [20000000000, '65353130'],
  ] as const
  for (const [seconds, code] of vectors) assert.equal(codeAt(secret, stepAt(seconds * 1_000), 8), code)
  assert.equal(base32(secret), 'GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ')
  assert.deepEqual(bytesOf(base32(secret)), secret)
  const at = (seconds: number) => stepOf(secret, '050471', seconds * 1_000)
  const own = stepAt(1_111_111_111_000)
  assert.deepEqual([1111111079, 1111111080, 1111111169, 1111111170].map(at), [null, own, own, null])
  assert.equal(stepOf(secret, '28708２', 59_000), null)
})

test('a person with a second factor signs in with the password and a code, and each code works once', async () => {
  const browser = await member(world, ada, 'owner', 'tess@example.com')
  const { secret, now, prepared, codes } = await activate(browser)
  assert.match(
    prepared.body.otpauth_url,
    /^otpauth:\/\/totp\/Trunkline:tess%40example\.com\?secret=[A-Z2-7]{32}&issuer=/,
  )
  assert.equal(codes.length, 10)
  assert.equal(new Set(codes).size, 10)
  assert.deepEqual(outcome(await enter('tess@example.com')), [403, 'second_factor_required'])
  assert.deepEqual(outcome(await enter('tess@example.com', undefined, 'a wrong password')), [401, 'unauthorized'])
  // The code of the activation was used.
  assert.deepEqual(outcome(await enter('tess@example.com', codeAt(secret, now - 1))), [401, 'wrong_code'])
  const code = codeAt(secret, now)
  const both = await Promise.all([enter('tess@example.com', code), enter('tess@example.com', code)])
  assert.deepEqual(both.map(({ status }) => status).sort(), [201, 401])
  const [first = ''] = codes
  assert.equal((await enter('tess@example.com', first.toUpperCase().replaceAll('-', ' '))).status, 201)
  assert.deepEqual(outcome(await enter('tess@example.com', first)), [401, 'wrong_code'])
  const shown = await browser.call('GET', '/console/totp')
  assert.deepEqual([shown.body.active, shown.body.recovery_codes_left], [true, 9])
  const { members } = (await browser.call('GET', '/open/members')).body
  assert.equal(members.find(({ email }: { email: string }) => email === 'tess@example.com').person.second_factor, true)
})

test('the second factor holds for links too: a password link and an invitation need the code', async () => {
  const browser = await member(world, ada, 'agent', 'link@example.com')
  const { codes } = await activate(browser)
  const person = browser.boot.person.uuid
  const link = await operator.call('POST', `/operator/persons/${person}/password-link`)
  const url = link.body.password_url
  const password = 'nine yellow kites fly'
  assert.deepEqual(outcome(await acceptLink(world, url, { password })), [403, 'second_factor_required'])
  const wrong = await acceptLink(world, url, { password, code: '000 00' })
  assert.deepEqual(outcome(wrong), [401, 'wrong_code'])
  assert.equal((await acceptLink(world, url, { password, code: codes[0] })).status, 201)

  const bob = await world.tenant()
  const fields = { first_name: 'Li', last_name: 'Nk', email: 'link@example.com', role: 'agent' }
  const invited = await call(bob, 'POST', '/open/members', fields)
  const join = invited.body.invite_url
  assert.deepEqual(outcome(await acceptLink(world, join, { password })), [403, 'second_factor_required'])
  assert.equal((await acceptLink(world, join, { password, code: codes[1] })).status, 201)
})

test('a recovery code is of its person alone', async () => {
  const [one, other] = [
    await member(world, ada, 'agent', 'r1@example.com'),
    await member(world, ada, 'agent', 'r2@example.com'),
  ]
  const [own, foreign] = [await activate(one), await activate(other)]
  assert.deepEqual(outcome(await enter('r1@example.com', foreign.codes[0])), [401, 'wrong_code'])
  const left = async (browser: Browser) => (await browser.call('GET', '/console/totp')).body.recovery_codes_left
  assert.deepEqual([await left(one), await left(other)], [10, 10])
  assert.equal((await enter('r1@example.com', own.codes[0])).status, 201)
  assert.deepEqual([await left(one), await left(other)], [9, 10])
})

test('wrong codes are paced like wrong passwords', async () => {
  const browser = await member(world, ada, 'agent', 'pace@example.com')
  const { secret, now } = await activate(browser)
  for (let tries = 0; tries < 5; tries++)
    assert.deepEqual(outcome(await enter('pace@example.com', '12345')), [401, 'wrong_code'])
  const paced = await enter('pace@example.com', codeAt(secret, now))
  assert.deepEqual(outcome(paced), [429, 'sign_in_pace'])
})

test('setting up and removing need a fresh proof; an operator removes the factor of a person who lost it', async () => {
  const browser = await member(world, ada, 'agent', 'lost@example.com')
  await activate(browser)
  assert.deepEqual(outcome(await browser.call('POST', '/console/totp')), [409, 'second_factor_exists'])
  await db.run`
    update sessions set proved_at = proved_at - interval '15 minutes' where id = ${browser.boot.session_uuid.slice(3)}`
  await db.begin((tx) => world.parts.changes.invalidate(tx, 'sessions'))
  const refused = await browser.call('DELETE', '/console/totp')
  assert.deepEqual(outcome(refused), [403, 'reauthentication_required'])
  assert.deepEqual(outcome(await browser.call('POST', '/console/totp')), [403, 'reauthentication_required'])
  const url = `/operator/persons/${browser.boot.person.uuid}`
  const changed = await operator.call('PATCH', url, { second_factor: false })
  assert.deepEqual([changed.status, changed.body.person.second_factor], [200, false])
  assert.equal((await enter('lost@example.com')).status, 201)
})

test('the audit trail shows each act on the second factor, and neither secrets nor codes', async () => {
  const cora = await world.tenant()
  const owner = await member(world, cora, 'owner', 'cora@example.com')
  const { prepared, codes } = await activate(owner)
  await enter('cora@example.com', '12345')
  await signIn(world, { email: 'cora@example.com', password: goodPassword, code: codes[0] })
  assert.equal((await owner.call('DELETE', '/console/totp')).status, 200)
  const { acts } = (await owner.call('GET', '/open/audit')).body
  assert.deepEqual(
    acts.slice(0, 5).map(({ action }: { action: string }) => action),
    ['removeSecondFactor', 'signIn', 'signInRefused', 'activateSecondFactor', 'prepareSecondFactor'],
  )
  const rows = await db.many`select * from audit`
  const stored = JSON.stringify([acts, rows])
  for (const secret of [prepared.body.secret, ...codes]) assert.ok(!stored.includes(secret))
  const sealed = JSON.stringify(await db.many`select * from recovery_codes`)
  assert.ok(codes.every((code) => !sealed.includes(code)))
})
