import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type AddressInfo, connect, createServer } from 'node:net'
import { after, test } from 'node:test'
import { flood, makeClient, stall } from '../../../test/greedy-client.ts'
import { until } from '../../../test/platform.ts'
import { makeWorld, type Tenant } from '../../../test/world.ts'
import { makeKey } from '../lib/secret.ts'
import { lookUp } from './auth-throttle.ts'
import { refusals } from './refusals.ts'
import { limiterKeyOf } from './request-limiters.ts'
import { limitConnections } from './socket.ts'

// One tenant floods real sockets while another one is served. The tests compare order, never time.

const world = await makeWorld({}, {}, { pace: { bytesPerSecond: 1_000_000, graceMs: 60_000 } })
const { app, db, parts } = world
const { limiters } = parts
await app.listen({ host: '127.0.0.1', port: 0 })
const { port } = app.server.address() as AddressInfo // it listens on TCP
const client = makeClient(port)
after(client.close)
const [greedy, modest] = [await world.tenant(), await world.tenant()]

const mebibyte = 1024 * 1024
const url = '/open/contacts'
const create = { first_name: 'Ada', contact_details: [{ type: 'PH', value: '+447700900123' }] }
const documents = '/open/numbers/documents?kind=identity&name=Pass.pdf'
const pdf = { url: documents, type: 'application/pdf', length: 16 * mebibyte }

const upload = (who: Tenant) =>
  app.inject({
    method: 'POST',
    url: documents,
    headers: { 'x-user-api-key': who.key, 'content-type': 'application/pdf' },
    payload: Buffer.concat([Buffer.from('%PDF-1.7\n'), Buffer.alloc(15 * mebibyte)]),
  })

test('eight slow uploads of one tenant do not block another tenant', async () => {
  const slow = Array.from({ length: 8 }, () => stall(port, greedy, pdf, '%PDF-1.7\n'))
  await until(async () => limiters.uploads.used(greedy.id) > 0 && limiters.uploads.waiting(greedy.id) === 4)
  assert.equal(limiters.uploads.used(greedy.id), 32 * mebibyte)
  assert.equal((await upload(modest)).statusCode, 201)
  for (const { socket } of slow) socket.destroy()
  const answers = await Promise.all(slow.map(({ answer }) => answer))
  const refused = answers.filter((text) => text.includes('too_many_uploads'))
  assert.equal(refused.length, 2, 'two are held, four wait, and two are refused')
  await until(async () => limiters.uploads.used() === 0 && limiters.uploads.waiting() === 0)
  assert.equal((await upload(greedy)).statusCode, 201)
})

test('stalled downloads of one tenant do not block a download of another', async () => {
  const [own, other] = await Promise.all(
    [greedy, modest].map(async (who) => `/open/numbers/documents/${(await upload(who)).json().document.uuid}/content`),
  )
  assert.ok(own && other)
  const slow = Array.from({ length: 16 }, () => {
    const socket = connect(port, '127.0.0.1')
      .on('error', () => {})
      .pause()
    socket.write(`GET ${own} HTTP/1.1\r\nhost: x\r\nx-user-api-key: ${greedy.key}\r\n\r\n`)
    return socket
  })
  await until(async () => limiters.downloads.used(greedy.id) === 16)
  const refused = await client.call(greedy, 'GET', own)
  assert.deepEqual([refused.status, JSON.parse(refused.body).error_code], [503, 'too_many_downloads'])
  assert.equal((await client.call(modest, 'GET', other)).status, 200)
  for (const socket of slow) socket.destroy()
  await until(async () => limiters.downloads.used() === 0)
})

test('large bodies announced by one tenant leave memory for those of others', async () => {
  const contacts = { url: '/open/contacts', type: 'application/json', length: 200 * 1024 }
  const slow = Array.from({ length: 120 }, () => stall(port, greedy, contacts, '{'))
  await until(async () => limiters.bodies.waiting(greedy.id) > 0)
  const long = { first_name: 'Ada', contact_details: [], filler: 'x'.repeat(100 * 1024) }
  const { status } = await client.call(modest, 'POST', contacts.url, long)
  assert.equal(status, 400, 'the body was read, and refused for its content')
  assert.ok(limiters.bodies.waiting(greedy.id) > 0, 'the other tenant still waits')
  for (const { socket } of slow) socket.destroy()
  await until(async () => limiters.bodies.used() === 0 && limiters.bodies.waiting() === 0)
})

test('stalled imports of one tenant do not block an import of another', async () => {
  const file = { url: '/open/contacts/import', type: 'text/csv', length: 'chunked' as const }
  // Above the limit of the process, so that the limiter refuses first, not the quota.
  const raised = await world.call('operator', 'PATCH', `/operator/accounts/${greedy.uuid}`, { quotas: { imports: 50 } })
  assert.equal(raised.status, 200)
  const slow = Array.from({ length: 6 }, () => stall(port, greedy, file, 'first_name,phone\n'))
  await until(async () => limiters.streams.used(greedy.id) === 4)
  const { status } = await client.call(greedy, 'POST', file.url, undefined, { 'content-type': 'text/csv' })
  assert.equal(status, 503, 'a fifth of the same tenant is refused')
  const answer = await app.inject({
    method: 'POST',
    url: file.url,
    headers: { 'x-user-api-key': modest.key, 'content-type': 'text/csv' },
    payload: 'first_name,phone\nAda,+447700900123\n',
  })
  assert.equal(answer.statusCode, 201, answer.body)
  for (const { socket } of slow) socket.destroy()
  await until(async () => limiters.streams.used() === 0)
})

/** Locks the row of an Idempotency-Key, so that requests with that key wait. @returns a function that unlocks it */
const holdKey = async (who: Tenant, key: string): Promise<() => Promise<void>> => {
  const [control, locked] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const lock = db.begin(async (tx) => {
    await tx.run`insert into idempotency (account_id, key, method, path, request_hash)
      values (${who.id}, ${key}, 'POST', ${url}, ''::bytea)`
    locked.resolve()
    await control.promise
    throw new Error('let go')
  })
  await locked.promise
  return async () => {
    control.resolve()
    await assert.rejects(lock, { message: 'let go' })
  }
}

test('requests of one tenant that wait for a lock leave database connections for another tenant', async (t) => {
  const letGo = await holdKey(greedy, 'twin')
  t.after(letGo)
  const twins = flood(40, () => client.call(greedy, 'POST', url, create, { 'idempotency-key': 'twin' }))
  await until(async () => limiters.database.waiting(greedy.id) > 30)
  for (const [method, body, headers] of [
    ['GET', undefined, {}],
    ['POST', create, {}],
    ['POST', create, { 'idempotency-key': 'own' }],
  ] as const) {
    const { status, body: text } = await client.call(modest, method, url, body, headers)
    assert.ok(status < 300, `${method}: ${status} ${text}`)
  }
  assert.equal(twins.ended(), 0, 'the twins still wait')
  await letGo()
  const statuses = (await twins.all).map(({ status }) => status)
  assert.deepEqual([...new Set(statuses)], [201])
})

test('a client that disconnects while it waits leaves the queue', async (t) => {
  const letGo = await holdKey(greedy, 'gone')
  t.after(letGo)
  const share = limiters.database
  const most = Math.ceil((Math.floor((db.connections * 9) / 16) * 2) / 3)
  const twins = flood(most, () =>
    client.call(greedy, 'POST', url, create, { 'idempotency-key': 'gone' }).catch(() => null),
  )
  await until(async () => share.used(greedy.id) === most)
  const late = flood(5, () => client.call(greedy, 'GET', url).catch(() => null))
  await until(async () => share.waiting(greedy.id) === 5)
  client.close()
  await until(async () => share.waiting(greedy.id) === 0)
  await letGo()
  await Promise.all([twins.all, late.all])
  await until(async () => share.used() === 0)
})

test('a read is answered before most earlier reads of a flooding tenant', async (t) => {
  // Opens the sockets of both tenants first.
  await Promise.all([modest, ...Array.from({ length: 400 }, () => greedy)].map((who) => client.call(who, 'GET', url)))
  const many = flood(400, () => client.call(greedy, 'GET', url))
  assert.equal((await client.call(modest, 'GET', url)).status, 200)
  const passed = many.ended()
  const answers = await many.all
  assert.ok(answers.every(({ status }) => status === 200))
  t.diagnostic(`${passed} of 400 came before it`)
  assert.ok(passed < 200, `${passed} of 400 came before it`)
})

test('wrong keys of one address do not delay the first request with a valid key from another', async () => {
  const fresh = await world.tenant()
  const look = (address: string, key: string) =>
    lookUp(parts.authThrottle, address, key, parts.auth.accounts, refusals.wrongKey)
  const wrong = flood(150, () => look('192.0.2.1', makeKey('UAK')).catch((error) => error.status))
  const found = await look('192.0.2.2', fresh.key)
  assert.equal(found.account.id, fresh.id)
  assert.ok(wrong.ended() < 50, `${wrong.ended()} of 150 came before it`)
  assert.deepEqual(new Set(await wrong.all), new Set([401]))
})

test('connections beyond the share of an address are closed, and those of another address stay', async (t) => {
  const server = createServer((socket) => void socket.on('error', () => {}).resume())
  limitConnections(server, 3, (address) => address === '127.0.0.3')
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const serverAddress = server.address() as AddressInfo // it listens on TCP
  const dial = (localAddress: string) => {
    const socket = connect({ port: serverAddress.port, host: '127.0.0.1', localAddress })
    t.after(() => socket.destroy())
    return socket.on('error', () => {}).resume()
  }
  t.after(() => server.close())
  const own = Array.from({ length: 5 }, () => dial('127.0.0.1'))
  await until(async () => own.filter(({ closed }) => closed).length === 2)
  const other = dial('127.0.0.2')
  await once(other, 'connect')
  own.find(({ closed }) => !closed)?.destroy()
  await until(async () => (await new Promise<number>((resolve) => server.getConnections((_, n) => resolve(n)))) === 3)
  assert.equal(other.closed, false)
})

test('sign-ins of one address and requests of one session take no share of operators or of others', async () => {
  const request = (over: object) =>
    Object.assign({ account: null, operator: null, session: null, ip: '192.0.2.1' }, over)
  const session = { accounts: [{ account: { id: greedy.id } }] }
  const keys = [{ operator: {} }, {}, { ip: '192.0.2.2' }, { ip: '2001:db8::1' }, { ip: '2001:db8::2' }, { session }]
  const [operator, one, other, six, neighbour, own] = keys.map((over) => limiterKeyOf(request(over) as never))
  assert.equal(new Set([operator, one, other, six, own]).size, 5)
  assert.deepEqual([neighbour, own], [six, greedy.id])
})
