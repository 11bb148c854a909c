import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, test } from 'node:test'
import { WebSocket } from 'ws'
import { until } from '../../../test/platform.ts'
import { isQuick } from '../../../test/quick.ts'
import { makeWorld, type Tenant } from '../../../test/world.ts'
import { assemble } from '../../assemble.ts'
import { type Event, record, recordFor } from '../../domains/events/ops.ts'
import { deposit } from '../../domains/ledger/ops.ts'
import { invalidateTopic } from '../../platform/db/invalidation-bus.ts'
import type { AccountKey } from '../../platform/http/auth.ts'
import { uuid } from '../../platform/lib/id.ts'
import { keyHash } from '../../platform/lib/secret.ts'
import { startRoles } from '../../start-roles.ts'
import { type LiveServerFrame, liveProtocol, maxUnansweredEvents } from './contract.ts'
import { headMs, maxSocketsOfAccount } from './limits.ts'
import { makeLive } from './live.ts'

// Two processes over one database: pages are connected to the first, and events are recorded in either.
const { db, parts, tenant, call } = await makeWorld({ TRUNKLINE_SANDBOX: 'true' })
const start = async () => {
  const config = { ...parts.config, port: 0, roles: ['api', 'console'] as const }
  const running = await startRoles(await assemble({ ...parts, config: { ...config, roles: [...config.roles] } }))
  after(running.stop)
  return running
}
const first = await start()
const second = await start()
const originOf = ({ port }: { port: number }) => `http://127.0.0.1:${port}`

type EventFrame = Extract<LiveServerFrame, { type: 'event' }>

/** Signs in with the key of a tenant, which may be limited to capabilities. @returns the cookie and the session's id */
const signIn = async (who: Tenant, scopes: string[] | null = null) => {
  const [token, id, key] = [randomBytes(32).toString('base64url'), uuid(), uuid()]
  await db.run`
    insert into api_keys (id, account_id, label, hash, last_four, scopes)
    values (${key}, ${who.id}, 'session', ${randomBytes(32)}, 'abcd', ${scopes}::text[])`
  await db.run`
    insert into sessions (token_hash, id, kind, account_id, key_id, address, user_agent, expires_at)
    values (${keyHash(token)}, ${id}, 'account-key', ${who.id}, ${key}, '127.0.0.1', 'test', now() + interval '1 day')`
  return { cookie: `trunkline=${token}`, id, key }
}

type PageOptions = {
  query?: string
  isPolite?: boolean
  scopes?: string[] | null
  topics?: string[]
  port?: number
}

/** A page of the console. It acknowledges every event unless `isPolite` is false. */
const open = async (who: Tenant, options: PageOptions = {}) => {
  const { query = '', isPolite = true, scopes = null, topics = ['inbox'], port = first.port } = options
  const session = await signIn(who, scopes)
  const socket = new WebSocket(`ws://127.0.0.1:${port}/console/live${query}`, [liveProtocol], {
    headers: { cookie: session.cookie, origin: originOf({ port }) },
  })
  after(() => socket.terminate())
  const frames: LiveServerFrame[] = []
  let closed: number | null = null
  const send = (frame: object) => socket.send(JSON.stringify(frame))
  socket.on('message', (data) => {
    const frame: LiveServerFrame = JSON.parse(String(data))
    frames.push(frame)
    if (frame.type === 'event' && isPolite) send({ type: 'ack', id: frame.id })
  })
  socket.on('close', (code) => {
    closed = code
  })
  socket.on('error', () => {})
  const of = <const T extends LiveServerFrame['type']>(type: T) =>
    frames.filter((frame): frame is Extract<LiveServerFrame, { type: T }> => frame.type === type)
  await until(async () => of('hello').length > 0)
  if (topics.length > 0) {
    send({ type: 'subscribe', account: who.uuid, topics })
    await until(async () => of('subscribed').length > 0)
  }
  const events = () => of('event')
  return { socket, session, send, frames, of, events, closed: () => closed }
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

const names = (events: readonly EventFrame[]) => events.map(({ data }) => data.first_name)
const numbered = (count: number) => Array.from({ length: count }, (_, i) => `Ada ${i}`)

/** The status that refuses an upgrade. */
const refusal = (headers: Record<string, string>, protocol: string | null = liveProtocol, query = '') =>
  new Promise<number>((resolve) => {
    const url = `ws://127.0.0.1:${first.port}/console/live${query}`
    const socket = protocol === null ? new WebSocket(url, { headers }) : new WebSocket(url, [protocol], { headers })
    socket.on('unexpected-response', (_request, answer) => resolve(answer.statusCode ?? 0))
    socket.on('open', () => resolve(101))
    socket.on('error', () => {})
  })

test('a page receives the events of its topics in order, once each, and none of another account', async () => {
  const [ada, bob] = [await tenant(), await tenant()]
  await recordEvents(ada) // before the page subscribed
  const page = await open(ada, { topics: ['inbox'] })
  await recordEvents(bob, 5)
  await recordEvents(ada, 3, 'number.purchased')
  await recordEvents(ada, 100)
  await until(async () => page.events().length >= 100)
  assert.deepEqual(names(page.events()), numbered(100))
  const [{ name, topics, logged } = assert.fail()] = page.events()
  assert.deepEqual([name, topics, logged], ['contact.created', ['inbox'], true])
})

test('an event that another process recorded reaches the page within half a second', async () => {
  const ada = await tenant()
  const page = await open(ada)
  // The test's own process hears of its commits at once. This statement is one that it does not hear of.
  await isQuick(500, async () => {
    const before = page.events().length
    const id = uuid()
    await db.run`
      select * from events_record(array[${ada.id}]::uuid[], array[${id}]::uuid[], array['contact.created'],
        array[null]::uuid[], array[null]::text[], array[null]::text[], array[null]::timestamptz[], array[null]::uuid[],
        array['{"first_name":"Ada 0"}'])`
    const began = performance.now()
    await until(async () => page.events().length === before + 1)
    return performance.now() - began
  })
})

test('an event that becomes visible after later ones is sent too', async () => {
  const ada = await tenant()
  const page = await open(ada)
  await db.begin(async (tx) => {
    await record(tx, [
      { account: ada.id, name: 'contact.created', channel: null, conversation: null, payload: { first_name: 'late' } },
    ])
    await recordEvents(ada)
    await until(async () => page.events().length === 1)
  })
  await until(async () => page.events().length === 2)
  assert.deepEqual(names(page.events()), ['Ada 0', 'late'])
})

test('a page that reconnects receives what it missed behind its last event', async () => {
  const ada = await tenant()
  const page = await open(ada)
  await recordEvents(ada)
  await until(async () => page.events().length === 1)
  const last = page.events()[0]?.id ?? ''
  page.socket.terminate()
  await recordEvents(ada, 700)
  const again = await open(ada, { query: `?after=${last}` })
  await until(async () => again.events().length >= 700)
  // The events of the last ten seconds before the last one may be repeated.
  const missed = again.events().filter(({ id }) => id !== last)
  assert.deepEqual(names(missed), numbered(700))
  const count = again.events().length
  await recordEvents(ada)
  await until(async () => again.events().length > count)
  assert.deepEqual(names(again.events().slice(count)), ['Ada 0'])
})

test('a page that may see only some conversations receives what it missed of these alone, and what follows too', async () => {
  const ada = await tenant()
  const [hidden, free] = ['+447911000001', '+447911000002']
  await db.run`
    insert into conversations (account_id, id, counterpart, name, status, assignee_id, last_at, last_item, last_kind,
      last_text, created_at)
    values (${ada.id}, ${uuid()}, ${hidden}, 'x', 'open', ${uuid()}, now(), ${uuid()}, 'sms', '', now())`
  const write = (...texts: readonly (readonly [from: string, text: string])[]) =>
    db.begin((tx) =>
      record(
        tx,
        texts.map(([from_number, text]) => ({
          ...{ account: ada.id, name: 'sms.message.received', channel: null, conversation: null },
          payload: { from_number, text },
        })),
      ),
    )
  const texts = (page: Awaited<ReturnType<typeof open>>) => page.events().map(({ data }) => data.text)
  const narrowed = await open(ada, { scopes: ['inbox'] })
  const { after: position } = narrowed.of('hello')[0] ?? assert.fail()
  await write([hidden, 'secret 1'], [free, 'first'], [hidden, 'secret 2'], [free, 'second'])
  await until(async () => texts(narrowed).length === 2)
  assert.deepEqual(texts(narrowed), ['first', 'second'])
  narrowed.socket.terminate()
  await write([hidden, 'secret 3'], [free, 'third'])
  const again = await open(ada, { scopes: ['inbox'], query: `?after=${position}` })
  const all = await open(ada, { query: `?after=${position}` })
  await until(async () => texts(again).includes('third') && texts(all).length >= 6)
  await write([hidden, 'secret 4'], [free, 'fourth'])
  await until(async () => texts(again).includes('fourth') && texts(all).includes('secret 4'))
  assert.deepEqual(texts(again), ['first', 'second', 'third', 'fourth'])
})

test('a page that connects for the first time receives the events since it began to read', async () => {
  const ada = await tenant()
  const since = new Date().toISOString()
  await recordEvents(ada, 2)
  const page = await open(ada, { query: `?since=${since}` })
  await until(async () => page.events().length === 2)
  await recordEvents(ada)
  await until(async () => page.events().length === 3)
  assert.deepEqual(names(page.events()), [...numbered(2), 'Ada 0'])
  const { cookie } = await signIn(ada)
  assert.equal(await refusal({ cookie, origin: originOf(first) }, liveProtocol, '?since=yesterday'), 400)
})

test('a page that follows a further topic receives its last events, which it may not have read, and no others twice', async () => {
  const ada = await tenant()
  const page = await open(ada, { topics: ['numbers'] })
  const witness = await open(ada)
  await recordEvents(ada, 1, 'number.purchased')
  await until(async () => page.events().length === 1)
  // The page asks for its list. This is recorded after the answer, and before the server knows the new topic.
  await recordEvents(ada, 2)
  await until(async () => witness.events().length === 2)
  page.send({ type: 'subscribe', account: ada.uuid, topics: ['inbox', 'numbers'] })
  await until(async () => page.events().length === 3)
  await recordEvents(ada)
  await until(async () => page.events().length === 4)
  const shown = page.events().map(({ name, data, earlier }) => [name, data.first_name, earlier])
  assert.deepEqual(shown, [
    ['number.purchased', 'Ada 0', undefined],
    ['contact.created', 'Ada 0', true],
    ['contact.created', 'Ada 1', true],
    ['contact.created', 'Ada 0', undefined],
  ])
})

test('a page that is more than 5,000 events behind, or behind the log, must load again', async () => {
  const ada = await tenant()
  const before = `EVT${uuid()}`
  for (let i = 0; i < 6; i++) await recordEvents(ada, 1_000)
  const far = await open(ada, { query: `?after=${before}` })
  await until(async () => far.of('resync').length === 1)
  assert.equal(far.of('resync')[0]?.reason, 'too_far_behind')
  const old = await open(ada, { query: '?after=EVT01800000-0000-7000-8000-000000000000' })
  await until(async () => old.of('resync').length === 1)
  assert.equal(old.of('resync')[0]?.reason, 'expired')
  await recordEvents(ada)
  await until(async () => names(old.events()).includes('Ada 0'))
})

test('at most 256 events are sent without an acknowledgement, and a page that stays behind must load again', async () => {
  const ada = await tenant()
  const page = await open(ada, { isPolite: false })
  await recordEvents(ada, 600)
  await until(async () => page.events().length === maxUnansweredEvents)
  await recordEvents(ada, 1)
  page.send({ type: 'ping' })
  await until(async () => page.of('head').length === 1)
  assert.equal(page.events().length, maxUnansweredEvents)
  assert.equal(page.of('head')[0]?.id, page.events().at(-1)?.id)
  page.send({ type: 'ack', id: page.events().at(-1)?.id })
  await until(async () => page.events().length === 2 * maxUnansweredEvents)
  await recordEvents(ada, 1_000)
  await until(async () => page.of('resync').length > 0)
})

test('only topics that the session may follow are subscribed, and the others are refused by name', async () => {
  const [ada, bob] = [await tenant(), await tenant()]
  const hook = { hook_url: 'http://127.0.0.1:1024/a' }
  const subscribe = async (who: Tenant) =>
    (await call(who, 'POST', '/open/webhooks/subscribe/contact.created', hook)).body.data.uuid
  const [own, foreign] = [await subscribe(ada), await subscribe(bob)]
  const page = await open(ada, {
    scopes: ['money', 'develop'],
    topics: ['money', 'inbox', 'team', 'pigeons', `webhook:${own}`, `webhook:${foreign}`, `webhook:WHK${uuid()}`],
  })
  assert.deepEqual(page.of('subscribed')[0]?.topics, ['money', `webhook:${own}`])
  const refused = page.of('refused').map(({ error_code: code }) => code)
  assert.deepEqual(refused, ['role', 'role', 'unknown_topic', 'not_found', 'not_found'])
  page.send({ type: 'subscribe', account: bob.uuid, topics: ['money'] })
  await until(async () => page.of('refused').length === 6)
  await recordEvents(bob, 2, 'balance.low')
  await recordEvents(ada, 1, 'balance.low')
  page.send({ type: 'subscribe', account: ada.uuid, topics: ['money'] })
  await until(async () => page.of('subscribed').length === 2)
  await recordEvents(ada, 1, 'balance.low')
  await until(async () => page.events().length > 0)
  assert.deepEqual(names(page.events()), ['Ada 0'])
})

test('an event of a member is sent to pages that follow the team, also after a reconnect', async () => {
  const ada = await tenant()
  await recordEvents(ada)
  const page = await open(ada, { topics: ['team'] })
  const { after: start } = page.of('hello')[0] ?? assert.fail()
  await recordEvents(ada, 1, 'contact.created')
  await recordEvents(ada, 1, 'member.joined')
  const logged = (of: typeof page) => of.events().filter((event) => event.logged)
  await until(async () => logged(page).length > 0)
  assert.deepEqual(
    logged(page).map(({ name, topics }) => [name, topics]),
    [['member.joined', ['team']]],
  )
  const later = await open(ada, { query: `?after=${start}`, topics: ['team'] })
  await until(async () => logged(later).some(({ name }) => name === 'member.joined'))
})

test('a change of the balance and an attempt of a delivery are reported live', async () => {
  const ada = await tenant()
  const hook = { hook_url: 'http://127.0.0.1:1024/b' }
  const { uuid: webhook } = (await call(ada, 'POST', '/open/webhooks/subscribe/contact.created', hook)).body.data
  const page = await open(ada, { topics: ['money', `webhook:${webhook}`, 'team'] })
  const named = (name: string) => page.events().filter((event) => event.name === name)
  const credit = () => db.begin((tx) => deposit(tx, ada.id, 1_000_000, { kind: 'credit' }))
  await until(async () => {
    // The first comparison shows what was there before.
    if (named('balance.changed').length === 0) await credit()
    return named('balance.changed').length > 0
  })
  assert.match(String(named('balance.changed')[0]?.data.balance), /^1\d\d\./)
  const event = await db.begin((tx) =>
    recordFor(tx, webhook.slice(3), {
      ...{ account: ada.id, name: 'contact.created', channel: null, conversation: null, payload: {} },
    }),
  )
  await until(async () => named('webhook.delivery').some(({ data }) => data.state === 'pending'))
  await db.run`
    update webhook_deliveries set state = 'delivered', next_at = null, tries = 1,
      attempts = '[{"at": "2026-11-23T00:00:00Z", "response_status": 200, "latency_ms": 41}]'
    where account_id = ${ada.id} and event_id = ${event}`
  await until(async () => named('webhook.delivery').some(({ data }) => data.state === 'delivered'))
  const [{ id, logged, data } = assert.fail()] = named('webhook.delivery').slice(-1)
  assert.deepEqual([id, logged, Object(data.attempt).response_status], [`EVT${event}`, false, 200])
})

test('a session that ends closes its sockets with 4401 within half a second, in every process', async () => {
  const ada = await tenant()
  await isQuick(600, async () => {
    const page = await open(ada)
    await db.begin(async (tx) => {
      await tx.run`update sessions set revoked_at = now() where id = ${page.session.id}`
      await invalidateTopic(tx, 'sessions')
    })
    const began = performance.now()
    await until(async () => page.closed() !== null)
    const took = performance.now() - began
    assert.deepEqual([page.closed(), page.of('bye')[0]?.code], [4401, 4401])
    return took
  })
  await recordEvents(ada)
})

test('a session whose rights change is closed with 4403', async () => {
  const ada = await tenant()
  const page = await open(ada)
  await db.begin(async (tx) => {
    await tx.run`update api_keys set scopes = array['money'] where id = ${page.session.key}`
    await invalidateTopic(tx, 'accounts')
  })
  await until(async () => page.closed() !== null)
  assert.deepEqual([page.closed(), page.of('bye')[0]?.code], [4403, 4403])
})

test('a page whose key expires is signed out with the next beat, and other pages stay', async (t) => {
  const [ada, bob] = [await tenant(), await tenant()]
  // A live feed of its own, whose beats the test decides, and whose keys all end when the test says so.
  const services = await assemble({ ...parts, config: { ...parts.config, port: 0 } })
  const ends = new Map<string, number>()
  const live = makeLive({
    ...services,
    sessions: {
      ...services.sessions,
      ofUpgrade: async (...request) => {
        const session = await services.sessions.ofUpgrade(...request)
        const limited = ({ expiresAt, ...key }: AccountKey) => ({
          ...key,
          get expiresAt() {
            return ends.get(key.id) ?? expiresAt
          },
        })
        return { ...session, accounts: session.accounts.map((one) => ({ ...one, key: limited(one.key) })) }
      },
    },
  })
  const server = createServer()
  server.on('upgrade', (request, socket, head) => void live.upgrade.open(request, socket, head))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(async () => {
    await live.close()
    server.close()
    services.changes.stop()
  })
  const { port } = server.address() as AddressInfo // a TCP server
  const [expiring, lasting] = [await open(ada, { port }), await open(bob, { port })]
  const beat = live.periodic.find(({ everyMs }) => everyMs === headMs) ?? assert.fail('no beat')
  await beat.run()
  await until(async () => expiring.of('head').length === 1 && lasting.of('head').length === 1)
  // The answer to a frame comes behind that to the ping of the beat, without which the next beat closes the page.
  for (const page of [expiring, lasting]) page.send({ type: 'ping' })
  await until(async () => expiring.of('head').length === 2 && lasting.of('head').length === 2)
  ends.set(expiring.session.key, Date.now())
  await beat.run()
  await until(async () => expiring.closed() !== null && lasting.of('head').length === 3)
  assert.deepEqual([expiring.closed(), expiring.of('bye')[0]?.code, lasting.closed()], [4401, 4401, null])
})

test('an upgrade needs a session, our own origin and the subprotocol', async () => {
  const { cookie } = await signIn(await tenant())
  const origin = originOf(first)
  assert.equal(await refusal({ origin }), 401)
  assert.equal(await refusal({ origin, cookie: 'trunkline=wrong' }), 401)
  assert.equal(await refusal({ cookie }), 403)
  assert.equal(await refusal({ cookie, origin: 'http://elsewhere.example' }), 403)
  assert.equal(await refusal({ cookie, origin: originOf(second) }), 403)
  assert.equal(await refusal({ cookie, origin }, null), 400)
  assert.equal(await refusal({ cookie, origin }), 101)
})

test('a session has at most ten sockets, and a frame that is no frame closes the socket', async () => {
  const who = await tenant()
  const page = await open(who, { topics: [] })
  const headers = { cookie: page.session.cookie, origin: originOf(first) }
  for (let i = 0; i < 9; i++) assert.equal(await refusal(headers), 101)
  assert.equal(await refusal(headers), 429)
  page.socket.send('{"type":"subscribe"}')
  await until(async () => page.closed() === 1003)
})

test('a page that asks without reading the replies is closed before they fill the memory', async () => {
  const page = await open(await tenant())
  page.socket.pause()
  // 20 MB of replies: more than the system keeps for a connection.
  for (let i = 0; i < 200_000; i++) page.socket.send('{"type":"ping"}')
  await until(async () => page.socket.bufferedAmount === 0 || page.closed() !== null)
  page.socket.resume()
  await until(async () => page.closed() !== null)
})

test('many sessions of one account leave sockets for other accounts, also without a subscription', async () => {
  const [greedy, modest] = [await tenant(), await tenant()]
  const headersOf = async (who: Tenant) => ({ cookie: (await signIn(who)).cookie, origin: originOf(first) })
  const all = await Promise.all(Array.from({ length: maxSocketsOfAccount / 10 }, () => headersOf(greedy)))
  const answers = await Promise.all(all.flatMap((headers) => Array.from({ length: 10 }, () => refusal(headers))))
  assert.deepEqual([...new Set(answers)], [101])
  assert.equal(await refusal(await headersOf(greedy)), 429)
  assert.equal(await refusal(await headersOf(modest)), 101)
})
