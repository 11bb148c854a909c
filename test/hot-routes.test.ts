import assert from 'node:assert/strict'
import { randomInt } from 'node:crypto'
import diagnostics from 'node:diagnostics_channel'
import { type AddressInfo, connect } from 'node:net'
import { after, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import fc from 'fast-check'
import { issueKey } from '../src/domains/accounts/ops.ts'
import { makeMetrics } from '../src/platform/http/metrics.ts'
import { makeRateLimiter } from '../src/platform/http/rate-limiter.ts'
import type { FinishedRequest } from '../src/platform/http/request-log.ts'
import { buildApp } from '../src/start-roles.ts'
import { type Wire, wires } from './fuzz/wire.ts'
import { until } from './platform.ts'
import { makeWorld, type Tenant } from './world.ts'

// One installation answers its hot routes before Fastify, the other one leaves them to Fastify. Both receive the same
// bytes. Their responses, their databases and their counters must be the same.
//
//   TRUNKLINE_FUZZ_SEED    another seed than 1; the long form takes a new one
//   TRUNKLINE_FUZZ_INPUTS  the number of connections of the long form (npm run fuzz)

const long = process.env.TRUNKLINE_TEST_LONG === '1'
const connections = long ? Number(process.env.TRUNKLINE_FUZZ_INPUTS ?? 20_000) : 220
const seed = Number(process.env.TRUNKLINE_FUZZ_SEED ?? (long ? randomInt(2 ** 31) : 1))

const number = '+447700900001'
const chatNumber = '+441514960001'
const at = "'2026-01-01T00:00:00Z'"

/** The same ids in both installations. */
const idOf = (n: number): string => `018f0000-0000-7000-8000-${String(n).padStart(12, '0')}`

const open = async (isHot: boolean) => {
  const world = await makeWorld({ TRUNKLINE_SANDBOX: 'true' })
  const { db } = world
  // A frozen clock keeps the leases, and with them the header ratelimit, independent of the time of a request.
  const rateLimiter = makeRateLimiter(db, world.parts.changes, () => 0)
  const metrics = makeMetrics()
  const logged: FinishedRequest[] = []
  const requestLog = {
    isSampled: () => true,
    record: (request: FinishedRequest) => void logged.push(request),
    flush: async () => {},
  }
  const app = await buildApp({ ...world.parts, rateLimiter, metrics, requestLog })
  await app.ready()
  if (!isHot)
    app.server.removeAllListeners('request').on('request', (request, response) => app.routing(request, response))
  await app.listen({ host: '127.0.0.1', port: 0 })
  after(() => app.close())
  const { port } = app.server.address() as AddressInfo // a TCP server

  await db.run`insert into prices (kind, prefix, price) values ('sms_out', '44', 0.05)`
  const connection = idOf(9)
  await db.run`
    insert into connections (id, kind, name, settings, enabled)
    values (${connection}, 'sandbox', 'idle', ${{}}, false)`
  const keys: Record<string, string> = { none: '', wrong: 'x'.repeat(40), short: 'x', operator: world.operatorKey }
  const furnish = async (name: string, tenant: Tenant, n: number) => {
    keys[name] = tenant.key
    await db.raw(`
      insert into virtual_numbers (account_id, id, number, group_id, iso_country_code, region_name, type, friendly_name,
        monthly_price, ppm, status_text, expires_at)
      values ('${tenant.id}', '${idOf(n)}', '${number.slice(0, -1)}${n}', 'test', 'GB', '', 'mobile', 'test', 1, 0, 'ACTIVE', 'infinity');
      insert into sms_channels (account_id, id, virtual_number_id, phone_number, friendly_name, iso_country_code,
        supports_sms_in, supports_sms_out)
      values ('${tenant.id}', '${idOf(n)}', '${idOf(n)}', '${number.slice(0, -1)}${n}', 'test', 'GB', true, true);
      insert into msgapp_channels (account_id, id, connection_id, platform, phone_number, friendly_name,
        iso_country_code, timezone, created_at, updated_at)
      values ('${tenant.id}', '${idOf(n)}', '${connection}', 'sandbox', '${chatNumber.slice(0, -1)}${n}', 'test', 'GB',
        'Europe/London', ${at}, ${at});
      insert into msgapp_links (account_id, channel_id, phase, reason, since, proved_at)
      values ('${tenant.id}', '${idOf(n)}', 'connected', 'test', ${at}, 'infinity')`)
  }
  const options = { balance: '1000000', requestsPerMinute: 100_000_000 }
  const rich = await world.tenant(options)
  await furnish('rich', rich, 1)
  await furnish('poor', await world.tenant({ ...options, balance: '0' }), 2)
  await furnish('slow', await world.tenant({ ...options, requestsPerMinute: 1 }), 3)
  const [used, blocked] = [await world.tenant(options), await world.tenant(options)]
  const accounts = [rich.id, used.id, blocked.id]
  await furnish('used', used, 4)
  await furnish('blocked', blocked, 5)
  const limits = { scopes: null, expires_at: null, allowed_addresses: null }
  const limited = async (name: string, more: object) => {
    keys[name] = (await db.begin((tx) => issueKey(tx, rich.id, name, undefined, { ...limits, ...more }))).key
  }
  await limited('expired', { expires_at: new Date('2026-01-01') })
  await limited('here', { allowed_addresses: ['127.0.0.0/8'] })
  await limited('elsewhere', { allowed_addresses: ['192.0.2.0/24'] })
  await limited('unscoped', { scopes: ['contacts'] })
  await db.run`update accounts set max_api_requests = 40 where id = ${used.id}`
  await db.run`update accounts set blocked = true where id = ${blocked.id}`
  await db.run`insert into changes (topic) values ('accounts'), ('prices'), ('numbers')
    on conflict (topic) do update set version = changes.version + 1`
  await until(async () => world.parts.prices.of('sms_out', '+447700900123') !== null)

  const rows = (query: string) => db.raw<object>(query)
  const requests = async () => {
    await rateLimiter.flush()
    return await rows('select api_requests, count(*) from rate_limit_usage group by 1 order by 1')
  }
  const effects = async () => ({
    sms: await rows(`select channel_id, contact, number, text, encoding, fragments, price, status, count(*)
      from sms_messages group by 1, 2, 3, 4, 5, 6, 7, 8 order by 1, 2, 3, 4, 5, 6, 7, 8`),
    chat: await rows(`select channel_id, peer, text, pin::text, direction, sent_by, count(*) from msgapp_messages
      group by 1, 2, 3, 4, 5, 6 order by 1, 2, 3, 4, 5, 6`),
    // Which messages share a job depends on the time. The payload has their ids, 128 bits each, in base64.
    jobs: await rows(`select kind, sum(coalesce(length(payload ->> 'ids') * 6 / 128, 1)) as count,
      count(*) filter (where run_at > app_now()) as later from jobs group by 1 order by 1`),
    spent: await rows('select balance, count(*) from balances group by 1 order by 1'),
    keys: await rows(`select key, path, status, encode(request_hash, 'hex') as hash from idempotency order by 1, 2`),
  })
  // Not the request that ends a connection.
  const counts = async () => ({
    counted: new Map(
      (await metrics.registry.metrics())
        .split('\n')
        .filter((line) => line.includes('duration_seconds_count') && !line.includes('/open/info'))
        .map((line) => [line.slice(0, line.lastIndexOf(' ')), Number(line.slice(line.lastIndexOf(' ')))] as const),
    ),
    logged: Map.groupBy(
      logged.filter(({ route }) => route !== '/open/info'),
      ({ key, method, route, status, errorCode }) =>
        [accounts.indexOf(key.account.id), method, route, status, errorCode].join(' '),
    ),
  })
  const countsSince = async (before: Awaited<ReturnType<typeof counts>>) => {
    const { counted, logged } = await counts()
    return [
      ...[...counted].map(([what, n]) => `${what} ${n - (before.counted.get(what) ?? 0)}`),
      ...[...logged].map(([what, all]) => `${what} ${all.length - (before.logged.get(what)?.length ?? 0)}`),
    ]
      .filter((line) => !line.endsWith(' 0'))
      .sort()
  }
  return { port, keys, effects, requests, counts, countsSince, world, account: rich.id }
}

const [hot, plain] = [await open(true), await open(false)]
type Installation = typeof hot

/** Sends the bytes of a connection as its plan says. @returns all bytes of the responses */
const exchange = async ({ port, keys }: Installation, wire: Wire): Promise<string> => {
  const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true })
  socket.setNoDelay(true)
  let text = ''
  socket.on('data', (data) => {
    text += data.toString('latin1')
  })
  socket.on('error', () => {})
  const closed = new Promise((resolve) => socket.once('close', resolve))
  const patience = setTimeout(() => {
    text += 'The connection stayed open'
    socket.destroy()
  }, 5_000)
  socket.on('end', () => socket.end())
  for (const piece of wire.pieces(keys)) {
    socket.write(piece)
    if (wire.pauseMs > 0) await sleep(wire.pauseMs)
  }
  if (wire.isCutShort) {
    // The server must have read the last piece before the end of the connection.
    await sleep(20)
    socket.end()
  }
  await closed
  clearTimeout(patience)
  return text
}

/** Removes what differs between any two responses: the date and ids. */
const canonical = (text: string): string =>
  text
    .replace(/^Date: .*$/gim, 'Date')
    // Request ids differ in length too.
    .replace(
      /content-length: (\d+)(\r\n(?:(?!HTTP\/1).)*?"request_id":"(req_[\w-]+)")/gs,
      (_, length: string, rest: string, id: string) => `content-length: ${Number(length) - id.length}${rest}`,
    )
    .replace(/req_[\w-]+/g, 'req')
    .replace(/\b(SMO|MSG)[0-9a-f-]{36}/g, '$1')
    // The wait of an account without requests left depends on the time.
    .replace(/HTTP\/1\.1 429 .*?"error_message":"[^"]*"/gs, (refusal) => refusal.replace(/\d+/g, 'n'))

/**
 * Removes what is left of a large allowance too. Whether a request is counted that was read but not answered, as the
 * connection ended, depends on the time; so does the order in which requests are counted that do not wait for each other.
 */
const timeless = (text: string): string => canonical(text).replace(/;r=\d{5,};/g, ';r=n;')

const described = (wire: Wire, one: string, other: string): string => {
  const sent = JSON.stringify(Buffer.concat(wire.pieces(hot.keys)).toString('latin1'))
  return `${sent.slice(0, 4_000)} (${wire.pauseMs} ms, ${wire.isCutShort})\nhot: ${canonical(one)}\nplain: ${canonical(other)}`
}

const body = (from: string) => JSON.stringify({ from_number: from, to_number: '+447700900123', text: 'Hello' })
const post = ({ keys }: Installation, path: string, json: string, by = 'rich') =>
  `POST ${path} HTTP/1.1\r\nHost: localhost\r\nX-User-API-Key: ${keys[by]}\r\nContent-Type: application/json\r\nContent-Length: ${json.length}\r\n\r\n${json}`
const sms = (one: Installation, by?: string) => post(one, '/open/sms/send', body(number), by)
const chat = (one: Installation, by?: string) => post(one, '/open/msgapp/send-message', body(chatNumber), by)

/** Sends requests to one installation and then to the other one. @returns the response of both, if they are the same */
const sameResponse = async (send: (one: Installation) => Promise<string>): Promise<string> => {
  const [one, other] = [await send(hot), await send(plain)]
  assert.equal(canonical(one), canonical(other))
  return one
}

const accepted = (text: string): number => text.match(/HTTP\/1\.1 202 /g)?.length ?? 0

test('a plain request is answered before Fastify, and the first one of each route by Fastify', async () => {
  const reached: number[] = []
  let count = 0
  const note = () => {
    count++
  }
  diagnostics.subscribe('tracing:fastify.request.handler:start', note)
  const send = async (one: Installation, ...wanted: string[]) => {
    count = 0
    let said = ''
    for (const bytes of wanted) said += await exchange(one, wires.of(bytes))
    reached.push(count)
    return said
  }
  // The first request finds no lease, and the first one of each route no compiled schema.
  assert.equal(accepted(await sameResponse((one) => send(one, sms(one), chat(one)))), 2)
  assert.equal(accepted(await sameResponse((one) => send(one, (sms(one) + chat(one)).repeat(3)))), 6)
  diagnostics.unsubscribe('tracing:fastify.request.handler:start', note)
  assert.deepEqual(reached, [2, 2, 0, 6])
})

/** Both values, once they are equal: work for a client that left may still end. */
const settled = async <Value>(read: (one: Installation) => Promise<Value>): Promise<[Value, Value]> => {
  const both = async (): Promise<[Value, Value]> => [await read(hot), await read(plain)]
  const equal = async () => {
    const found = await both()
    return isDeepStrictEqual(...found) && found
  }
  return await until(equal, 10).catch(both)
}

test('hot routes count the requests that Fastify counts', async () => {
  // Every key is cached from now on: whether a client leaves during a look-up depends on the time.
  for (const by of Object.keys(hot.keys)) await sameResponse((one) => exchange(one, wires.of(sms(one, by))))
  const before = new Map([
    [hot, await hot.counts()],
    [plain, await plain.counts()],
  ])
  for (const by of Object.keys(hot.keys))
    await sameResponse((one) => {
      // The last number is the one of the account without money.
      const bodies = ['{}', '{', body('+447700900099'), body('+447700900002')]
      const refused = bodies.map((json) => post(one, '/open/sms/send', json, by))
      return exchange(one, wires.of([sms(one, by), chat(one, by), ...refused].join('')))
    })
  const [one, other] = await settled((each) => each.countsSince(before.get(each) ?? assert.fail()))
  assert.deepEqual(one, other)
  assert.deepEqual(...(await settled((each) => each.requests())))
  for (const status of ['202', '400', '401', '402', '403', '429'])
    assert.ok(
      one.some((line) => line.includes(status)),
      `no request was counted with ${status}`,
    )
})

test('hot routes have the effects that Fastify has', async () => {
  for (const wire of fc.sample(wires.single, { seed, numRuns: connections }))
    await sameResponse((one) => exchange(one, wire))
  const [one, other] = await settled((each) => each.effects())
  assert.deepEqual(one, other)
  for (const found of [one.sms, one.chat, one.jobs, one.keys]) assert.ok(found.length > 0, JSON.stringify(one))
})

test('a request beyond the share of its account waits, and is then answered as Fastify does', async () => {
  const said = await sameResponse(async (one) => {
    const { external } = one.world.parts.limiters
    let held = 0
    while (external.tryAcquire(one.account)) held++
    const answer = exchange(one, wires.of(chat(one)))
    await until(async () => external.waiting(one.account) === 1)
    for (; held > 0; held--) external.release(one.account)
    return await answer
  })
  assert.equal(accepted(said), 1)
})

test('an error of the handler is answered and counted once, as Fastify does', async () => {
  let runs = 0
  const said = await sameResponse(async (one) => {
    const { accept } = one.world.parts
    const usual = accept.accept
    Reflect.set(accept, 'accept', () => {
      runs++
      return Promise.reject(new Error('a bug'))
    })
    const answer = await exchange(one, wires.of(sms(one)))
    Reflect.set(accept, 'accept', usual)
    return answer
  })
  assert.equal(runs, 2)
  assert.match(said, /HTTP\/1\.1 500 /)
})

test('a stopping installation closes the connections of hot routes too', async () => {
  const said = await sameResponse(async (one) => {
    const { lifecycle } = one.world.parts
    lifecycle.stopping = true
    const answer = await exchange(one, wires.of(sms(one)))
    lifecycle.stopping = false
    return answer
  })
  assert.match(said, /HTTP\/1\.1 202 (?:.|\r|\n)*\r\nconnection: close\r\n/)
})

// Last: its connections end before all of their requests are answered, so that counts and messages depend on the time.
test(`hot routes answer as Fastify does, byte by byte (TRUNKLINE_FUZZ_SEED=${seed})`, async () => {
  const statuses = new Map<string, number>()
  const property = fc.asyncProperty(wires.any, async (wire) => {
    const send = () => Promise.all([exchange(hot, wire), exchange(plain, wire)])
    let [one, other] = await send()
    // Invalid HTTP ends a connection, with or without the responses that still wait for the database. A difference that
    // does not depend on the time comes again.
    for (let i = 0; i < 3 && timeless(one) !== timeless(other); i++) [one, other] = await send()
    for (const [, status = ''] of one.matchAll(/HTTP\/1\.1 (\d{3}) /g))
      statuses.set(status, (statuses.get(status) ?? 0) + 1)
    if (timeless(one) !== timeless(other)) assert.equal(timeless(one), timeless(other), described(wire, one, other))
  })
  await fc.assert(property, { seed, numRuns: connections, endOnFailure: long })
  assert.ok((statuses.get('202') ?? 0) > connections / 4, JSON.stringify([...statuses]))
  for (const status of ['400', '401', '402', '403', '404', '409', '413', '415', '422', '429'])
    assert.ok(statuses.has(status), `no request was answered ${status}: ${JSON.stringify([...statuses])}`)
})
