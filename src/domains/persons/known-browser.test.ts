import assert from 'node:assert/strict'
import { test } from 'node:test'
import { makeAuthenticator } from '../../../test/authenticator.ts'
import { type Browser, goodPassword, member } from '../../../test/persons.ts'
import { makeWorld } from '../../../test/world.ts'
import { activateApp, makeVisitors, sessionChanges } from './testing.ts'

const origin = 'http://localhost:8080'
const world = await makeWorld({ TRUNKLINE_WRONG_KEYS_PER_MINUTE: '300' }, {}, { publicUrl: () => origin })
const ada = await world.tenant()
const { cleanAddress, send, enter, markOf, exhaust } = makeVisitors(world)

test('the cookie of a known browser is HttpOnly and SameSite=Strict, and survives the end of the session', async () => {
  const { email } = await member(world, ada, 'agent')
  const answer = await world.app.inject({
    method: 'POST',
    url: '/console/session',
    payload: { email, password: goodPassword },
  })
  const [session = '', mark = ''] = [answer.headers['set-cookie'] ?? []].flat()
  assert.match(
    mark,
    /^trunkline-browser=[\w-]{22}~[0-9a-f-]{36}\.0\.[\w-]{43}; HttpOnly; SameSite=Strict; Path=\/; Max-Age=34560000$/,
  )
  const out = await send('127.0.0.1', '/console/session', undefined, session.split(';')[0], 'DELETE')
  assert.deepEqual(out.set, ['trunkline='])
})

test('a cookie that is forged, of another person or of another browser gives no attempts', async () => {
  const [one, other] = [await member(world, ada, 'agent'), await member(world, ada, 'agent')]
  const address = cleanAddress()
  const [mark, foreign] = [markOf(await enter(address, one.email)), markOf(await enter(address, other.email))]
  await exhaust(address)
  const [id = '', entry = ''] = mark.split('~')
  const [otherId = ''] = foreign.split('~')
  const forged = [
    foreign,
    id,
    `${otherId}~${entry}`,
    `${id}~${entry.slice(0, -1)}${entry.endsWith('A') ? 'B' : 'A'}`,
    `${id}~${entry.replace('.0.', '.1.')}`,
    `trunkline-browser=~${entry}`,
  ]
  for (const cookie of forged) assert.equal((await enter(address, one.email, goodPassword, cookie)).status, 429, cookie)
  assert.equal((await enter(address, one.email, goodPassword, mark)).status, 201)
})

test('one browser knows several persons', async () => {
  const people = [await member(world, ada, 'agent'), await member(world, ada, 'agent')]
  const address = cleanAddress()
  let mark: string | undefined
  for (const { email } of people) mark = markOf(await enter(address, email, goodPassword, mark))
  await exhaust(address)
  for (const { email } of people) assert.equal((await enter(address, email, goodPassword, mark)).status, 201)
})

const changes: Record<string, (browser: Browser) => Promise<unknown>> = {
  'a new password': (browser) =>
    browser.call('POST', '/console/me/password', { current: goodPassword, password: 'nine yellow kites fly' }),
  'the end of all other sessions': (browser) => browser.call('DELETE', '/console/sessions'),
  'a second factor that is set up': activateApp,
  'a second factor that is removed': async (browser) => {
    await activateApp(browser)
    await browser.call('DELETE', '/console/totp')
  },
  'a passkey that is removed': async (browser) => {
    const { options } = (await browser.call('POST', '/console/passkeys/options')).body
    const credential = makeAuthenticator(origin).register(options)
    const { passkey } = (await browser.call('POST', '/console/passkeys', { name: 'Phone', credential })).body
    assert.equal((await browser.call('DELETE', `/console/passkeys/${passkey.uuid}`)).status, 200)
  },
  'an operator who removes the second factor': (browser) =>
    world.call('operator', 'PATCH', `/operator/persons/${browser.boot.person.uuid}`, { second_factor: false }),
}

for (const [name, change] of Object.entries(changes))
  test(`${name} ends the other sessions of the person, and the marks of other browsers`, async () => {
    const browser = await member(world, ada, 'agent')
    const address = cleanAddress()
    const other = await enter(address, browser.email)
    const cookie = other.set[0]
    assert.equal((await send(address, '/console/session', undefined, cookie, 'GET')).status, 200)
    const before = await sessionChanges(world)
    await change(browser)
    assert.ok((await sessionChanges(world)) > before, 'every process is notified')
    assert.equal((await send(address, '/console/session', undefined, cookie, 'GET')).status, 401)
    await exhaust(address)
    assert.equal((await enter(address, browser.email, 'a wrong password', markOf(other))).status, 429)
  })

test('a passkey that is added ends no session', async () => {
  const browser = await member(world, ada, 'agent')
  const other = await enter('127.0.0.1', browser.email)
  const { options } = (await browser.call('POST', '/console/passkeys/options')).body
  const credential = makeAuthenticator(origin).register(options)
  assert.equal((await browser.call('POST', '/console/passkeys', { name: 'Phone', credential })).status, 201)
  assert.equal((await send('127.0.0.1', '/console/session', undefined, other.set[0], 'GET')).status, 200)
})

test('the browser in which the password is changed stays known, and its session stays open', async () => {
  const { email } = await member(world, ada, 'agent')
  const address = cleanAddress()
  const opened = await enter(address, email)
  const cookie = opened.set.join('; ')
  const body = { current: goodPassword, password: 'nine yellow kites fly' }
  const changed = await send(address, '/console/me/password', body, cookie)
  assert.equal(changed.status, 200)
  await exhaust(address)
  assert.equal((await enter(address, email, body.password, markOf(opened))).status, 429)
  assert.equal((await enter(address, email, body.password, markOf(changed))).status, 201)
})
