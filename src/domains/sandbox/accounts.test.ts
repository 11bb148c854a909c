import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { Receiver } from '../../../test/doubles/receiver.ts'
import { until } from '../../../test/platform.ts'
import { makeWorld, type Tenant } from '../../../test/world.ts'
import { contracts } from '../../contracts.ts'
import { routesOf } from '../calls/control/trunk-selection.ts'
import { startDeliveryEngine } from '../webhooks/delivery/delivery-engine.ts'

const receiver = await new Receiver().up()
// Registered before the database closes: hooks run in order of registration.
after(async () => {
  await engine.stop(100)
  await receiver.down()
})
const world = await makeWorld({ TRUNKLINE_SANDBOX: 'true' })
const { call, parts } = world
const engine = startDeliveryEngine(parts)

/** An account outside the sandbox, created by an operator. */
const realTenant = async (): Promise<Tenant> => {
  const created = await call('operator', 'POST', '/operator/accounts', { name: 'Real Ltd', sandbox: false })
  assert.deepEqual([created.status, created.body.account.sandbox], [201, false])
  const { uuid } = created.body.account
  const { key } = (await call('operator', 'POST', `/operator/accounts/${uuid}/keys`, { label: 'x' })).body
  return { id: uuid.slice(3), uuid, key }
}
const mark = (who: Tenant, sandbox: boolean) => call('operator', 'PATCH', `/operator/accounts/${who.uuid}`, { sandbox })

const moveClock = (who: Tenant) => call(who, 'POST', '/sandbox/clock', { advance_seconds: 1 })

test('a new account is marked as a sandbox account while the sandbox is on, unless the operator decides otherwise', async () => {
  const created = await call('operator', 'POST', '/operator/accounts', { name: 'Example Ltd' })
  assert.equal(created.body.account.sandbox, true)
  const plain = await makeWorld({ TRUNKLINE_SANDBOX: 'false' })
  const real = await plain.call('operator', 'POST', '/operator/accounts', { name: 'Example Ltd' })
  assert.equal(real.body.account.sandbox, false)
})

test('the clock moves only while every account is marked', async () => {
  const ada = await world.tenant()
  assert.equal((await moveClock(ada)).status, 202)
  const real = await realTenant()
  const refused = await moveClock(ada)
  assert.deepEqual([refused.status, refused.body.error_code], [409, 'clock_is_shared'])
  await mark(real, true)
  assert.equal((await moveClock(ada)).status, 202)
})

test('no endpoint below /sandbox serves an unmarked account', async () => {
  const real = await realTenant()
  const own = contracts.filter(({ url }) => url.startsWith('/sandbox/'))
  assert.ok(own.length >= 15, `saw only ${own.length} endpoints`)
  for (const { method, url } of own) {
    const { status, body } = await call(real, method, url.replace(/:\w+/g, '+447700900123'), {})
    assert.deepEqual([status, body.error_code], [403, 'not_sandbox_account'], url)
    assert.match(body.error_message, /PATCH \/operator\/accounts/)
  }
  await mark(real, true)
  await until(async () => (await call(real, 'POST', '/sandbox/events/contact.created')).status === 202)
  await mark(real, false)
  assert.equal((await call(real, 'POST', '/sandbox/events/contact.created')).status, 403)
  await mark(real, true)
})

test('only a marked account can subscribe a private or plain HTTP address', async () => {
  const [ada, real] = [await world.tenant(), await realTenant()]
  const subscribe = (who: Tenant, hook_url: string) =>
    call(who, 'POST', '/open/webhooks/subscribe/contact.created', { hook_url })
  for (const url of [receiver.url('/x'), 'https://10.0.0.1/', 'https://localhost/', 'http://8.8.8.8/']) {
    const refused = await subscribe(real, url)
    assert.deepEqual([refused.status, refused.body.error_code], [400, 'hook_url_refused'], url)
    assert.equal((await subscribe(ada, url)).status, 201, url)
  }
  const hook = await subscribe(real, 'https://8.8.8.8/')
  const changed = await call(real, 'PUT', `/open/webhooks/${hook.body.data.uuid}`, { hook_url: receiver.url('/x') })
  assert.equal(changed.body.error_code, 'hook_url_refused')
})

test('webhooks of an account that is no longer marked do not connect to private addresses', async () => {
  const ada = await world.tenant()
  const { data } = (
    await call(ada, 'POST', '/open/webhooks/subscribe/contact.created', { hook_url: receiver.url('/private') })
  ).body
  const last = async () => (await call(ada, 'GET', `/open/webhooks/${data.uuid}/deliveries`)).body.deliveries[0]
  const contact = { first_name: 'Ada', contact_details: [{ type: 'PH', value: '+447700900123' }] }
  assert.equal((await call(ada, 'POST', '/open/contacts', contact)).status, 201)
  const trigger = () => call(ada, 'POST', `/open/webhooks/${data.uuid}/test`, {})
  assert.equal((await trigger()).status, 202)
  await until(async () => (await last())?.state === 'delivered')
  await mark(ada, false)
  const before = receiver.of('/private').length
  await trigger()
  const failed = await until(async () => {
    const one = await last()
    return one.attempts.length > 0 && one.state !== 'delivered' && one
  })
  assert.match(JSON.stringify(failed), /loopback|begins with http/)
  assert.equal(receiver.of('/private').length, before)
  await mark(ada, true)
})

test('private webhooks that the operator allows work for every account', async () => {
  const open = await makeWorld({ TRUNKLINE_ALLOW_PRIVATE_HOOKS: 'true', TRUNKLINE_ALLOW_HTTP_HOOKS: 'true' })
  const account = (await open.call('operator', 'POST', '/operator/accounts', { name: 'Real Ltd', sandbox: false })).body
    .account
  const { key } = (await open.call('operator', 'POST', `/operator/accounts/${account.uuid}/keys`, { label: 'x' })).body
  const real = { id: account.uuid.slice(3), uuid: account.uuid, key }
  const body = { hook_url: receiver.url('/x') }
  assert.equal((await open.call(real, 'POST', '/open/webhooks/subscribe/contact.created', body)).status, 201)
})

test('a sandbox trunk carries calls of sandbox accounts only', () => {
  const trunk = (name: string, settings: object) => ({
    ...{ id: name, kind: 'sip-trunk' as const, name, revision: '' },
    settings: { host: '127.0.0.1', ...settings },
  })
  const trunks = [trunk('sandbox', { sandbox: true }), trunk('britain', { prefixes: ['44'] })]
  assert.deepEqual(routesOf(trunks, '+33612345678', true), ['sandbox'])
  assert.deepEqual(routesOf(trunks, '+33612345678', false), [])
  assert.deepEqual(routesOf(trunks, '+442079460958', false), ['britain'])
})

test('an unmarked account cannot create a channel on the sandbox network', async () => {
  const settings = { host: '127.0.0.1', port: 1, token: 'x' }
  const connection = { kind: 'sandbox', name: 'a-sandbox', settings, shared: true }
  assert.equal((await call('operator', 'POST', '/operator/connections', connection)).status, 201)
  const create = (who: Tenant, named: object) =>
    call(who, 'POST', '/open/msgapp/channel/create', { phone_number: '+442079460017', ...named })
  const real = await realTenant()
  for (const named of [{}, { connection: 'a-sandbox' }]) assert.equal((await create(real, named)).status, 404)
  assert.equal((await create(await world.tenant(), {})).status, 201)
})

test('a sandbox that is on by default refuses proxied requests; an explicitly enabled one accepts them', async () => {
  const byDefault = await makeWorld()
  const ask = async ({ app, tenant }: typeof world, header: string) => {
    const { key } = await tenant()
    const headers = { 'x-user-api-key': key, [header]: '198.51.100.7' }
    const url = '/sandbox/events/contact.created'
    const { statusCode, body } = await app.inject({ method: 'POST', url, headers })
    return [statusCode, JSON.parse(body).error_code]
  }
  for (const header of ['x-forwarded-for', 'forwarded', 'x-real-ip', 'via']) {
    assert.deepEqual(await ask(byDefault, header), [403, 'sandbox_behind_proxy'], header)
    assert.deepEqual(await ask(world, header), [202, undefined], header)
  }
  const { key } = await byDefault.tenant()
  const hooked = await byDefault.app.inject({
    method: 'POST',
    url: '/open/webhooks/subscribe/contact.created',
    headers: { 'x-user-api-key': key, 'x-forwarded-for': '198.51.100.7' },
    payload: { hook_url: receiver.url('/x') },
  })
  assert.equal(hooked.json().error_code, 'hook_url_refused')
})
