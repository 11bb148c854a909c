import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { WebSocket } from 'ws'
import { cookieOf, member, tokenOf } from '../../../test/persons.ts'
import { makeWorld, type World } from '../../../test/world.ts'
import { livePath, liveProtocol } from '../../interfaces/live/contract.ts'
import { listenPath } from '../../interfaces/tunnel/contract.ts'
import { connect } from '../db/sql.ts'
import { makeKey } from '../lib/secret.ts'

// Right keys go on working behind an address from which many wrong ones come: every kind of key, at every door, when the
// caches were cleared, and in a process that never saw the key.

const settings = { TRUNKLINE_WRONG_KEYS_PER_MINUTE: '3' }
const key = randomBytes(32)
const world = await makeWorld(settings, {}, { key })
const { db, call, tenant, operatorKey } = world
const fresh = await makeWorld(settings, {}, { key, db: { ...connect({ url: db.url }), url: db.url } })

const portOf = async ({ app }: World): Promise<number> => {
  await app.listen({ host: '127.0.0.1', port: 0 })
  return (app.server.address() as AddressInfo).port // it listens on TCP
}
const ports = new Map([
  [world, await portOf(world)],
  [fresh, await portOf(fresh)],
])

/** The address that the right keys share with the wrong ones. */
const localAddress = '127.0.0.2'

type Headers = Record<string, string>

/** Sends a request over a socket from the address. */
const ask = async (at: World, path: string, headers: Headers, method = 'GET', body?: object): Promise<number> => {
  const all = { ...headers, ...(body ? { 'content-type': 'application/json' } : {}) }
  const outgoing = request({ host: '127.0.0.1', port: ports.get(at), localAddress, path, method, headers: all })
  outgoing.end(body && JSON.stringify(body))
  const [answer] = await once(outgoing, 'response')
  await answer.toArray()
  return answer.statusCode
}

/** Returns the status of an upgrade from the address: 101 if it opened. */
const upgrade = (at: World, path: string, headers: Headers, protocols: string[] = []): Promise<number> =>
  new Promise((resolve, reject) => {
    const socket = new WebSocket(`ws://127.0.0.1:${ports.get(at)}${path}`, protocols, { headers, localAddress })
    socket.on('unexpected-response', (_request, answer) => resolve(answer.statusCode ?? 0))
    socket.on('error', reject)
    socket.on('open', () => {
      socket.terminate()
      resolve(101)
    })
  })

const ada = await tenant()
const owner = await member(world, ada, 'owner')
const ofKey = cookieOf(
  await world.app
    .inject({ method: 'POST', url: '/console/session', payload: { key: ada.key } })
    .then(({ statusCode, headers }) => ({ status: statusCode, headers })),
)
const invited = { first_name: 'Ann', last_name: 'Lee', email: 'ann@example.com' }
const invitation = tokenOf((await call(ada, 'POST', '/open/members', invited)).body.invite_url)
const minted = await call(ada, 'POST', '/open/sdk/access-token', { user_uuid: owner.user })
const changes = { 'x-trunkline-console': '1' }

/** A request with each kind of key, and the status of its success. */
const doors: Record<string, (at: World) => Promise<number>> = {
  'an API key': (at) => ask(at, '/open/info', { 'x-user-api-key': ada.key }),
  'an operator key': (at) => ask(at, '/operator/accounts', { 'x-operator-key': operatorKey }),
  'the session of a person': (at) => ask(at, '/console/session', { cookie: owner.cookie }),
  'the session of a person, for an account': (at) => ask(at, '/open/info', { cookie: owner.cookie }),
  'the session of a key': (at) => ask(at, '/console/session', { cookie: ofKey }),
  'a session at the live feed': (at) =>
    upgrade(at, livePath, { cookie: owner.cookie, origin: `http://127.0.0.1:${ports.get(at)}` }, [liveProtocol]),
  'an API key at the tunnel': (at) => upgrade(at, listenPath, { 'x-user-api-key': ada.key }),
  'an API key that signs in': (at) => ask(at, '/console/session', changes, 'POST', { key: ada.key }),
  'an operator key that signs in': (at) => ask(at, '/console/session', changes, 'POST', { key: operatorKey }),
  'the token of an invitation': (at) => ask(at, '/console/invitations/show', changes, 'POST', { token: invitation }),
  'the token of a voice client': (at) =>
    ask(at, '/open/sdk/credentials', { authorization: `Bearer ${minted.body.token}` }, 'POST'),
}

/** Sends wrong keys until the address has to wait. */
const block = async (at: World): Promise<void> => {
  while ((await ask(at, '/open/info', { 'x-user-api-key': makeKey('UAK') })) !== 429);
}

for (const [name, open] of Object.entries(doors)) {
  test(`${name} goes on working behind an address with many wrong keys, once caches were cleared`, async () => {
    const before = await open(world)
    assert.ok(before < 300, `${before} before`)
    await call('operator', 'PATCH', `/operator/accounts/${ada.uuid}`, { name: 'Changed' })
    await db.begin((tx) => world.parts.changes.invalidate(tx, 'sessions'))
    await block(world)
    assert.equal(await open(world), before)
  })

  test(`${name} works behind such an address in a process that never saw it`, async () => {
    await block(fresh)
    const status = await open(fresh)
    assert.ok(status < 300, String(status))
  })
}

test('a wrong key of each kind is refused with 429 meanwhile', async () => {
  const wrong = randomBytes(32).toString('base64url')
  const attempts: (() => Promise<number>)[] = [
    () => ask(world, '/operator/accounts', { 'x-operator-key': makeKey('OPK') }),
    () => ask(world, '/console/session', { cookie: `trunkline=${wrong}` }),
    () => ask(world, '/console/session', changes, 'POST', { key: makeKey('UAK') }),
    () => ask(world, '/console/invitations/show', changes, 'POST', { token: wrong }),
    () => ask(world, '/open/sdk/credentials', { authorization: 'Bearer a.b.c' }, 'POST'),
    () => upgrade(world, listenPath, { 'x-user-api-key': makeKey('UAK') }),
  ]
  // Each failure after a wait begins the next one, which is twice as long.
  for (const attempt of attempts) while ((await attempt()) !== 429);
})
