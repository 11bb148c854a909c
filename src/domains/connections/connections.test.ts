import assert from 'node:assert/strict'
import { test } from 'node:test'
import { certificate } from '../../../test/certificate.ts'
import { needs } from '../../../test/needs.ts'
import { until } from '../../../test/platform.ts'
import { makeWorld } from '../../../test/world.ts'
import { kinds } from './connection-kinds.ts'

const { call, db } = await makeWorld()
const operator = 'operator' as const
const create = (body: object) => call(operator, 'POST', '/operator/connections', body)
const didww = { api_key: 'key of the supplier', callback_secret: 'secret of callbacks', countries: ['GB'] }

test('each kind requires its own settings, and the refusal names the field', async () => {
  const missing = await create({ kind: 'didww', name: 'a', settings: {} })
  assert.deepEqual([missing.status, missing.body.error_message], [400, 'settings.api_key is required'])
  const wrong = await create({ kind: 'didww', name: 'a', settings: { ...didww, requests_per_second: 20 } })
  assert.deepEqual([wrong.status, wrong.body.error_message], [400, 'settings.requests_per_second must be at most 19'])
  const smpp = await create({ kind: 'smpp', name: 'a', settings: { host: 'h', system_id: 's', password: 'p' } })
  assert.deepEqual([smpp.status, smpp.body.error_message], [400, 'settings.port is required'])
  const trunk = { host: 'carrier.test', allowed_addresses: ['203.0.113.0/28', '10.0.0.0/99'] }
  const network = await create({ kind: 'sip-trunk', name: 'a', settings: trunk })
  assert.equal(network.status, 400)
  assert.match(
    network.body.error_message,
    /^settings.allowed_addresses: 10.0.0.0\/99 is neither an address nor a network/,
  )
  const registered = { host: 'carrier.test', register: true, username: 'us' }
  const unnamed = await create({ kind: 'sip-trunk', name: 'a', settings: registered })
  const expected = 'settings.password is required where settings.register is true'
  assert.deepEqual([unnamed.status, unnamed.body.error_message], [400, expected])
  const authority = await create({ kind: 'sip-trunk', name: 'a', settings: { host: 'carrier.test', tls_ca: 'PEM' } })
  assert.equal(authority.status, 400)
  assert.match(authority.body.error_message, /^settings.tls_ca must be a certificate in PEM/)
  const none = await create({ kind: 'pigeon', name: 'a', settings: {} })
  assert.match(none.body.error_message, /^kind must be one of smpp, sms-http, didww/)
})

test(
  'authorities of a trunk are certificates and nothing else: a key among them would be returned',
  needs('openssl'),
  async () => {
    const { cert, key } = certificate()
    for (const tls_ca of [cert + key, `${cert}-----BEGIN CERTIFICATE-----\nnothing\n-----END CERTIFICATE-----\n`])
      assert.equal((await create({ kind: 'sip-trunk', name: 'a', settings: { host: 'h', tls_ca } })).status, 400)
    const two = await create({
      ...{ kind: 'sip-trunk', name: 'of two authorities', enabled: false },
      settings: { host: 'carrier.test', tls_ca: `ours\n${cert}theirs\n${certificate().cert}` },
    })
    assert.equal(two.status, 201)
  },
)

test('secrets survive changes and are never returned', async () => {
  const created = await create({ kind: 'didww', name: 'supplier', settings: didww, enabled: false })
  assert.equal(created.status, 201)
  assert.deepEqual(created.body.connection.settings, { countries: ['GB'] })
  const { uuid } = created.body.connection
  const url = `/operator/connections/${uuid}`
  const wrong = await call(operator, 'PATCH', url, { settings: { countries: ['Britain'] } })
  assert.deepEqual([wrong.status, wrong.body.error_message], [400, 'settings.countries.0 must match ^[A-Z]{2}$'])
  const changed = await call(operator, 'PATCH', url, { settings: { markup_percent: 25 } })
  assert.deepEqual(changed.body.connection.settings, { countries: ['GB'], markup_percent: 25 })
  assert.ok(!JSON.stringify((await call(operator, 'GET', url)).body).includes('secret of callbacks'))
})

test('a setting that the kind of connection does not have is refused, in a change too', async () => {
  const foreign = await create({ kind: 'didww', name: 'mistyped', settings: { ...didww, country: ['GB'] } })
  const message = 'There is no field settings.country; did you mean settings.countries?'
  assert.deepEqual([foreign.status, foreign.body.error_message], [400, message])
  const created = await create({ kind: 'didww', name: 'mistyped', settings: didww, enabled: false })
  assert.equal(created.status, 201)
  const url = `/operator/connections/${created.body.connection.uuid}`
  const changed = await call(operator, 'PATCH', url, { settings: { markup: ['44'] } })
  assert.equal(changed.status, 400)
  assert.equal(changed.body.error_message, 'There is no field settings.markup; did you mean settings.markup_percent?')
  const absent = await call(operator, 'PATCH', url, { settings: { prefixes: null } })
  assert.equal(absent.status, 400)
})

test('null clears an optional setting, secret or not, and not a required one', async () => {
  const settings = { host: 'carrier.test', username: 'us', password: 'secret', prefixes: ['44'], channels: 3 }
  const created = await create({ kind: 'sip-trunk', name: 'cleared', settings, enabled: false })
  assert.equal(created.status, 201)
  const { uuid } = created.body.connection
  const url = `/operator/connections/${uuid}`
  const cleared = await call(operator, 'PATCH', url, { settings: { prefixes: null, password: null, channels: 4 } })
  assert.equal(cleared.status, 200)
  assert.deepEqual(cleared.body.connection.settings, { host: 'carrier.test', username: 'us', channels: 4 })
  const register = await call(operator, 'PATCH', url, { settings: { register: true } })
  assert.equal(register.body.error_message, 'settings.password is required where settings.register is true')
  const host = await call(operator, 'PATCH', url, { settings: { host: null } })
  assert.deepEqual([host.status, host.body.error_message], [400, 'settings.host is required'])
})

test('a trunk with registration requires credentials, also after a change', async () => {
  const settings = { host: 'carrier.test', username: 'us', password: 'a secret of a trunk' }
  const created = await create({ kind: 'sip-trunk', name: 'trunk', settings, enabled: false })
  assert.deepEqual(created.body.connection.settings, { host: 'carrier.test', username: 'us' })
  const url = `/operator/connections/${created.body.connection.uuid}`
  assert.equal((await call(operator, 'PATCH', url, { settings: { register: true } })).status, 200)
  const emptied = await call(operator, 'PATCH', url, { settings: { password: null } })
  assert.deepEqual(
    [emptied.status, emptied.body.error_message],
    [400, 'settings.password is required where settings.register is true'],
  )
  assert.ok(!JSON.stringify((await call(operator, 'GET', url)).body).includes('a secret'))
})

test('a setting of several kinds is the same in each', () => {
  const seen = new Map<string, string>()
  for (const { settings } of Object.values(kinds))
    for (const [name, schema] of Object.entries(settings.properties)) {
      const text = JSON.stringify(schema)
      assert.equal(seen.get(name) ?? text, text, name)
      seen.set(name, text)
    }
})

test('of two concurrent changes neither is lost', async () => {
  const { uuid } = (await create({ kind: 'didww', name: 'changed twice', settings: didww, enabled: false })).body
    .connection
  const url = `/operator/connections/${uuid}`
  const waiting = async (count: number) =>
    (await db.many`select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`)
      .length === count
  const both = await db.begin(async (tx) => {
    await tx.run`select 1 from connections where id = ${uuid.slice(3)} for update`
    const first = call('operator', 'PATCH', url, { settings: { markup_percent: 25 } })
    await until(() => waiting(1))
    const second = call('operator', 'PATCH', url, { settings: { ppm: '0.01' } })
    await until(() => waiting(2))
    return [first, second]
  })
  await Promise.all(both)
  const { settings } = (await call('operator', 'GET', url)).body.connection
  assert.deepEqual(settings, { countries: ['GB'], markup_percent: 25, ppm: '0.01' })
})
