import assert from 'node:assert/strict'
import { test } from 'node:test'
import { acceptLink, claim, goodPassword, member, signIn } from '../../../test/persons.ts'
import { until } from '../../../test/platform.ts'
import { isQuick } from '../../../test/quick.ts'
import { makeWorld } from '../../../test/world.ts'
import { contracts } from '../../contracts.ts'
import { connect } from '../../platform/db/sql.ts'
import { proofMs } from '../../platform/http/limits.ts'
import { maxSessions } from './limits.ts'

const world = await makeWorld()
const { db, call } = world
// A second process on the same database.
const second = await makeWorld({}, {}, { db: { ...connect({ url: db.url }), url: db.url } })
const ada = await world.tenant()
const operator = await claim(world, 'olive@example.com')

const statusIn = async (where: typeof world, cookie: string): Promise<number> =>
  (await where.app.inject({ method: 'GET', url: '/console/session', headers: { cookie } })).statusCode

/** Returns the milliseconds until the second process refuses a session. */
const timeToRefusal = async (cookie: string): Promise<number> => {
  const began = performance.now()
  await until(async () => (await statusIn(second, cookie)) === 401)
  return performance.now() - began
}

test('a session that signed out is refused at once here, and within half a second by another process', async () => {
  await isQuick(500, async () => {
    const browser = await signIn(world, { key: ada.key })
    assert.deepEqual([await statusIn(world, browser.cookie), await statusIn(second, browser.cookie)], [200, 200])
    const gone = await browser.call('DELETE', '/console/session')
    assert.match(String(gone.headers['set-cookie']), /^trunkline=; HttpOnly; SameSite=Strict; Path=\/; Max-Age=0$/)
    assert.equal(await statusIn(world, browser.cookie), 401)
    return await timeToRefusal(browser.cookie)
  })
})

test('a change of the password ends the other sessions of the person, and the old password', async () => {
  const first = await member(world, ada, 'developer')
  const other = await signIn(world, { email: first.email, password: goodPassword })
  assert.equal(await statusIn(second, other.cookie), 200)
  const wrong = await first.call('POST', '/console/me/password', {
    current: 'wrong',
    password: 'nine yellow kites fly',
  })
  assert.equal(wrong.status, 401)
  const body = { current: goodPassword, password: 'nine yellow kites fly' }
  const changed = await first.call('POST', '/console/me/password', body)
  assert.deepEqual([changed.status, changed.body.ended], [200, 1])
  assert.deepEqual([await statusIn(world, first.cookie), await statusIn(world, other.cookie)], [200, 401])
  assert.ok((await timeToRefusal(other.cookie)) <= 500)
  await signIn(world, { email: first.email, password: body.password })
  await assert.rejects(signIn(world, { email: first.email, password: goodPassword }))
})

test('watchers learn in every process that a session ended or its rights changed', async () => {
  const browser = await member(world, ada, 'agent')
  const socket = { remoteAddress: '127.0.0.1' }
  const request = { headers: { cookie: browser.cookie, origin: 'http://h', host: 'h' }, socket } as never
  const session = await second.parts.sessions.ofUpgrade(request, '127.0.0.1')
  const seen: string[] = []
  second.parts.sessions.watch(session, {
    onEnd: () => seen.push('end'),
    onChange: ({ accounts }) => seen.push(accounts.map(({ role }) => role).join()),
  })
  const foreign = { headers: { cookie: browser.cookie, origin: 'http://other', host: 'h' }, socket } as never
  await assert.rejects(second.parts.sessions.ofUpgrade(foreign, '127.0.0.1'), { code: 'csrf' })
  await call(ada, 'PATCH', `/open/members/${browser.user}`, { role: 'billing' })
  await until(async () => seen.length === 1)
  await call(ada, 'PATCH', `/open/members/${browser.user}`, { status: 'SUSPENDED' })
  await until(async () => seen.length === 2)
  const person = browser.boot.person.uuid
  assert.equal((await operator.call('PATCH', `/operator/persons/${person}`, { suspended: true })).status, 200)
  await until(async () => seen.length === 3)
  assert.deepEqual(seen, ['billing', '', 'end'])
  assert.equal(await statusIn(world, browser.cookie), 401)
  await assert.rejects(signIn(world, { email: browser.email, password: goodPassword }))
})

test('an operation with a risk needs a fresh proof of a session, and of no key', async () => {
  const browser = await member(world, ada, 'owner')
  const make = () => browser.call('POST', '/open/keys', { label: 'mine' })
  assert.equal((await make()).status, 201)
  await db.run`
    update sessions set proved_at = proved_at - make_interval(secs => ${proofMs / 1_000})
    where id = ${browser.boot.session_uuid.slice(3)}`
  await db.begin((tx) => world.parts.changes.invalidate(tx, 'sessions'))
  const refused = await make()
  assert.deepEqual([refused.status, refused.body.error_code], [403, 'reauthentication_required'])
  assert.equal((await call(ada, 'POST', '/open/keys', { label: 'by key' })).status, 201)
  assert.equal((await browser.call('POST', '/console/session/proof', { password: 'wrong' })).status, 401)
  assert.equal((await browser.call('POST', '/console/session/proof', { password: goodPassword })).status, 200)
  assert.equal((await make()).status, 201)
})

test('every operation with a risk needs a fresh proof, of persons of an account and of the installation', async () => {
  const browsers = {
    account: await member(world, ada, 'owner'),
    operator: await signIn(world, { email: 'olive@example.com', password: goodPassword }),
  }
  for (const { boot } of Object.values(browsers))
    await db.run`
      update sessions set proved_at = proved_at - make_interval(secs => ${proofMs / 1_000})
      where id = ${boot.session_uuid.slice(3)}`
  await db.begin((tx) => world.parts.changes.invalidate(tx, 'sessions'))
  const asked = contracts.filter(({ proof }) => proof)
  for (const auth of ['account', 'operator', 'session'])
    assert.ok(
      asked.some((one) => one.auth === auth),
      auth,
    )
  for (const { id, auth, method, url } of asked) {
    const address = url.replace(/:\w+/g, 'x')
    const by = auth === 'operator' ? browsers.operator : browsers.account
    const { status, body } = await by.call(method, address)
    assert.deepEqual([status, body.error_code], [403, 'reauthentication_required'], id)
  }
})

test('a person ends own sessions alone', async () => {
  const [one, other] = [await member(world, ada, 'owner'), await member(world, ada, 'agent')]
  const elsewhere = await signIn(world, { email: one.email, password: goodPassword })
  const end = (by: typeof one, session: string) => by.call('DELETE', `/console/sessions/${session}`)
  const states = () => Promise.all([one, other, elsewhere].map(({ cookie }) => statusIn(world, cookie)))
  assert.equal((await end(one, other.boot.session_uuid)).status, 404)
  assert.deepEqual(await states(), [200, 200, 200])
  assert.equal((await end(one, elsewhere.boot.session_uuid)).status, 200)
  assert.deepEqual(await states(), [200, 200, 401])
  const again = await signIn(world, { email: one.email, password: goodPassword })
  assert.equal((await one.call('DELETE', '/console/sessions')).body.ended, 1)
  assert.deepEqual([await statusIn(world, again.cookie), ...(await states())], [401, 200, 200, 401])
})

test('a person has at most fifty sessions: the oldest ends with a further one, and none of another person', async () => {
  const [one, other] = [await member(world, ada, 'agent'), await member(world, ada, 'agent')]
  await db.run`
    insert into sessions (token_hash, id, kind, person_id, address, user_agent, expires_at, created_at)
    select sha256(convert_to('many ' || n, 'utf8')), gen_random_uuid(), kind, person_id, address, user_agent, expires_at,
      created_at + make_interval(secs => n)
    from sessions, generate_series(1, ${maxSessions - 1}) n where id = ${one.boot.session_uuid.slice(3)}`
  assert.deepEqual([await statusIn(world, one.cookie), await statusIn(world, other.cookie)], [200, 200])
  await db.run`update sessions set created_at = created_at - interval '1 day' where id = ${one.boot.session_uuid.slice(3)}`
  const newest = await signIn(world, { email: one.email, password: goodPassword })
  const { n } = await db.one<{ n: number }>`
    select count(*)::integer as n from sessions
    where person_id = ${one.boot.person.uuid.slice(3)} and revoked_at is null`
  assert.equal(n, maxSessions)
  const revoked = await db.many<{ id: string }>`
    select id from sessions where person_id = ${one.boot.person.uuid.slice(3)} and revoked_at is not null`
  assert.deepEqual(revoked, [{ id: one.boot.session_uuid.slice(3) }])
  assert.deepEqual([await statusIn(world, newest.cookie), await statusIn(world, other.cookie)], [200, 200])
})

test('a session ends when it was idle for too long', async () => {
  const browser = await signIn(world, { key: ada.key })
  await db.run`
    update sessions set seen_at = seen_at - interval '12 hours' where id = ${browser.boot.session_uuid.slice(3)}`
  await db.begin((tx) => world.parts.changes.invalidate(tx, 'sessions'))
  assert.equal(await statusIn(world, browser.cookie), 401)
})

test('the last owner can be neither demoted nor removed, and an administrator changes no owners', async () => {
  const bob = await world.tenant()
  const [owner, admin] = [await member(world, bob, 'owner'), await member(world, bob, 'admin')]
  for (const change of [{ role: 'agent' }, { status: 'SUSPENDED' }, { status: 'DELETED' }]) {
    const last = await owner.call('PATCH', `/open/members/${owner.user}`, change)
    assert.deepEqual([last.status, last.body.error_code], [409, 'last_owner'], JSON.stringify(change))
    const forbidden = await admin.call('PATCH', `/open/members/${owner.user}`, change)
    assert.deepEqual([forbidden.status, forbidden.body.error_code], [403, 'role'], JSON.stringify(change))
  }
  const promoted = await admin.call('PATCH', `/open/members/${admin.user}`, { role: 'owner' })
  assert.deepEqual([promoted.status, promoted.body.error_code], [403, 'role'])
  assert.equal((await admin.call('POST', `/open/members/${owner.user}/invitation`)).status, 403)
  // An owner who cannot sign in is no other owner.
  const idle = await member(world, bob, 'owner')
  const demote = async () =>
    (await owner.call('PATCH', `/open/members/${owner.user}`, { role: 'agent' })).body.error_code
  const suspend = (suspended: boolean) =>
    operator.call('PATCH', `/operator/persons/${idle.boot.person.uuid}`, { suspended })
  assert.equal((await suspend(true)).status, 200)
  assert.equal(await demote(), 'last_owner')
  assert.equal((await suspend(false)).status, 200)
  assert.equal((await owner.call('PATCH', `/open/members/${idle.user}`, { status: 'SUSPENDED' })).status, 200)
  assert.equal(await demote(), 'last_owner')
  assert.equal((await owner.call('PATCH', `/open/members/${idle.user}`, { status: 'DELETED' })).status, 200)
  assert.equal(await demote(), 'last_owner')
  const invited = { first_name: 'Ivy', last_name: 'Invited', email: 'ivy@example.com', role: 'owner' }
  const pending = (await call(bob, 'POST', '/open/members', invited)).body
  assert.equal(await demote(), 'last_owner')
  // A removed member is changed no more, and the link of a removed invitation opens nothing.
  for (const change of [{ first_name: 'Ghost' }, { status: 'ACTIVE' }])
    assert.equal((await call(bob, 'PATCH', `/open/members/${idle.user}`, change)).status, 404)
  assert.equal((await call(bob, 'PATCH', `/open/members/${pending.member.uuid}`, { status: 'DELETED' })).status, 200)
  assert.equal((await acceptLink(world, pending.invite_url, { password: goodPassword })).status, 404)
  assert.equal(await db.maybe`select from invitations where user_id = ${pending.member.uuid.slice(3)}`, null)
  const heir = await member(world, bob, 'owner')
  assert.equal((await owner.call('PATCH', `/open/members/${owner.user}`, { role: 'agent' })).status, 200)
  assert.equal((await owner.call('GET', '/open/members')).status, 403, 'the new role applies at once')
  assert.equal((await heir.call('GET', '/open/members')).body.count, 3)
})

test('the audit trail shows acts of persons with address, session and change, and sign-ins, without secrets', async () => {
  const cora = await world.tenant()
  const owner = await member(world, cora, 'owner', 'cora@example.com')
  await owner.call('POST', '/open/contacts', {
    first_name: 'Zed',
    contact_details: [{ type: 'E', value: 'z@example.com' }],
  })
  await assert.rejects(signIn(world, { email: 'cora@example.com', password: 'a wrong password' }))
  const entered = await operator.call('GET', '/open/contacts', undefined, { 'x-account': cora.uuid })
  assert.equal(entered.status, 200)
  for (const url of ['/open/events', '/open/search?q=Zed'])
    assert.equal((await operator.call('GET', url, undefined, { 'x-account': cora.uuid })).status, 200)
  const { acts } = (await owner.call('GET', '/open/audit')).body
  type Act = { action: string; actor: object; session_uuid?: string; address?: string; changes: object[] }
  assert.deepEqual(
    acts.map(({ action, actor }: Act) => [action, actor]),
    [
      ['search', { kind: 'operator' }],
      ['listEvents', { kind: 'operator' }],
      ['listContacts', { kind: 'operator' }],
      ['signInRefused', { kind: 'visitor', label: 'cora@example.com' }],
      ['createContact', { kind: 'person', uuid: owner.boot.person.uuid, label: 'Mia owner' }],
      ['acceptInvitation', { kind: 'person', uuid: owner.boot.person.uuid, label: 'Mia owner' }],
      ['createMember', acts.at(-1).actor],
    ],
  )
  const keyChange: Act = acts[4]
  assert.deepEqual([keyChange.session_uuid, keyChange.address], [owner.boot.session_uuid, '127.0.0.1'])
  assert.ok(keyChange.changes.some((change) => JSON.stringify(change).includes('"after":"Zed"')))
  const shown = (await operator.call('GET', `/operator/audit?account_uuid=${cora.uuid}&action=listContacts`)).body.acts
  assert.deepEqual(shown[0].actor, { kind: 'person', uuid: operator.boot.person.uuid, label: 'Olive Operator' })
  const [{ whole }] = (await db.many<{ whole: string }>`select string_agg(a::text, '') as whole from audit a`) as [
    { whole: string },
  ]
  for (const secret of [goodPassword, 'a wrong password', owner.cookie.slice(10), operator.cookie.slice(10)])
    assert.ok(!whole.includes(secret))
})

test('agents read numbers and logs while their account lets them, and a removal revokes the keys that a member made', async () => {
  const dan = await world.tenant()
  const [owner, agent, dev] = [
    await member(world, dan, 'owner'),
    await member(world, dan, 'agent'),
    await member(world, dan, 'developer'),
  ]
  const look = async () => (await agent.call('GET', '/open/voip/virtual-numbers')).status
  assert.equal(await look(), 403)
  assert.equal((await owner.call('PATCH', '/open/account', { agents_see_log: true })).status, 200)
  assert.equal(await look(), 200)
  assert.equal((await owner.call('PATCH', '/open/account', { agents_see_log: false })).status, 200)
  assert.equal(await look(), 403)
  const created = (await dev.call('POST', '/open/keys', { label: 'mine' })).body
  const ofKey = (await call({ ...dan, key: created.key }, 'POST', '/open/keys', { label: 'of a key' })).body
  const ofSession = (
    await (await signIn(world, { key: ofKey.key })).call('POST', '/open/keys', { label: 'of a session' })
  ).body
  const { keys } = (await owner.call('GET', '/open/keys')).body
  const shown = keys.find(({ uuid }: { uuid: string }) => uuid === created.uuid)
  assert.equal(shown.created_by.user_uuid, dev.user)
  const removed = await owner.call('PATCH', `/open/members/${dev.user}`, { status: 'DELETED', revoke_keys: true })
  assert.deepEqual(
    [removed.status, removed.body.revoked_keys.sort()],
    [200, [created.uuid, ofKey.uuid, ofSession.uuid].sort()],
  )
  for (const { key } of [created, ofKey, ofSession]) {
    const refused = await world.app.inject({ url: '/open/info', headers: { 'x-user-api-key': key } })
    assert.equal(refused.statusCode, 401)
  }
})

test('members are listed with their availability', async () => {
  const owner = await world.tenant()
  const agent = await member(world, owner, 'agent')
  const shown = async () => {
    const { members } = (await call(owner, 'GET', '/open/members')).body
    return members.find(({ uuid }: { readonly uuid: string }) => uuid === agent.user)?.availability
  }
  assert.equal(await shown(), 'available')
  assert.equal((await agent.call('PUT', '/open/me/availability', { state: 'away' })).status, 200)
  assert.equal(await shown(), 'away')
})
