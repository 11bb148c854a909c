import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { test } from 'node:test'
import { startPlatform } from './platform.ts'
import { memoryFolder } from './servers.ts'
import { makeWorld, type World } from './world.ts'

// Where a request comes from: proxies are believed, clients are not.

const direct = await makeWorld()
const { db } = direct
const behind = (proxies: string): Promise<World> => makeWorld({ TRUNKLINE_TRUST_PROXY: proxies }, {}, { db })
const byNetworks = await behind('10.1.0.0/16, loopback, fd12::/48')
const byOneHop = await behind('1')
const byTwoHops = await behind('2')

const { uuid } = await direct.tenant()
const made = await direct.call('operator', 'POST', `/operator/accounts/${uuid}/keys`, {
  label: 'limited',
  allowed_addresses: ['100.64.0.1'],
})
const refusedAddress = /from the address (\S+):/

/** Returns the address that a key with an address list is refused for. */
const clientOf = async (at: World, remoteAddress: string, forwarded?: string): Promise<string | undefined> => {
  const headers = {
    'x-user-api-key': made.body.key,
    ...(forwarded === undefined ? {} : { 'x-forwarded-for': forwarded }),
  }
  const answer = await at.app.inject({ method: 'GET', url: '/open/info', remoteAddress, headers })
  return refusedAddress.exec(answer.json().error_message)?.[1]
}

test('TRUNKLINE_TRUST_PROXY=true is refused at the start with the ways to say it', async () => {
  const start = startPlatform(memoryFolder(), { TRUNKLINE_TRUST_PROXY: 'true' })
  await assert.rejects(
    start,
    /TRUNKLINE_TRUST_PROXY takes true no longer.*addresses, networks.*10\.1\.0\.0\/16.*number of proxies/s,
  )
})

test('an address that the client writes into X-Forwarded-For is not believed', async () => {
  for (const [at, peer, forwarded, client] of [
    [direct, '203.0.113.9', '192.0.2.7', '203.0.113.9'],
    [direct, '127.0.0.1', '192.0.2.7', '127.0.0.1'],
    [byNetworks, '203.0.113.9', '192.0.2.7', '203.0.113.9'],
    [byNetworks, '10.1.2.3', '192.0.2.7, 198.51.100.1', '198.51.100.1'],
    [byNetworks, '10.1.2.3', '192.0.2.7, 10.1.9.9', '192.0.2.7'],
    [byNetworks, '10.1.2.3', '192.0.2.7, 198.51.100.1, 10.1.9.9', '198.51.100.1'],
    [byNetworks, 'fd12::5', '192.0.2.7, 2001:db8::1', '2001:db8::1'],
    [byNetworks, '::ffff:10.1.2.3', '192.0.2.7, ::ffff:198.51.100.1', '198.51.100.1'],
    [byNetworks, '::1', '192.0.2.7, 198.51.100.1', '198.51.100.1'],
    [byNetworks, '10.1.2.3', undefined, '10.1.2.3'],
    [byOneHop, '203.0.113.9', '192.0.2.7, 198.51.100.1', '198.51.100.1'],
    [byOneHop, '203.0.113.9', '198.51.100.1', '198.51.100.1'],
    [byTwoHops, '203.0.113.9', '192.0.2.7, 198.51.100.1, 10.1.9.9', '198.51.100.1'],
    [byTwoHops, '203.0.113.9', '198.51.100.1', '198.51.100.1'],
  ] as const)
    assert.equal(await clientOf(at, peer, forwarded), client, `${peer} forwards ${forwarded}`)
})

test('an entry that is no address ends the list, and the proxy that sent it counts as the client', async () => {
  for (const [forwarded, client] of [
    ['garbage', '10.1.2.3'],
    ['192.0.2.7, unknown', '10.1.2.3'],
    ['192.0.2.7, unknown, 10.1.9.9', '10.1.9.9'],
    [`${'9'.repeat(4_000)}`, '10.1.2.3'],
    ['1', '10.1.2.3'],
    ['0x7f000001', '10.1.2.3'],
    [',, ,', '10.1.2.3'],
    ['192.0.2.7,,198.51.100.1, ', '198.51.100.1'],
    ['198.51.100.1:4711', '198.51.100.1'],
    ['192.0.2.7, [2001:db8::1]:4711', '2001:db8::1'],
    ['192.0.2.7, 198.51.100.1, 10.1.9.9:80', '198.51.100.1'],
    ['[2001:db8::1', '10.1.2.3'],
  ] as const)
    assert.equal(await clientOf(byNetworks, '10.1.2.3', forwarded), client, forwarded)
})

test('several lines of X-Forwarded-For are one list', async () => {
  await byNetworks.app.listen({ host: '127.0.0.1', port: 0 })
  const { port } = byNetworks.app.server.address() as AddressInfo // a TCP server
  const asked = request({
    port,
    path: '/open/info',
    headers: { 'x-user-api-key': made.body.key, 'x-forwarded-for': ['192.0.2.7', '198.51.100.1', '10.1.9.9'] },
  }).end()
  const [answer]: IncomingMessage[] = await once(asked, 'response')
  assert.ok(answer)
  assert.equal(refusedAddress.exec(await text(answer))?.[1], '198.51.100.1')
})

test('the protocol is believed from a trusted proxy only, and its own value counts', async () => {
  const tenant = await direct.tenant()
  const signIn = async (at: World, remoteAddress: string, protocol?: string) => {
    const answer = await at.app.inject({
      method: 'POST',
      url: '/console/session',
      remoteAddress,
      headers: {
        'x-forwarded-for': '192.0.2.7',
        ...(protocol === undefined ? {} : { 'x-forwarded-proto': protocol }),
      },
      payload: { key: tenant.key },
    })
    return answer.statusCode === 201 ? String(answer.headers['set-cookie']).split('=', 1)[0] : answer.json().error_code
  }
  for (const [at, peer, protocol, outcome] of [
    [direct, '203.0.113.9', 'https', 'https_required'],
    [direct, '127.0.0.1', 'https', 'https_required'],
    [byNetworks, '203.0.113.9', 'https', 'https_required'],
    [byNetworks, '10.1.2.3', 'https', '__Host-trunkline'],
    [byNetworks, '10.1.2.3', 'HTTPS', '__Host-trunkline'],
    [byNetworks, '10.1.2.3', 'http, https', '__Host-trunkline'],
    [byNetworks, '10.1.2.3', 'https, http', 'https_required'],
    [byNetworks, '10.1.2.3', 'https; http', 'https_required'],
    [byNetworks, '10.1.2.3', undefined, 'https_required'],
    [byOneHop, '203.0.113.9', 'https', '__Host-trunkline'],
  ] as const)
    assert.equal(await signIn(at, peer, protocol), outcome, `${peer} forwards ${protocol}`)
})

test('a request that any header of a proxy marks is not from this machine', async () => {
  const tenant = await direct.tenant()
  for (const name of ['forwarded', 'x-forwarded-for', 'x-forwarded-host', 'x-forwarded-proto', 'x-real-ip', 'via']) {
    const answer = await direct.app.inject({
      method: 'POST',
      url: '/console/session',
      headers: { [name]: '1' },
      payload: { key: tenant.key },
    })
    assert.equal(answer.json().error_code, 'https_required', name)
  }
})

test('the audit trail has the address that the proxy wrote', async () => {
  const tenant = await direct.tenant()
  await byNetworks.app.inject({
    method: 'POST',
    url: '/open/keys',
    remoteAddress: '10.1.2.3',
    headers: { 'x-user-api-key': tenant.key, 'x-forwarded-for': '192.0.2.7, 198.51.100.1:80' },
    payload: { label: 'new' },
  })
  const rows = await db.many<{ address: string }>`
    select address from audit where account_id = ${tenant.id}`
  assert.deepEqual(
    rows.map(({ address }) => address),
    ['198.51.100.1'],
  )
})
