import assert from 'node:assert/strict'
import { once } from 'node:events'
import { request } from 'node:http'
import type { Socket } from 'node:net'
import { after, test } from 'node:test'
import { Webhook } from 'standardwebhooks'
import { Webhook as SvixWebhook } from 'svix'
import { WebSocket } from 'ws'
import { until } from '../../test/platform.ts'
import { makeWorld, type Tenant } from '../../test/world.ts'
import { record, recordFor } from '../events/ops.ts'
import { uuid } from '../lib/id.ts'
import { makeParts } from '../parts.ts'
import { run } from '../run.ts'
import { type ServerFrame, unansweredMost } from './contract.ts'

const { db, parts, tenant, call } = await makeWorld({ TRUNKLINE_SANDBOX: 'true', TRUNKLINE_MSGAPP_NAME: 'chatapp' })
/** A process of its own over the same database, which listens on a port. */
const start = async () => {
  const running = await run(await makeParts({ ...parts, config: { ...parts.config, port: 0, roles: ['api'] } }))
  after(running.stop)
  return running
}
const running = await start()
const base = `127.0.0.1:${running.port}`

type Told = Extract<ServerFrame, { type: 'event' }>

/** A laptop that listens; it answers for every event unless told not to. */
const listen = async (who: Tenant, query = '', isPolite = true) => {
  const socket = new WebSocket(`ws://${base}/open/webhooks/listen${query}`, { headers: { 'x-user-api-key': who.key } })
  after(() => socket.terminate())
  const told: Told[] = []
  let secret = ''
  let began = ''
  let closed: string | null = null
  const answer = (id: string) => socket.send(JSON.stringify({ type: 'result', id, status: 200 }))
  socket.on('message', (data) => {
    const frame: ServerFrame = JSON.parse(String(data))
    if (frame.type === 'ready') [secret, began] = [frame.secret, frame.after]
    else {
      told.push(frame)
      if (isPolite) answer(frame.id)
    }
  })
  socket.on('close', (code, reason) => {
    closed = `${code} ${reason}`
  })
  await until(async () => secret !== '' || closed !== null)
  return { socket, told, answer, secret, began, closed: () => closed }
}

const happen = (who: Tenant, count = 1, name: 'contact.created' | 'contact.updated' = 'contact.created') =>
  db.begin((tx) =>
    record(
      tx,
      Array.from({ length: count }, (_, i) => ({
        account: who.id,
        name,
        channel: null,
        conversation: null,
        payload: { first_name: `Ada ${i}` },
      })),
    ),
  )

const has = (told: readonly Told[], count: number) => until(async () => told.length >= count)
const names = (told: readonly Told[]) => told.map(({ body }) => JSON.parse(body).first_name)

/** What a request for an upgrade is answered with when it is refused. */
const refusal = async (headers: Record<string, string>, query = '') => {
  const upgrade = { connection: 'Upgrade', upgrade: 'websocket', 'sec-websocket-version': '13' }
  const asked = request({
    host: '127.0.0.1',
    port: running.port,
    path: `/open/webhooks/listen${query}`,
    headers: { ...upgrade, 'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==', ...headers },
  }).end()
  asked.on('upgrade', (_answer, socket: Socket) => socket.destroy())
  const [answer] = await Promise.race([once(asked, 'response'), once(asked, 'upgrade')])
  if (answer.statusCode === 101) return { status: 101, body: {} }
  const text = (await answer.toArray()).join('')
  return { status: answer.statusCode, body: answer.headers['content-type'] === 'text/html' ? {} : JSON.parse(text) }
}

test('events are told as they happen, in their order, signed as webhooks are', async () => {
  const ada = await tenant()
  await happen(ada) // before anybody listened
  const { told, secret } = await listen(ada)
  await happen(ada, 100)
  await has(told, 100)
  assert.deepEqual(
    names(told),
    Array.from({ length: 100 }, (_, i) => `Ada ${i}`),
  )
  for (const { body, headers, id, name } of told) {
    assert.deepEqual(new Webhook(secret).verify(body, headers), JSON.parse(body))
    assert.doesNotThrow(() => new SvixWebhook(secret).verify(body, headers))
    assert.throws(() => new SvixWebhook(secret).verify(`${body} `, headers))
    assert.equal(headers['webhook-id'], id)
    assert.deepEqual([name, JSON.parse(body).event], ['contact.created', 'contact.created'])
  }
  assert.equal(new Set(told.map(({ id }) => id)).size, 100)
})

test('the secret is the same whenever one listens with a key, and differs with the key', async () => {
  const [ada, bob] = [await tenant(), await tenant()]
  const secrets = await Promise.all([ada, ada, bob].map(async (who) => (await listen(who)).secret))
  assert.equal(secrets[0], secrets[1])
  assert.notEqual(secrets[0], secrets[2])
  assert.match(secrets[0] ?? '', /^whsec_[A-Za-z0-9+/]{43}=$/)
})

test('nobody hears of what happens to another account', async () => {
  const [ada, bob] = [await tenant(), await tenant()]
  const [hers, his] = [await listen(ada), await listen(bob)]
  await happen(bob)
  await happen(ada, 3)
  await has(hers.told, 3)
  await has(his.told, 1)
  assert.deepEqual([hers.told.length, his.told.length], [3, 1])
  const foreign = await listen(ada, `?after=${his.told[0]?.id}`)
  await has(foreign.told, 3)
  assert.ok(foreign.told.every(({ id }) => his.told.every((one) => one.id !== id)))
})

test('one may ask for some events alone', async () => {
  const ada = await tenant()
  const { told } = await listen(ada, '?events=contact.updated,balance.low')
  await happen(ada)
  await happen(ada, 1, 'contact.updated')
  await has(told, 1)
  assert.deepEqual(
    told.map(({ name }) => name),
    ['contact.updated'],
  )
})

test('who comes back goes on where it was', async () => {
  const ada = await tenant()
  const first = await listen(ada)
  await happen(ada, 2)
  await has(first.told, 2)
  first.socket.close()
  await happen(ada, 3)
  const last = first.told.at(-1)?.id ?? ''
  const second = await listen(ada, `?after=${last}`)
  const known = new Set(first.told.map(({ id }) => id))
  await until(async () => second.told.filter(({ id }) => !known.has(id)).length >= 3)
  // One that had heard of nothing yet goes on from where it began.
  const third = await listen(ada, `?after=${first.began}`)
  await has(third.told, 5)
})

test('what is recorded in the same process is told at once', async () => {
  const ada = await tenant()
  const { told } = await listen(ada)
  const began = performance.now()
  for (let i = 1; i <= 10; i++) {
    await happen(ada)
    await has(told, i)
  }
  assert.ok(performance.now() - began < 2_000, 'ten events, one after the other, wait for no look of half a second')
})

test('events are told in the spelling in which they were asked for', async () => {
  const ada = await tenant()
  const [own, other] = [await listen(ada), await listen(ada, '?events=chatapp.call.received')]
  await call(ada, 'POST', '/sandbox/events/msgapp.call.received')
  await has(own.told, 1)
  await has(other.told, 1)
  const [one, two] = [own.told[0], other.told[0]]
  assert.deepEqual([one?.name, two?.name], ['msgapp.call.received', 'chatapp.call.received'])
  assert.equal(JSON.parse(two?.body ?? '').event, 'chatapp.call.received')
  assert.doesNotThrow(() => new Webhook(other.secret).verify(two?.body ?? '', two?.headers ?? {}))
})

test('a list of events takes each of them in either spelling, and each is told in its own', async () => {
  const ada = await tenant()
  const list = 'call.outgoing.completed,chatapp.call.received,msgapp.call.made,contact.created'
  const { told } = await listen(ada, `?events=${list}`)
  for (const name of ['call.outbound.completed', 'msgapp.call.received', 'msgapp.call.made', 'contact.created'])
    await call(ada, 'POST', `/sandbox/events/${name}`)
  await has(told, 4)
  assert.equal(told.map(({ name }) => name).join(), list)
  assert.equal(told.map(({ body }) => JSON.parse(body).event).join(), list)
  const own = await listen(ada, '?events=call.outbound.completed')
  await call(ada, 'POST', '/sandbox/events/call.outbound.completed')
  await has(own.told, 1)
  assert.equal(own.told[0]?.name, 'call.outbound.completed')
})

test('an event made to try one webhook is not told to laptops', async () => {
  const ada = await tenant()
  const { told } = await listen(ada)
  const event = { account: ada.id, name: 'contact.created', channel: null, conversation: null, payload: {} }
  await db.begin((tx) => recordFor(tx, uuid(), event))
  await happen(ada)
  await has(told, 1)
  assert.deepEqual(names(told), ['Ada 0'])
})

test('an event whose transaction took longer than those of later ones is told all the same', async () => {
  const ada = await tenant()
  const { told } = await listen(ada)
  await db.begin(async (tx) => {
    const payload = { first_name: 'late' }
    await record(tx, [{ account: ada.id, name: 'contact.created', channel: null, conversation: null, payload }])
    await happen(ada, 2)
    await has(told, 2)
  })
  await has(told, 3)
  assert.deepEqual(names(told), ['Ada 0', 'Ada 1', 'late'])
})

test('a laptop that does not keep up is told no more than it can hold, and all of it in the end', async () => {
  const ada = await tenant()
  const { told, answer } = await listen(ada, '', false)
  await happen(ada, 3 * unansweredMost)
  await has(told, unansweredMost)
  await happen(ada)
  await happen(ada)
  assert.equal(told.length, unansweredMost)
  let answered = 0
  await until(async () => {
    for (; answered < told.length; answered++) answer(told[answered]?.id ?? '')
    return told.length === 3 * unansweredMost + 2
  })
})

test('an account hears of what its own sandbox makes happen', async () => {
  const ada = await tenant()
  const { told } = await listen(ada)
  const { status, body } = await call(ada, 'POST', '/sandbox/events/msgapp.message.received')
  assert.deepEqual([status, body.via], [202, 'example'])
  await has(told, 1)
  const event = JSON.parse(told[0]?.body ?? '')
  assert.deepEqual([event.event, event.test, event.sent_by], ['msgapp.message.received', true, 'user'])
  assert.match(event.uuid, /^MSG[0-9a-f-]{36}$/)
})

test('who may not listen is refused in the shape of every refusal', async () => {
  const ada = await tenant()
  const key = { 'x-user-api-key': ada.key }
  assert.equal((await refusal({})).status, 401)
  assert.equal((await refusal({ 'x-user-api-key': 'nobody' })).body.error_code, 'unauthorized')
  const unknown = await refusal(key, '?events=contact.creatd')
  assert.deepEqual([unknown.status, unknown.body.error_code], [400, 'unknown_event'])
  assert.match(unknown.body.error_message, /did you mean contact.created/)
  assert.equal((await refusal(key, '?after=yesterday')).status, 400)
  assert.equal((await refusal({ ...key, 'sec-websocket-version': '7' })).status, 400)
  await db.run`update accounts set blocked = true where id = ${ada.id}`
  await db.begin((tx) => parts.changes.announce(tx, 'accounts'))
  await until(async () => (await refusal(key)).status === 403)
})

test('no more than ten listen for an account, and they keep out no other', async () => {
  const ada = await tenant()
  await Promise.all(Array.from({ length: 10 }, () => listen(ada)))
  const { status, body } = await refusal({ 'x-user-api-key': ada.key })
  assert.deepEqual([status, body.error_code], [429, 'too_many_listeners'])
  await listen(await tenant())
})

test('listening counts as a call, and is held to the pace of the account', async () => {
  const ada = await tenant({ requestsPerMinute: 2 })
  await listen(ada)
  await listen(ada)
  assert.equal((await refusal({ 'x-user-api-key': ada.key })).status, 429)
})

test('a key that is revoked hears no more', async () => {
  const ada = await tenant()
  const laptop = await listen(ada)
  await db.run`update api_keys set revoked_at = app_now() where account_id = ${ada.id}`
  await db.begin((tx) => parts.changes.announce(tx, 'accounts'))
  await until(async () => laptop.closed() !== null)
  assert.equal(laptop.closed(), '4401 the key was revoked')
})

/** A key of the account with limits, as a tenant. */
const limited = async (who: Tenant, limits: object): Promise<Tenant & { uuid: string; keyUuid: string }> => {
  const { body } = await call(who, 'POST', '/open/keys', { label: 'laptop', ...limits })
  return { ...who, key: body.key, keyUuid: body.uuid }
}

test('a key that its account revokes ends its open connection within one second', async () => {
  const ada = await tenant()
  const key = await limited(ada, {})
  const [laptop, other] = [await listen(key), await listen(ada)]
  const began = performance.now()
  assert.equal((await call(ada, 'DELETE', `/open/keys/${key.keyUuid}`)).status, 200)
  await until(async () => laptop.closed() !== null)
  // A second is the promise; a busy machine is given more.
  assert.ok(performance.now() - began < 5_000)
  assert.equal(laptop.closed(), '4401 the key was revoked')
  await happen(ada)
  await has(other.told, 1)
})

test('a key that expires ends its open connection', async () => {
  const end = new Date(Math.ceil(Date.now() / 1000 + 1) * 1000)
  const key = await limited(await tenant(), { expires_at: end.toISOString() })
  const laptop = await listen(key)
  assert.equal(laptop.closed(), null)
  await until(async () => laptop.closed() !== null)
  assert.ok(Date.now() >= end.getTime())
  assert.equal(laptop.closed(), '4401 the key has expired')
  assert.equal((await refusal({ 'x-user-api-key': key.key })).body.error_code, 'key_expired')
})

test('a key that loses the scope develop, or the address of its connection, gets no more events', async () => {
  for (const [scopes, addresses, why] of [
    [['inbox'], null, 'the key lacks the scope develop'],
    [null, ['192.0.2.0/24'], 'the key may not be used from this address'],
  ] as const) {
    const ada = await tenant()
    const laptop = await listen(ada)
    await db.run`
      update api_keys set scopes = ${scopes}::text[], allowed_addresses = ${addresses}::text[] where account_id = ${ada.id}`
    await db.begin((tx) => parts.changes.announce(tx, 'accounts'))
    await until(async () => laptop.closed() !== null)
    assert.equal(laptop.closed(), `4401 ${why}`)
  }
})

test('a key without the scope develop, and one for other addresses, may not listen', async () => {
  const ada = await tenant()
  for (const [limits, code] of [
    [{ scopes: ['inbox', 'read_only'] }, 'scope_missing'],
    [{ allowed_addresses: ['192.0.2.0/24'] }, 'address_not_allowed'],
  ] as const) {
    const { status, body } = await refusal({ 'x-user-api-key': (await limited(ada, limits)).key })
    assert.deepEqual([status, body.error_code], [403, code])
  }
  const { key } = await limited(ada, { scopes: ['develop'], allowed_addresses: ['127.0.0.1'] })
  assert.equal((await refusal({ 'x-user-api-key': key })).status, 101)
})

test('a laptop that says anything but results is hung up on', async () => {
  const ada = await tenant()
  for (const words of ['hello', '[]', 'null', '{"type":"result"}', '{"type":"other","id":"x"}', Buffer.from([1, 2])]) {
    const laptop = await listen(ada)
    laptop.socket.send(words)
    await until(async () => laptop.closed() !== null)
    assert.match(laptop.closed() ?? '', /^1003/)
  }
  const laptop = await listen(ada)
  laptop.socket.send('x'.repeat(5_000))
  await until(async () => laptop.closed() !== null)
  const fine = await listen(ada)
  fine.answer(uuid()) // of no event of its own: no harm
  await happen(ada)
  await has(fine.told, 1)
})

test('a client that offers another protocol with every request is answered as usual', async () => {
  const asked = request({
    host: '127.0.0.1',
    port: running.port,
    path: '/ping',
    headers: { connection: 'Upgrade, HTTP2-Settings', upgrade: 'h2c', 'http2-settings': 'AAMAAABkAAQAoAAAAAIAAAAA' },
  }).end()
  const [answer] = await once(asked, 'response')
  assert.equal(answer.statusCode, 200)
  answer.resume()
})

test('when the server stops, laptops are told so', async () => {
  const ada = await tenant()
  const other = await start()
  const socket = new WebSocket(`ws://127.0.0.1:${other.port}/open/webhooks/listen`, {
    headers: { 'x-user-api-key': ada.key },
  })
  await once(socket, 'open')
  const closed = once(socket, 'close')
  await other.app.close()
  assert.equal((await closed)[0], 1001)
})
