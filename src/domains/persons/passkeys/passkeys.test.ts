import assert from 'node:assert/strict'
import { test } from 'node:test'
import { makeAuthenticator } from '../../../../test/authenticator.ts'
import { type Browser, callAs, claim, member } from '../../../../test/persons.ts'
import { makeWorld } from '../../../../test/world.ts'
import { relyingPartyOf } from './relying-party.ts'

const origin = 'https://t.example'
const world = await makeWorld({}, {}, { publicUrl: () => origin })
const ada = await world.tenant()
await claim(world, 'olive@example.com')

const outcome = ({ status, body }: { status: number; body: { error_code?: string } }) => [status, body.error_code]
const wrong = [401, 'unauthorized']

const add = async (browser: Browser, device = makeAuthenticator(origin)) => {
  const { options } = (await browser.call('POST', '/console/passkeys/options')).body
  const body = { name: 'Phone', credential: device.register(options) }
  const added = await browser.call('POST', '/console/passkeys', body)
  return { device, options, body, added }
}

const signInOptions = async () => (await callAs(world, null, 'POST', '/console/session/passkey/options')).body.options

const enter = (passkey: object) => callAs(world, null, 'POST', '/console/session', { passkey })

test('passkeys work over HTTPS by name and at localhost, and never at an address', () => {
  assert.deepEqual(relyingPartyOf('https://t.example/base'), { id: 't.example', origin: 'https://t.example' })
  assert.deepEqual(relyingPartyOf('http://localhost:8080'), { id: 'localhost', origin: 'http://localhost:8080' })
  for (const url of ['http://t.example', 'https://192.0.2.1', 'https://[2001:db8::1]', 'http://127.0.0.1:8080'])
    assert.equal(relyingPartyOf(url), null, url)
})

test('a passkey signs in without a password; its challenge counts once, and its counter must grow', async () => {
  const browser = await member(world, ada, 'owner', 'pat@example.com')
  assert.equal(browser.boot.installation.passkeys, true)
  const { device, options, body, added } = await add(browser)
  assert.equal(added.status, 201, JSON.stringify(added.body))
  assert.deepEqual(
    [options.rp.id, options.authenticatorSelection.residentKey, options.authenticatorSelection.userVerification],
    ['t.example', 'required', 'required'],
  )
  assert.deepEqual(outcome(await browser.call('POST', '/console/passkeys', body)), [400, 'wrong_passkey'])
  const answer = device.assert(await signInOptions())
  const entered = await enter(answer)
  assert.deepEqual([entered.status, entered.body.person?.email], [201, 'pat@example.com'])
  assert.deepEqual(outcome(await enter(answer)), wrong)
  assert.deepEqual(outcome(await enter(device.assert(await signInOptions(), { counter: 1 }))), wrong)
  assert.deepEqual(
    outcome(await enter(device.assert(await signInOptions(), { counter: 9, isUnverified: true }))),
    wrong,
  )
  const elsewhere = { counter: 9, origin: 'https://evil.example' }
  assert.deepEqual(outcome(await enter(device.assert(await signInOptions(), elsewhere))), wrong)
})

test('a passkey is a fresh proof of its person alone, and ends when it is removed', async () => {
  const [one, other] = [await member(world, ada, 'owner', 'one@example.com'), await member(world, ada, 'agent')]
  const { device, options, added } = await add(one)
  const prove = async (browser: Browser) =>
    browser.call('POST', '/console/session/proof', { passkey: device.assert(await signInOptions()) })
  assert.equal((await prove(one)).status, 200)
  assert.deepEqual(outcome(await prove(other)), wrong)
  const forOne = { name: 'Mine', credential: makeAuthenticator(origin).register(options) }
  assert.deepEqual(outcome(await other.call('POST', '/console/passkeys', forOne)), [400, 'wrong_passkey'])
  const { members } = (await one.call('GET', '/open/members')).body
  assert.equal(members.find(({ email }: { email: string }) => email === 'one@example.com').person.passkeys, 1)
  const url = `/console/passkeys/${added.body.passkey.uuid}`
  assert.equal((await other.call('DELETE', url)).status, 404)
  assert.equal((await one.call('DELETE', url)).status, 200)
  assert.deepEqual(outcome(await enter(device.assert(await signInOptions()))), wrong)
  const { acts } = (await one.call('GET', '/open/audit')).body
  const actions = acts.map(({ action }: { action: string }) => action)
  for (const action of ['createPasskey', 'proveSession', 'proofRefused', 'deletePasskey'])
    assert.ok(actions.includes(action), action)
})

test('an installation at an address offers no passkeys, and says so', async () => {
  const plain = await makeWorld()
  const browser = await member(plain, await plain.tenant(), 'owner')
  assert.equal(browser.boot.installation.passkeys, false)
  assert.deepEqual((await browser.call('GET', '/console/passkeys')).body, { success: true, passkeys: [] })
  for (const url of ['/console/passkeys/options', '/console/session/passkey/options'])
    assert.deepEqual(outcome(await browser.call('POST', url)), [403, 'passkeys_unavailable'])
})
