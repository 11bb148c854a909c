import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { bytesOf } from '../../../../test/authenticator-app.ts'
import { acceptLink, type Browser, callAs, claim, goodPassword, member, signIn } from '../../../../test/persons.ts'
import { until } from '../../../../test/platform.ts'
import { makeWorld } from '../../../../test/world.ts'
import { assemble } from '../../../assemble.ts'
import { contracts } from '../../../contracts.ts'
import { openPage } from '../../../interfaces/live/testing.ts'
import { connect } from '../../../platform/db/sql.ts'
import { uuid } from '../../../platform/lib/id.ts'
import { startRoles } from '../../../start-roles.ts'
import { codeAt, stepAt } from './totp.ts'

// Accounts that require a second factor of their members.

const world = await makeWorld()
const { db, call, parts } = world
// A second process on the same database, and a third with sockets.
const second = await makeWorld({}, {}, { db: { ...connect({ url: db.url }), url: db.url } })
const third = await startRoles(
  await assemble({ ...parts, config: { ...parts.config, port: 0, roles: ['api', 'console'] } }),
)
after(third.stop)
const operator = await claim(world, 'olive@example.com')

type Who = Pick<Browser, 'call'>

const activate = async (browser: Who) => {
  const prepared = await browser.call('POST', '/console/totp')
  const code = codeAt(bytesOf(prepared.body.secret), stepAt(Date.now()))
  const verified = await browser.call('POST', '/console/totp/verify', { code })
  assert.equal(verified.status, 200, JSON.stringify(verified.body))
}

const outcome = ({ status, body }: { status: number; body: { error_code?: string } }) => [status, body.error_code]

const required = [403, 'second_factor_required']

const require = (browser: Who, isOn = true) => browser.call('PATCH', '/open/account', { second_factor_required: isOn })

/** An account that requires a second factor, with its owner. */
const strictAccount = async () => {
  const tenant = await world.tenant()
  const owner = await member(world, tenant, 'owner')
  await activate(owner)
  return { tenant, owner }
}

const inSecond = (cookie: string) => callAs(second, cookie, 'GET', '/open/conversations')

test('no person without a second factor can require one of others', async () => {
  const tenant = await world.tenant()
  const owner = await member(world, tenant, 'owner')
  assert.deepEqual(outcome(await require(owner)), required)
  const { account } = (await owner.call('GET', '/open/info')).body
  assert.equal(account.second_factor_required, false)
  assert.equal((await require(owner, false)).status, 200)
  await activate(owner)
  const changed = await require(owner)
  assert.deepEqual([changed.status, changed.body.account.second_factor_required], [200, true])
  assert.equal((await owner.call('GET', '/open/info')).body.account.second_factor_required, true)
  assert.equal((await owner.call('PATCH', '/open/account', { name: 'Ada' })).body.account.second_factor_required, true)
})

test('a member without one is refused by every endpoint of the account, and by none of the person', async () => {
  const { tenant, owner } = await strictAccount()
  const heir = await member(world, tenant, 'owner')
  assert.equal((await require(owner)).status, 200)
  const ofAccounts = contracts.filter(({ auth }) => auth === 'account')
  assert.ok(ofAccounts.length >= 100, `saw only ${ofAccounts.length} endpoints`)
  for (const { id, method, url } of ofAccounts)
    for (const headers of [{}, { 'x-account': tenant.uuid }]) {
      const answer = await heir.call(method, url.replace(/:\w+/g, 'x'), undefined, headers)
      assert.deepEqual(outcome(answer), required, id)
    }
  const boot = async () => {
    const [{ capabilities, second_factor_missing }] = (await heir.call('GET', '/console/session')).body.accounts
    return [capabilities.length > 0, second_factor_missing]
  }
  assert.deepEqual(await boot(), [false, true])
  for (const url of ['/console/session', '/console/totp', '/console/passkeys', '/console/sessions'])
    assert.equal((await heir.call('GET', url)).status, 200, url)
  assert.equal((await heir.call('PATCH', '/console/me', { name: 'Heir' })).status, 200)
  await activate(heir)
  assert.equal((await heir.call('GET', '/open/info')).status, 200)
  assert.deepEqual(await boot(), [true, undefined])
})

test('every process refuses the member, and admits the member with an app or a passkey', async () => {
  const { tenant, owner } = await strictAccount()
  const agent = await member(world, tenant, 'agent')
  const isAdmitted = async (isIn: boolean) =>
    until(async () => ((await inSecond(agent.cookie)).status === 200) === isIn)
  await isAdmitted(true)
  await require(owner)
  await isAdmitted(false)
  assert.deepEqual(outcome(await inSecond(agent.cookie)), required)
  await activate(agent)
  await isAdmitted(true)
  await agent.call('DELETE', '/console/totp')
  assert.deepEqual(outcome(await agent.call('GET', '/open/conversations')), required)
  await isAdmitted(false)
  await db.begin(async (tx) => {
    await tx.run`
      insert into passkeys (id, person_id, credential_id, public_key, sign_count, transports, name)
      values (${uuid()}, ${agent.boot.person.uuid.slice(3)}, ${Buffer.from('c')}, ${Buffer.from('k')}, 0, '{}', 'Phone')`
    await parts.changes.invalidate(tx, 'sessions')
  })
  await isAdmitted(true)
  const { passkeys } = (await agent.call('GET', '/console/passkeys')).body
  assert.equal((await agent.call('DELETE', `/console/passkeys/${passkeys[0].uuid}`)).status, 200)
  await isAdmitted(false)
  await require(owner, false)
  await isAdmitted(true)
})

test('keys, their sessions, operators and other accounts of the person are not affected', async () => {
  const { tenant, owner } = await strictAccount()
  const bob = await world.tenant()
  const agent = await member(world, tenant, 'agent')
  const fields = { first_name: 'Mia', last_name: 'Two', email: agent.email, role: 'agent' }
  const invited = await call(bob, 'POST', '/open/members', fields)
  const both = await acceptLink(world, invited.body.invite_url, { password: goodPassword })
  assert.equal(both.status, 201, JSON.stringify(both.body))
  await require(owner)
  const ask = (account: string) => agent.call('GET', '/open/conversations', undefined, { 'x-account': account })
  assert.deepEqual(outcome(await ask(tenant.uuid)), required)
  assert.equal((await ask(bob.uuid)).status, 200)
  assert.equal((await call(tenant, 'GET', '/open/info')).status, 200)
  assert.equal((await (await signIn(world, { key: tenant.key })).call('GET', '/open/info')).status, 200)
  const entered = await operator.call('GET', '/open/info', undefined, { 'x-account': tenant.uuid })
  assert.equal(entered.status, 200)
  assert.equal((await call(tenant, 'PATCH', '/open/account', { second_factor_required: false })).status, 200)
  assert.equal((await call(tenant, 'PATCH', '/open/account', { second_factor_required: true })).status, 200)
})

test('the socket of the member closes, and a new one gets no topic', async () => {
  const { tenant, owner } = await strictAccount()
  const agent = { ...(await member(world, tenant, 'agent')), account: tenant.uuid }
  const url = `http://127.0.0.1:${third.port}`
  const page = await openPage(url, agent, ['inbox'])
  assert.equal(page.of('subscribed').length, 1)
  await require(owner)
  await until(async () => page.of('bye')[0]?.code === 4403)
  const next = await openPage(url, agent, ['inbox'])
  assert.deepEqual([next.of('subscribed').length, next.of('refused')[0]?.error_code], [0, required[1]])
})

test('the audit trail shows the policy before and after', async () => {
  const { owner } = await strictAccount()
  await require(owner)
  const { acts } = (await owner.call('GET', '/open/audit', undefined)).body
  const [{ action, changes }] = acts
  assert.equal(action, 'changeOwnAccount')
  assert.ok(
    changes.some(
      (one: { field: string; before: unknown; after: unknown }) =>
        one.field === 'second_factor_required' && one.before === false && one.after === true,
    ),
    JSON.stringify(changes),
  )
})
