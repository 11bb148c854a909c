import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  accept,
  acceptLink,
  callAs,
  claim,
  cookieOf,
  freshClaim,
  goodPassword,
  member,
  signIn,
  tokenOf,
} from '../../../test/persons.ts'
import { makeWorld } from '../../../test/world.ts'
import { maxPacedNames, paces } from './limits.ts'
import { makeSignInGate } from './sign-in-gate.ts'

const world = await makeWorld({ TRUNKLINE_WRONG_KEYS_PER_MINUTE: '300' })
const { db, call, operatorKey } = world
const ada = await world.tenant()

test('of fifty claims at once, one makes the first person; the others are answered 410', async () => {
  const token = await freshClaim(world)
  const tries = Array.from({ length: 50 }, (_, i) =>
    callAs(world, null, 'POST', '/console/claim', {
      token,
      name: 'Olive',
      email: `claim.${i}@example.com`,
      password: goodPassword,
    }),
  )
  const answers = await Promise.all(tries)
  const codes = answers.map(({ status, body }) => `${status} ${body.error_code ?? ''}`).sort()
  assert.deepEqual(codes, ['201 ', ...Array.from({ length: 49 }, () => '410 already_claimed')])
  const { n } = await db.one<{ n: number }>`select count(*)::integer as n from persons`
  assert.equal(n, 1)
  assert.deepEqual((await call(null, 'GET', '/console/claim')).body, { success: true, claimed: true, smtp: false })
})

test('only the token of a claim link claims the installation', async () => {
  await freshClaim(world)
  const body = { first_name: 'In', last_name: 'Vited', email: 'invited@example.com', role: 'owner' }
  const invited = await call(ada, 'POST', '/open/members', body)
  const password = (await call(ada, 'POST', `/open/members/${(await member(world, ada, 'agent')).user}/invitation`))
    .body
  for (const url of [invited.body.invite_url, password.invite_url]) {
    const claimed = await callAs(world, null, 'POST', '/console/claim', {
      ...{ token: tokenOf(url), name: 'Eve', email: 'eve@example.com', password: goodPassword },
    })
    assert.ok([401, 404].includes(claimed.status), JSON.stringify(claimed.body))
    assert.equal((await callAs(world, null, 'POST', '/console/invitations/show', { token: tokenOf(url) })).status, 200)
  }
  assert.equal((await callAs(world, null, 'GET', '/console/claim')).body.claimed, false)
  await claim(world, 'olive.again@example.com')
})

test('the cookie of a session is HttpOnly and SameSite=Strict, and over HTTPS Secure with the prefix __Host-', async () => {
  const opened = await callAs(world, null, 'POST', '/console/session', { key: ada.key })
  assert.match(
    String(opened.headers['set-cookie']),
    /^trunkline=[\w-]{43}; HttpOnly; SameSite=Strict; Path=\/; Max-Age=1209600$/,
  )
  const behindProxy = await makeWorld(
    { TRUNKLINE_TRUST_PROXY: 'loopback' },
    {},
    { publicUrl: () => 'https://t.example' },
  )
  const owner = await behindProxy.tenant()
  const headers = { 'x-forwarded-proto': 'https', 'x-forwarded-for': '192.0.2.9', origin: 'https://t.example' }
  const secure = await callAs(behindProxy, null, 'POST', '/console/session', { key: owner.key }, headers)
  assert.match(
    String(secure.headers['set-cookie']),
    /^__Host-trunkline=[\w-]{43}; Secure; HttpOnly; SameSite=Strict; Path=\/; Max-Age=1209600$/,
  )
  const plain = { ...headers, 'x-forwarded-proto': 'http' }
  const refused = await callAs(behindProxy, null, 'POST', '/console/session', { key: owner.key }, plain)
  assert.deepEqual([refused.status, refused.body.error_code], [403, 'https_required'])
  const used = await callAs(behindProxy, cookieOf(secure), 'GET', '/console/session', undefined, plain)
  assert.deepEqual([used.status, used.body.error_code], [403, 'https_required'])
  const renamed = cookieOf(secure).replace('__Host-', '')
  assert.equal((await callAs(behindProxy, cookieOf(secure), 'GET', '/console/session', undefined, headers)).status, 200)
  assert.equal((await callAs(behindProxy, renamed, 'GET', '/console/session', undefined, headers)).status, 401)
})

test('a session of a key has the rights of the key, and ends when the key is revoked', async () => {
  const created = await call(ada, 'POST', '/open/keys', { label: 'narrow', scopes: ['develop'] })
  const browser = await signIn(world, { key: created.body.key })
  assert.equal(browser.boot.kind, 'account-key')
  assert.deepEqual(browser.boot.accounts, [
    { uuid: ada.uuid, name: browser.boot.accounts[0].name, capabilities: ['develop'] },
  ])
  assert.equal((await browser.call('GET', '/open/keys')).status, 200)
  const refused = await browser.call('GET', '/open/members')
  assert.deepEqual([refused.status, refused.body.error_code], [403, 'role'])
  const wider = await browser.call('POST', '/open/keys', { label: 'wide' }, { 'x-account': ada.uuid })
  assert.equal(wider.status, 201)
  assert.deepEqual(wider.body.scopes, ['develop'])
  await call(ada, 'DELETE', `/open/keys/${created.body.uuid}`)
  const ended = await browser.call('GET', '/console/session')
  assert.deepEqual([ended.status, ended.body.error_code], [401, 'session_expired'])
})

test('a session of an operator key operates the installation, and enters an account only by name', async () => {
  const browser = await signIn(world, { key: operatorKey })
  assert.deepEqual([browser.boot.kind, browser.boot.operator, browser.boot.accounts], ['operator-key', 'operator', []])
  assert.equal((await browser.call('GET', '/operator/accounts')).status, 200)
  const unnamed = await browser.call('GET', '/open/info')
  assert.deepEqual([unnamed.status, unnamed.body.error_code], [400, 'account_required'])
  assert.equal((await browser.call('GET', '/open/info', undefined, { 'x-account': ada.uuid })).status, 200)
})

test('a request with a key and a session is refused, and so is a session that names a foreign account', async () => {
  const browser = await signIn(world, { key: ada.key })
  const both = await browser.call('GET', '/open/info', undefined, { 'x-user-api-key': ada.key })
  assert.deepEqual([both.status, both.body.error_code], [400, 'invalid_request'])
  const other = await world.tenant()
  const ask = async (account: string) => {
    const { status, body } = await browser.call('GET', '/open/info', undefined, { 'x-account': account })
    return { status, ...body, request_id: '' }
  }
  const [foreign, missing] = [await ask(other.uuid), await ask('ACC01a1fcca-93ab-7cbc-9f10-be702f775479')]
  assert.deepEqual(foreign, missing)
  assert.deepEqual([foreign.status, foreign.error_code], [403, 'role'])
})

test('an invited person joins with a password, signs in again, and joins a second account with the same one', async () => {
  const first = await member(world, ada, 'agent', 'Grace@Example.com')
  assert.equal(first.boot.person.email, 'Grace@Example.com')
  assert.deepEqual(
    first.boot.accounts.map(({ role, capabilities }: { role: string; capabilities: string[] }) => [role, capabilities]),
    [['agent', ['inbox', 'inbox.all']]],
  )
  const again = await signIn(world, { email: 'grace@example.com', password: goodPassword })
  assert.equal(again.boot.person.uuid, first.boot.person.uuid)
  const other = await world.tenant()
  const invited = await call(other, 'POST', '/open/members', {
    first_name: 'G',
    last_name: 'H',
    email: 'grace@example.com',
    role: 'billing',
  })
  const token = tokenOf(invited.body.invite_url)
  const shown = await callAs(world, null, 'POST', '/console/invitations/show', { token })
  assert.deepEqual([shown.status, shown.body.email, shown.body.kind], [200, 'grace@example.com', 'invite'])
  const takeover = await acceptLink(world, token, { password: 'another long password', existing: true })
  assert.equal(takeover.status, 401, 'an invitation does not replace the password of a person')
  const joined = await accept(world, invited.body.invite_url)
  assert.equal(joined.boot.accounts.length, 2)
  const used = await acceptLink(world, token, { password: goodPassword })
  assert.deepEqual([used.status, used.body.error_code], [409, 'invitation_used'])
  const unnamed = await joined.call('GET', '/open/info')
  assert.deepEqual([unnamed.status, unnamed.body.error_code], [400, 'account_required'])
})

test('weak passwords are refused: short, common, with a year, in a row, or of the person’s own words', async () => {
  const { body } = await call(ada, 'POST', '/open/members', {
    first_name: 'Ada',
    last_name: 'Lovelace',
    email: 'ada.lovelace@example.com',
  })
  for (const password of [
    'short',
    'Liverpool2024',
    'chocolatecake',
    'Manchester1999!',
    'Chelsea123456!',
    'Passw0rd12345',
    'P4$$w0rd!P4$$w0rd!',
    'qwertyuiop12',
    '123456789012',
    'adalovelace12',
    'Lovelace.Ada.1',
    'trunkline2026!',
    'abcabcabcabc',
    'a'.repeat(200),
  ]) {
    const answer = await acceptLink(world, body.invite_url, { password })
    assert.deepEqual([answer.status, answer.body.error_code], [400, 'weak_password'], password)
  }
  const browser = await accept(world, body.invite_url, '8#k9Qz!2m$7w')
  const change = { current: '8#k9Qz!2m$7w', password: 'Liverpool2024' }
  const refused = await browser.call('POST', '/console/me/password', change)
  assert.deepEqual([refused.status, refused.body.error_code], [400, 'weak_password'])
})

test('strong passwords are accepted: unrelated words, random signs, and other scripts', async () => {
  const browser = await member(world, ada, 'agent')
  let current = goodPassword
  for (const password of [
    'x7Kq9vTz2LmN',
    'correct horse battery',
    'синий кот читает',
    '猫が窓から雨を見ています',
    '1!0$4@3715'.repeat(20),
  ]) {
    const changed = await browser.call('POST', '/console/me/password', { current, password })
    assert.equal(changed.status, 200, password)
    current = password
  }
})

test('a password link that an account made ends when the person joins another account or operates the installation', async () => {
  const other = await world.tenant()
  const victim = await member(world, ada, 'agent', 'victim@example.com')
  const link = async () => (await call(ada, 'POST', `/open/members/${victim.user}/invitation`)).body.invite_url
  const take = (url: string) => acceptLink(world, url, { password: 'eleven quiet owls hunt' })

  const early = await link()
  const person = victim.boot.person.uuid
  const change = (operator: string | null) => call('operator', 'PATCH', `/operator/persons/${person}`, { operator })
  assert.equal((await change('operator')).status, 200)
  assert.equal((await take(early)).status, 404, 'the person operates the installation now')
  assert.equal((await change(null)).status, 200)

  const late = await link()
  const body = { first_name: 'V', last_name: 'W', email: 'victim@example.com', role: 'owner' }
  await accept(world, (await call(other, 'POST', '/open/members', body)).body.invite_url)
  assert.equal((await take(late)).status, 404, 'the person belongs to another account now')
  assert.equal((await call(ada, 'POST', `/open/members/${victim.user}/invitation`)).body.error_code, 'operator_needed')
  await signIn(world, { email: 'victim@example.com', password: goodPassword })
})

test('wrong sign-ins are answered alike whether the person exists or not, then paced', async () => {
  const known = await member(world, ada, 'billing')
  const wrong = async (email: string, remoteAddress: string) => {
    const answer = await world.app.inject({
      method: 'POST',
      url: '/console/session',
      remoteAddress,
      headers: { 'x-trunkline-console': '1' },
      payload: { email, password: 'a wrong password' },
    })
    return { status: answer.statusCode, body: answer.json(), headers: answer.headers }
  }
  assert.equal((await wrong('nobody@example.com', '198.51.100.1')).status, 403, 'plain HTTP from another machine')
  const pairs: Awaited<ReturnType<typeof wrong>>[][] = []
  for (let i = 1; i < paces.wrong.burst; i++)
    pairs.push([await wrong(known.email, `127.0.0.${i}`), await wrong(`nobody${i}@example.com`, `127.0.0.${i}`)])
  for (const [one, other] of pairs) {
    assert.deepEqual({ ...one?.body, request_id: '' }, { ...other?.body, request_id: '' })
    assert.equal(one?.status, 401)
  }
  const rest = await Promise.all(Array.from({ length: 20 }, () => wrong(known.email, '127.0.0.1')))
  const statuses = rest.map(({ status }) => status)
  assert.ok(statuses.filter((status) => status === 401).length <= paces.wrong.burst, statuses.join())
  const paced = rest.find(({ status }) => status === 429)
  assert.equal(paced?.body.error_code, 'sign_in_pace')
  assert.match(String(paced?.headers['retry-after']), /^(?:[1-9]|[123]\d|40)$/)
})

test('a right key opens sessions only so fast', () => {
  let now = 0
  const gate = makeSignInGate(true, () => now)
  for (let i = 0; i < paces.opening.burst; i++) gate.admit('a key')
  assert.throws(() => gate.admit('a key'), { code: 'sign_in_pace' })
  gate.admit('another key')
  now += 1_000
  gate.admit('a key')
})

test('invented addresses do not restore the attempts of a person', async () => {
  const gate = makeSignInGate(true, () => 0)
  const wrong = (address: string, email: string) =>
    gate.attempt({ address, email, known: null, isGone: () => false }, async () => false)
  for (let i = 0; i < paces.wrong.burst; i++) await wrong('192.0.2.1', 'victim@example.com')
  for (let i = 0; i < maxPacedNames; i++) await wrong('192.0.2.1', `${i}@example.com`).catch(() => {})
  for (let i = 0; i < paces.clean.burst; i++) await wrong('192.0.2.2', 'victim@example.com')
  await assert.rejects(wrong('192.0.2.2', 'victim@example.com'), { code: 'sign_in_pace' })
})
