import assert from 'node:assert/strict'
import { test } from 'node:test'
import { makeAuthenticator } from '../../../test/authenticator.ts'
import { bytesOf } from '../../../test/authenticator-app.ts'
import { goodPassword, member, tokenOf } from '../../../test/persons.ts'
import { makeWorld } from '../../../test/world.ts'
import { makeKey } from '../../platform/lib/secret.ts'
import { makeHashQueue } from './hash-queue.ts'
import { maxPacedNames, paces } from './limits.ts'
import { codeAt, stepAt } from './second-factor/totp.ts'
import { makeSignInGate, type Visitor } from './sign-in-gate.ts'
import { activateApp, makeVisitors } from './testing.ts'

// An attacker who knows an e-mail address, or shares the network of a person, does not keep the person out.

const origin = 'http://localhost:8080'
const world = await makeWorld({ TRUNKLINE_WRONG_KEYS_PER_MINUTE: '300' }, {}, { publicUrl: () => origin })
const ada = await world.tenant()
const { cleanAddress, send, enter, markOf, attack, exhaust } = makeVisitors(world)

test('a stream of wrong passwords from changing addresses keeps no clean address out', async () => {
  const { email } = await member(world, ada, 'agent')
  const used = cleanAddress()
  for (let i = 0; i < paces.wrong.burst; i++) assert.equal((await enter(used, email, 'a wrong password')).status, 401)
  assert.equal((await enter(used, email)).status, 429, 'the address that guessed has to wait')
  await attack(email)
  assert.equal((await enter(cleanAddress(), email)).status, 201)
})

test('the spelling of an e-mail address gives no further attempts', async () => {
  const { email } = await member(world, ada, 'agent')
  await attack(email)
  const address = cleanAddress()
  const spellings = [email, email.toUpperCase(), ` ${email}`, email.replace('member', 'ｍember')]
  for (let i = 0; i < paces.clean.burst; i++)
    assert.equal((await enter(address, spellings[i] ?? email, 'a wrong password')).status, 401)
  for (const spelling of spellings) assert.equal((await enter(address, spelling)).status, 429, spelling)
})

test('a mistyped password does not keep a clean address out during an attack', async () => {
  const { email } = await member(world, ada, 'agent')
  await attack(email)
  const address = cleanAddress()
  for (let i = 1; i < paces.clean.burst; i++) assert.equal((await enter(address, email, 'mistyped')).status, 401)
  assert.equal((await enter(address, email)).status, 201)
})

test('a browser that signed in before has attempts of its own, also behind an address of attackers', async () => {
  const { email } = await member(world, ada, 'agent')
  const address = cleanAddress()
  const mark = markOf(await enter(address, email))
  await attack(email)
  await exhaust(address)
  assert.equal((await enter(address, email)).status, 429, 'a browser that is not known')
  assert.equal((await enter(address, email, goodPassword, mark)).status, 201)
  for (let i = 0; i < paces.wrong.burst; i++)
    assert.equal((await enter(cleanAddress(), email, 'a wrong password', mark)).status, 401)
  assert.equal((await enter(cleanAddress(), email, goodPassword, mark)).status, 429, 'its own attempts are bounded')
})

test('a person with a session proves and changes the password during an attack, behind an address of attackers', async () => {
  const { email, boot } = await member(world, ada, 'agent')
  const address = cleanAddress()
  const [session] = (await enter(address, email)).set
  await attack(email)
  await exhaust(address)
  assert.equal((await send(address, '/console/session/proof', { password: goodPassword }, session)).status, 200)
  const prepared = await send(address, '/console/totp', undefined, session)
  const code = codeAt(bytesOf(prepared.body.secret), stepAt(Date.now()))
  assert.equal((await send(address, '/console/totp/verify', { code }, session)).status, 200)
  const body = { current: goodPassword, password: 'nine yellow kites fly' }
  assert.equal((await send(address, '/console/me/password', body, session)).status, 200, boot.person.email)
})

test('keys and passkeys open sessions, and prove them, behind an address of attackers', async () => {
  const browser = await member(world, ada, 'agent')
  const address = cleanAddress()
  const device = makeAuthenticator(origin)
  const { options } = (await browser.call('POST', '/console/passkeys/options')).body
  const added = { name: 'Phone', credential: device.register(options) }
  assert.equal((await browser.call('POST', '/console/passkeys', added)).status, 201)
  const assertion = async () =>
    device.assert((await send('127.0.0.1', '/console/session/passkey/options')).body.options)
  await attack(browser.email)
  await exhaust(address)
  assert.equal((await send(address, '/console/session', { key: makeKey('UAK') })).status, 429)
  for (const key of [ada.key, world.operatorKey]) {
    const opened = await send(address, '/console/session', { key })
    assert.equal(opened.status, 201)
    assert.equal((await send(address, '/console/session/proof', { key }, opened.set[0])).status, 200)
  }
  const opened = await send(address, '/console/session', { passkey: await assertion() })
  assert.equal(opened.status, 201)
  const proof = { passkey: await assertion() }
  assert.equal((await send(address, '/console/session/proof', proof, opened.set[0])).status, 200)
})

test('an invited person joins a further account during an attack, from a clean address', async () => {
  const { email } = await member(world, ada, 'agent')
  const names = { first_name: 'G', last_name: 'H', email, role: 'agent' }
  const invited = await world.call(await world.tenant(), 'POST', '/open/members', names)
  const token = tokenOf(invited.body.invite_url)
  await attack(email)
  assert.equal(
    (await send(cleanAddress(), '/console/invitations/accept', { token, password: goodPassword })).status,
    201,
  )
})

test('an attacker with the password guesses few codes, and does not keep a known browser from giving its own', async () => {
  const browser = await member(world, ada, 'agent')
  const codes = await activateApp(browser)
  const mark = markOf(await enter('127.0.0.1', browser.email, goodPassword, undefined, codes[0]))
  for (let i = 0; i < paces.code.burst; i++)
    assert.equal((await enter(cleanAddress(), browser.email, goodPassword, undefined, '12345')).status, 401)
  assert.equal((await enter(cleanAddress(), browser.email, goodPassword, undefined, codes[1])).status, 429)
  assert.equal((await enter(cleanAddress(), browser.email, goodPassword, mark, codes[1])).status, 201)
})

test('guesses of one password are bounded: by address, by network of IPv6, and in all', async () => {
  let now = 0
  const gate = makeSignInGate(true, () => now)
  const email = 'ada@example.com'
  const guesses = async (visitors: Iterable<Partial<Visitor>>) => {
    let count = 0
    for (const visitor of visitors)
      await gate
        .attempt({ address: '192.0.2.1', email, known: null, isGone: () => false, ...visitor }, async () => {
          count++
          return false
        })
        .catch(() => {})
    return count
  }
  const from = (n: number) => Array.from({ length: n }, (_, i) => ({ address: `10.${i >> 8}.${i & 255}.1` }))
  const sites = Array.from({ length: 100 }, (_, i) => ({ address: `2001:db8:1:${i.toString(16)}::1` }))
  const often = Array.from({ length: 100 }, () => ({}))
  assert.equal(await guesses(often), paces.wrong.burst)
  assert.equal(await guesses(sites), paces.clean.burst, 'the addresses of one /48 share their attempts')
  const inAll = await guesses([...from(2_000), ...from(2_000), ...from(2_000)])
  assert.equal(inAll, paces.cleanInAll.burst - paces.clean.burst)
  assert.equal(await guesses([{ known: 'a browser' }]), 1)
  let inHour = 0
  for (; now < 3_600_000; now += 10_000) inHour += await guesses([{}])
  assert.ok(inHour <= 100, `${inHour} in an hour by one address`)
})

test('names that cost no password check restore no guesses at a person', async () => {
  let now = 0
  const gate = makeSignInGate(true, () => now)
  const email = 'guessed@example.com'
  let guessed = 0
  const guess = async (address: string) =>
    gate
      .attempt({ address, email, known: null, isGone: () => false }, async () => {
        guessed++
        return false
      })
      .catch(() => {})
  for (let round = 0; round < 3; round++) {
    for (let i = 0; i < 30; i++) await guess(`2001:db8:1:${(round * 30 + i).toString(16)}::1`)
    for (let i = 0; i < maxPacedNames; i++) {
      const address = `2001:db8:1:${i.toString(16)}::1`
      try {
        gate.failed(address)
        gate.admitMail(address, `x${i}@example.com`)
      } catch {}
    }
    now += 1_000
  }
  assert.ok(guessed <= paces.wrong.burst + paces.clean.burst, `${guessed} guesses`)
})

test('a person who signs in all the time leaves turns to strangers', async () => {
  const queue = makeHashQueue({ running: 2, waiting: 100, full: () => new Error('full') })
  const order: string[] = []
  const check = (name: string, rank: number, keys: string[]) =>
    queue.run({ rank, keys, isGone: () => false }, async () => void order.push(name))
  const person = Array.from({ length: 20 }, (_, i) => check('person', 0, [`browser ${i}`, 'known ada']))
  await Promise.all([...person, check('stranger', 1, ['address 1', 'email bob'])])
  assert.ok(order.indexOf('stranger') <= 4, order.join(' '))
  assert.equal(order.length, 21)
})
