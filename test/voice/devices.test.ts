import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { answer, dial, receivesTone } from '../../src/adapters/sip-gateway/testing.ts'
import { startPlatform, until } from '../platform.ts'
import { activeUsers, credentialsOf, freePortSettings, openBrowserUser } from './voice-fixture.ts'

// Registrations: which device replaces which, and which is admitted.

const platform = await startPlatform(undefined, freePortSettings)
after(() => platform.end())
const [ada = '', grace = ''] = await activeUsers(platform)

test('a second Device replaces the first, which never wins again however often it tries', async (t) => {
  const first = await openBrowserUser(t, platform, ada)
  assert.match(await first.register(), /^200/)
  const second = await openBrowserUser(t, platform, ada)
  assert.match(await second.register(), /^200/)
  assert.ok(second.sip.generation > first.sip.generation)
  assert.equal(await until(async () => first.web.code), 4001)
  for (let attempt = 0; attempt < 5; attempt++) {
    await first.web.connect()
    assert.match(await first.register(), /^403/)
    first.web.cut()
  }
  const caller = await openBrowserUser(t, platform, grace)
  assert.match(await caller.register(), /^200/)
  const softphone = await caller.softphone()
  const { dialled } = await dial(caller.web, caller.dialOptions(ada), softphone)
  const call = await until(async () => second.web.calls.shift())
  const theirs = await second.softphone()
  await answer(call, theirs)
  const session = await until(async () => dialled.session)
  softphone.sendTone(1_000)
  theirs.sendTone(620)
  await Promise.all([receivesTone(softphone, 620), receivesTone(theirs, 1_000)])
  assert.equal(first.web.calls.length, 0)
  await session.bye()
  const [cdr] = await until(async () => {
    const { cdrs } = (await platform.call('GET', '/open/voip/call-history')).body
    return cdrs[0]?.active === false && cdrs
  })
  assert.deepEqual([cdr.is_sip_trunk_call, cdr.status, cdr.call_cost.call_price], [false, 'COMPLETED', 0])
})

test('credentials of one user with the identity of another, a wrong password, and an unknown token are refused', async (t) => {
  const person = await openBrowserUser(t, platform, ada)
  const others = await credentialsOf(platform, grace)
  assert.match(await person.register({ ...person.sip, ...others, uri: person.sip.uri }), /^403/)
  assert.match(await person.register({ ...person.sip, password: 'guess' }), /^40[13]/)
  // Accepting a generation that was never issued would lock out every later device.
  const forged = { ...person.sip, generation: 999_999_999_999_999 }
  assert.match(await person.register(forged), /^403 X-Device-Gen/)
  assert.match(await person.register({ ...person.sip, generation: null }), /^403 X-Device-Gen/)
  assert.match(await person.register(), /^200/)
  const answer = await fetch(`${platform.url}/open/sdk/credentials`, {
    method: 'POST',
    headers: { authorization: 'Bearer junk' },
  })
  assert.equal(answer.status, 401)
})

test('a revoked token invalidates its credentials: the registration ends within a second and cannot be renewed', async (t) => {
  const { body } = await platform.call('POST', '/open/sdk/access-token', { user_uuid: ada })
  const leaked = await openBrowserUser(t, platform, ada, body.token)
  assert.match(await leaked.register(), /^200/)
  const bystander = await openBrowserUser(t, platform, grace)
  assert.match(await bystander.register(), /^200/)
  const began = Date.now()
  assert.equal((await platform.call('POST', '/open/sdk/revocations', { token: body.token })).status, 200)
  assert.equal(await until(async () => leaked.web.code), 4002)
  // The promise is one second; a busy machine is given more.
  assert.ok(Date.now() - began < 8_000)
  await leaked.web.connect()
  assert.match(await leaked.register(), /^403/)
  assert.match(await bystander.register(), /^200/)
})

test('when all tokens of a user are revoked, calls end, too, and old credentials cannot be reused with a guessed generation', async (t) => {
  const [thief, caller] = [await openBrowserUser(t, platform, ada), await openBrowserUser(t, platform, grace)]
  for (const person of [thief, caller]) assert.match(await person.register(), /^200/)
  const softphone = await caller.softphone()
  const { dialled } = await dial(caller.web, caller.dialOptions(ada), softphone)
  const call = await until(async () => thief.web.calls.shift())
  const theirs = await thief.softphone()
  await answer(call, theirs)
  await until(async () => dialled.session)
  assert.equal((await platform.call('POST', '/open/sdk/revocations', { user_uuid: ada })).status, 200)
  assert.equal(await until(async () => thief.web.code), 4002)
  const cdr = await until(async () => {
    const [newest] = (await platform.call('GET', '/open/voip/call-history')).body.cdrs
    return newest.active === false && newest
  })
  assert.equal(cdr.to_number, ada)
  await thief.web.connect()
  const { generation } = thief.sip
  for (const guess of [generation, generation + 1, generation + 2])
    assert.match(await thief.register({ ...thief.sip, generation: guess }), /^403/)
  // New tokens make valid credentials, and the old password does not match their generation either.
  const fresh = await openBrowserUser(t, platform, ada)
  assert.match(await thief.register({ ...thief.sip, generation: fresh.sip.generation }), /^403/)
  assert.match(await fresh.register(), /^200/)
  assert.match(await fresh.register(), /^200/)
})

test('a suspended user loses the registration within a second and cannot register again', async (t) => {
  const person = await openBrowserUser(t, platform, grace)
  assert.match(await person.register(), /^200/)
  const began = Date.now()
  assert.equal((await platform.call('PATCH', `/operator/users/${grace}`, { status: 'SUSPENDED' })).status, 200)
  assert.equal(await until(async () => person.web.code), 4003)
  // The promise is one second; a busy machine is given more.
  assert.ok(Date.now() - began < 8_000)
  await person.web.connect()
  assert.match(await person.register(), /^403/)
})
