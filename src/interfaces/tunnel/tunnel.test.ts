import assert from 'node:assert/strict'
import { once } from 'node:events'
import { request } from 'node:http'
import type { Socket } from 'node:net'
import { after, test } from 'node:test'
import { Webhook } from 'standardwebhooks'
import { Webhook as SvixWebhook } from 'svix'
import { WebSocket } from 'ws'
import { until } from '../../../test/platform.ts'
import { isQuick } from '../../../test/quick.ts'
import { makeWorld, type Tenant } from '../../../test/world.ts'
import { assemble } from '../../assemble.ts'
import { type Event, record, recordFor } from '../../domains/events/ops.ts'
import { uuid } from '../../platform/lib/id.ts'
import { startRoles } from '../../start-roles.ts'
import { maxUnanswered, type ServerFrame } from './contract.ts'

const { db, parts, tenant, call } = await makeWorld({ TRUNKLINE_SANDBOX: 'true', TRUNKLINE_MSGAPP_NAME: 'chatapp' })
/** Another process over the same database, which listens on a port. */
const start = async () => {
  const running = await startRoles(await assemble({ ...parts, config: { ...parts.config, port: 0, roles: ['api'] } }))
  after(running.stop)
  return running
}
const running = await start()
const base = `127.0.0.1:${running.port}`

type EventFrame = Extract<ServerFrame, { type: 'event' }>

/** A laptop that listens. It answers every event unless `isPolite` is false. */
const listen = async (who: Tenant, query = '', isPolite = true) => {
  const socket = new WebSocket(`ws://${base}/open/webhooks/listen${query}`, { headers: { 'x-user-api-key': who.key } })
  after(() => socket.terminate())
  const received: EventFrame[] = []
  let secret = ''
  let began = ''
  let closed: string | null = null
  const answer = (id: string) => socket.send(JSON.stringify({ type: 'result', id, status: 200 }))
  socket.on('message', (data) => {
    const frame: ServerFrame = JSON.parse(String(data))
    if (frame.type === 'ready') [secret, began] = [frame.secret, frame.after]
    else {
      received.push(frame)
      if (isPolite) answer(frame.id)
    }
  })
  socket.on('close', (code, reason) => {
    closed = `${code} ${reason}`
  })
  await until(async () => secret !== '' || closed !== null)
  return { socket, received, answer, secret, began, closed: () => closed }
}

const recordEvents = (who: Tenant, count = 1, name: Event['name'] = 'contact.created') =>
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

const receives = (received: readonly EventFrame[], count: number) => until(async () => received.length >= count)
const names = (received: readonly EventFrame[]) => received.map(({ body }) => JSON.parse(body).first_name)

/** The response that refuses an upgrade. */
const refusal = async (headers: Record<string, string>, query = '') => {
  const upgrade = { connection: 'Upgrade', upgrade: 'websocket', 'sec-websocket-version': '13' }
  const outgoing = request({
    host: '127.0.0.1',
    port: running.port,
    path: `/open/webhooks/listen${query}`,
    headers: { ...upgrade, 'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==', ...headers },
  }).end()
  outgoing.on('upgrade', (_answer, socket: Socket) => socket.destroy())
  const [answer] = await Promise.race([once(outgoing, 'response'), once(outgoing, 'upgrade')])
  if (answer.statusCode === 101) return { status: 101, body: {} }
  const text = (await answer.toArray()).join('')
  return { status: answer.statusCode, body: answer.headers['content-type'] === 'text/html' ? {} : JSON.parse(text) }
}

test('events are delivered as they happen, in order, signed as webhooks are', async () => {
  const ada = await tenant()
  await recordEvents(ada) // before the laptop listened
  const { received, secret } = await listen(ada)
  await recordEvents(ada, 100)
  await receives(received, 100)
  assert.deepEqual(
    names(received),
    Array.from({ length: 100 }, (_, i) => `Ada ${i}`),
  )
  for (const { body, headers, id, name } of received) {
    assert.deepEqual(new Webhook(secret).verify(body, headers), JSON.parse(body))
    assert.doesNotThrow(() => new SvixWebhook(secret).verify(body, headers))
    assert.throws(() => new SvixWebhook(secret).verify(`${body} `, headers))
    assert.equal(headers['webhook-id'], id)
    assert.deepEqual([name, JSON.parse(body).event], ['contact.created', 'contact.created'])
  }
  assert.equal(new Set(received.map(({ id }) => id)).size, 100)
})

test('the secret stays the same for a key and differs between keys', async () => {
  const [ada, bob] = [await tenant(), await tenant()]
  const secrets = await Promise.all([ada, ada, bob].map(async (who) => (await listen(who)).secret))
  assert.equal(secrets[0], secrets[1])
  assert.notEqual(secrets[0], secrets[2])
  assert.match(secrets[0] ?? '', /^whsec_[A-Za-z0-9+/]{43}=$/)
})

test('an account does not get the events of another account', async () => {
  const [ada, bob] = [await tenant(), await tenant()]
  const [hers, his] = [await listen(ada), await listen(bob)]
  await recordEvents(bob)
  await recordEvents(ada, 3)
  await receives(hers.received, 3)
  await receives(his.received, 1)
  assert.deepEqual([hers.received.length, his.received.length], [3, 1])
  const foreign = await listen(ada, `?after=${his.received[0]?.id}`)
  await receives(foreign.received, 3)
  assert.ok(foreign.received.every(({ id }) => his.received.every((one) => one.id !== id)))
})

test('a laptop may request some events only', async () => {
  const ada = await tenant()
  const { received } = await listen(ada, '?events=contact.updated,balance.low')
  await recordEvents(ada)
  await recordEvents(ada, 1, 'contact.updated')
  await receives(received, 1)
  assert.deepEqual(
    received.map(({ name }) => name),
    ['contact.updated'],
  )
})

test('a laptop that reconnects continues after its last event', async () => {
  const ada = await tenant()
  const first = await listen(ada)
  await recordEvents(ada, 2)
  await receives(first.received, 2)
  first.socket.close()
  await recordEvents(ada, 3)
  const last = first.received.at(-1)?.id ?? ''
  const second = await listen(ada, `?after=${last}`)
  // A laptop without events continues from its start.
  const third = await listen(ada, `?after=${first.began}`)
  for (const { received } of [second, third]) await receives(received, 5)
  // The next event proves that no event was delivered twice: a repetition would have come before it.
  await recordEvents(ada, 1, 'contact.updated')
  for (const { received } of [second, third]) {
    await until(async () => received.at(-1)?.name === 'contact.updated')
    assert.deepEqual(names(received), ['Ada 0', 'Ada 1', 'Ada 0', 'Ada 1', 'Ada 2', 'Ada 0'])
    assert.deepEqual(
      received.slice(0, 2).map(({ id }) => id),
      first.received.map(({ id }) => id),
    )
    assert.equal(new Set(received.map(({ id }) => id)).size, 6)
  }
})

test('an event recorded in the same process is delivered at once', async () => {
  const ada = await tenant()
  const { received } = await listen(ada)
  // Ten events in a row wait for no poll, which runs every half second.
  await isQuick(2_000, async () => {
    const before = received.length
    const began = performance.now()
    for (let i = 1; i <= 10; i++) {
      await recordEvents(ada)
      await receives(received, before + i)
    }
    return performance.now() - began
  })
})

test('events are delivered in the requested spelling', async () => {
  const ada = await tenant()
  const [own, other] = [await listen(ada), await listen(ada, '?events=chatapp.call.received')]
  await recordEvents(ada, 1, 'msgapp.call.received')
  await receives(own.received, 1)
  await receives(other.received, 1)
  const [one, two] = [own.received[0], other.received[0]]
  assert.deepEqual([one?.name, two?.name], ['msgapp.call.received', 'chatapp.call.received'])
  assert.equal(JSON.parse(two?.body ?? '').event, 'chatapp.call.received')
  assert.doesNotThrow(() => new Webhook(other.secret).verify(two?.body ?? '', two?.headers ?? {}))
})

test('a list of events accepts each of them in either spelling, and each is delivered in its own', async () => {
  const ada = await tenant()
  const list = 'call.outgoing.completed,chatapp.call.received,msgapp.call.made,contact.created'
  const { received } = await listen(ada, `?events=${list}`)
  for (const name of [
    'call.outbound.completed',
    'msgapp.call.received',
    'msgapp.call.made',
    'contact.created',
  ] as const)
    await recordEvents(ada, 1, name)
  await receives(received, 4)
  assert.equal(received.map(({ name }) => name).join(), list)
  assert.equal(received.map(({ body }) => JSON.parse(body).event).join(), list)
  const completed = { account: ada.id, channel: null, conversation: null, payload: { is_msgapp_call: false } }
  const own = await listen(ada, '?events=call.outbound.completed')
  await db.begin((tx) => record(tx, [{ ...completed, name: 'call.outbound.completed' }]))
  await receives(own.received, 1)
  assert.equal(own.received[0]?.name, 'call.outbound.completed')
  const { is_msgapp_call, is_chatapp_call } = JSON.parse(own.received[0]?.body ?? '')
  assert.deepEqual([is_msgapp_call, is_chatapp_call], [false, false], 'in neither spelling: in both')
})

test('an event made to test one webhook is not delivered to laptops', async () => {
  const ada = await tenant()
  const { received } = await listen(ada)
  const event = { account: ada.id, name: 'contact.created', channel: null, conversation: null, payload: {} }
  await db.begin((tx) => recordFor(tx, uuid(), event))
  await recordEvents(ada)
  await receives(received, 1)
  assert.deepEqual(names(received), ['Ada 0'])
})

test('an event whose transaction took longer than those of later events is still delivered', async () => {
  const ada = await tenant()
  const { received } = await listen(ada)
  await db.begin(async (tx) => {
    const payload = { first_name: 'late' }
    await record(tx, [{ account: ada.id, name: 'contact.created', channel: null, conversation: null, payload }])
    await recordEvents(ada, 2)
    await receives(received, 2)
  })
  await receives(received, 3)
  assert.deepEqual(names(received), ['Ada 0', 'Ada 1', 'late'])
})

test('a slow laptop gets no more events than the limit at a time, and all of them in the end', async () => {
  const ada = await tenant()
  const { received, answer } = await listen(ada, '', false)
  await recordEvents(ada, 3 * maxUnanswered)
  await receives(received, maxUnanswered)
  await recordEvents(ada)
  await recordEvents(ada)
  assert.equal(received.length, maxUnanswered)
  let answered = 0
  await until(async () => {
    for (; answered < received.length; answered++) answer(received[answered]?.id ?? '')
    return received.length === 3 * maxUnanswered + 2
  })
})

test('an account gets the events of its own sandbox', async () => {
  const ada = await tenant()
  const { received } = await listen(ada)
  const { status, body } = await call(ada, 'POST', '/sandbox/events/contact.created')
  assert.deepEqual([status, body.via], [202, 'account'])
  await receives(received, 1)
  const event = JSON.parse(received[0]?.body ?? '')
  assert.deepEqual([event.event, event.test, event.first_name], ['contact.created', undefined, 'Ada'])
  assert.equal((await call(ada, 'GET', `/open/contacts/${event.uuid}`)).status, 200)
})

test('a refused listener gets the usual error format', async () => {
  const ada = await tenant()
  const key = { 'x-user-api-key': ada.key }
  assert.equal((await refusal({})).status, 401)
  assert.equal((await refusal({ 'x-user-api-key': 'unknown' })).body.error_code, 'unauthorized')
  const unknown = await refusal(key, '?events=contact.creatd')
  assert.deepEqual([unknown.status, unknown.body.error_code], [400, 'unknown_event'])
  assert.match(unknown.body.error_message, /did you mean contact.created/)
  assert.equal((await refusal(key, '?after=yesterday')).status, 400)
  assert.equal((await refusal({ ...key, 'sec-websocket-version': '7' })).status, 400)
  await db.run`update accounts set blocked = true where id = ${ada.id}`
  await db.begin((tx) => parts.changes.invalidate(tx, 'accounts'))
  await until(async () => (await refusal(key)).status === 403)
})

test('an account may have ten listeners, and further ones do not block other accounts', async () => {
  const ada = await tenant()
  await Promise.all(Array.from({ length: 10 }, () => listen(ada)))
  const { status, body } = await refusal({ 'x-user-api-key': ada.key })
  assert.deepEqual([status, body.error_code], [429, 'too_many_listeners'])
  await listen(await tenant())
})

test('listening counts as a request for the rate limit of the account', async () => {
  const ada = await tenant({ requestsPerMinute: 2 })
  await listen(ada)
  await listen(ada)
  assert.equal((await refusal({ 'x-user-api-key': ada.key })).status, 429)
})

test('a revoked key gets no more events', async () => {
  const ada = await tenant()
  const laptop = await listen(ada)
  await db.run`update api_keys set revoked_at = app_now() where account_id = ${ada.id}`
  await db.begin((tx) => parts.changes.invalidate(tx, 'accounts'))
  await until(async () => laptop.closed() !== null)
  assert.equal(laptop.closed(), '4401 the key was revoked')
})

/** A key of the account with limits, as a tenant. */
const limited = async (who: Tenant, limits: object): Promise<Tenant & { uuid: string; keyUuid: string }> => {
  const { body } = await call(who, 'POST', '/open/keys', { label: 'laptop', ...limits })
  return { ...who, key: body.key, keyUuid: body.uuid }
}

test('revoking a key ends its open connection within one second', async () => {
  const ada = await tenant()
  const key = await limited(ada, {})
  const [laptop, other] = [await listen(key), await listen(ada)]
  const began = performance.now()
  assert.equal((await call(ada, 'DELETE', `/open/keys/${key.keyUuid}`)).status, 200)
  await until(async () => laptop.closed() !== null)
  // The promise is one second; a busy machine gets more.
  assert.ok(performance.now() - began < 5_000)
  assert.equal(laptop.closed(), '4401 the key was revoked')
  await recordEvents(ada)
  await receives(other.received, 1)
})

test('an expired key ends its open connection', async () => {
  const end = new Date(Math.ceil(Date.now() / 1000 + 1) * 1000)
  const key = await limited(await tenant(), { expires_at: end.toISOString() })
  const laptop = await listen(key)
  assert.equal(laptop.closed(), null)
  await until(async () => laptop.closed() !== null)
  assert.ok(Date.now() >= end.getTime())
  assert.equal(laptop.closed(), '4401 the key has expired')
  assert.equal((await refusal({ 'x-user-api-key': key.key })).body.error_code, 'key_expired')
})

test('a key that loses the scope develop, or its allowed address, gets no more events', async () => {
  for (const [scopes, addresses, why] of [
    [['inbox'], null, 'the key lacks the scope develop'],
    [null, ['192.0.2.0/24'], 'the key may not be used from this address'],
  ] as const) {
    const ada = await tenant()
    const laptop = await listen(ada)
    await db.run`
      update api_keys set scopes = ${scopes}::text[], allowed_addresses = ${addresses}::text[] where account_id = ${ada.id}`
    await db.begin((tx) => parts.changes.invalidate(tx, 'accounts'))
    await until(async () => laptop.closed() !== null)
    assert.equal(laptop.closed(), `4401 ${why}`)
  }
})

test('a key without the scope develop, or for other addresses, may not listen', async () => {
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

test('a laptop that sends anything but results is disconnected', async () => {
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
  fine.answer(uuid()) // of another event: no harm
  await recordEvents(ada)
  await receives(fine.received, 1)
})

test('a client that offers another protocol with every request is answered as usual', async () => {
  const outgoing = request({
    host: '127.0.0.1',
    port: running.port,
    path: '/ping',
    headers: { connection: 'Upgrade, HTTP2-Settings', upgrade: 'h2c', 'http2-settings': 'AAMAAABkAAQAoAAAAAIAAAAA' },
  }).end()
  const [answer] = await once(outgoing, 'response')
  assert.equal(answer.statusCode, 200)
  answer.resume()
})

test('laptops get close code 1001 when the server stops', async () => {
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
