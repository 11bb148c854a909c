import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type Socket } from 'node:net'
import { type TestContext, test } from 'node:test'
import type { SmsCarrier, SubmitResult } from '../../ports/sms.ts'
import { smsHttpDriver } from './sms-http-driver.ts'
import type { GenericSettings } from './sms-http-settings.ts'
import { testPart } from './testing.ts'

// A provider that does everything wrong. Each case is what a submit becomes.

/** Answers a whole request by its path. */
type Behaviour = (socket: Socket, path: string) => void

const listen = async (t: TestContext, behave: Behaviour) => {
  const requests: string[] = []
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    sockets.add(socket)
    let text = ''
    socket.on('error', () => {})
    socket.on('data', (chunk) => {
      text += chunk.toString('latin1')
      const head = text.indexOf('\r\n\r\n')
      const length = Number(/content-length: (\d+)/i.exec(text)?.[1] ?? 0)
      if (head < 0 || text.length < head + 4 + length) return
      const path = text.split(' ', 2)[1] ?? ''
      requests.push(path)
      text = ''
      behave(socket, path)
    })
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  const bound = server.address()
  return { port: typeof bound === 'object' ? (bound?.port ?? 0) : 0, requests, close: () => server.close() }
}

const connect = async (t: TestContext, port: number, more: Partial<GenericSettings> = {}): Promise<SmsCarrier> => {
  const settings: GenericSettings = {
    ...{ provider: 'generic', url: `http://127.0.0.1:${port}/{text}`, body: '{"to":"{to}"}' },
    ...{ id_path: '/id', error_path: '/code', response_seconds: 1, ...more },
  }
  const carrier = await smsHttpDriver.connect(settings, {
    events: {
      ...{ inbound: async () => {}, receipt: async () => {}, receiptIfSent: async () => false },
      ...{ unparsed: async () => {}, changed: () => {} },
    },
    share: { held: 1, of: 1 },
    mayCountFormerLinks: () => false,
    log: () => {},
    traces: false,
  })
  t.after(() => carrier.close())
  return carrier
}

const respond = (socket: Socket, status: string, body: string, headers = '') =>
  socket.write(`HTTP/1.1 ${status}\r\ncontent-length: ${Buffer.byteLength(body)}\r\n${headers}\r\n${body}`)

const behaviours: Record<string, (socket: Socket) => void> = {
  taken: (socket) => respond(socket, '200 OK', '{"id":"1"}'),
  hangs: () => {},
  resets: (socket) => socket.resetAndDestroy(),
  ends: (socket) => socket.end(),
  half: (socket) => socket.end('HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{"id":'),
  twice: (socket) => {
    respond(socket, '200 OK', '{"id":"1"}')
    respond(socket, '400 Bad Request', '{"code":"second"}')
  },
  json: (socket) => respond(socket, '200 OK', '{"id":"1"'),
  deep: (socket) => respond(socket, '200 OK', '['.repeat(60_000)),
  large: (socket) => {
    socket.write('HTTP/1.1 200 OK\r\ncontent-length: 10485760\r\n\r\n')
    socket.write(Buffer.alloc(10_485_760, 0x20))
  },
  redirects: (socket) => respond(socket, '302 Found', '', 'location: http://127.0.0.1:1/elsewhere\r\n'),
  broken: (socket) => respond(socket, '500 Internal Server Error', 'stack trace'),
  throttles: (socket) => respond(socket, '429 Too Many Requests', '{"code":"slow"}'),
  busy: (socket) => respond(socket, '503 Service Unavailable', ''),
  refuses: (socket) => respond(socket, '400 Bad Request', '{"code":"Bad Number!","words":"no such number"}'),
  babbles: (socket) => socket.end('SSH-2.0-OpenSSH_9.2\r\n'),
}

const summary = (result: SubmitResult): string =>
  result.outcome === 'accepted' ? `accepted ${result.carrierId}` : `${result.outcome} ${result.reason}`

/** A carrier whose connection is open and idle. */
const warm = async (t: TestContext, port: number): Promise<SmsCarrier> => {
  const carrier = await connect(t, port)
  assert.equal((await carrier.submit(testPart({ text: 'taken' }))).outcome, 'accepted')
  return carrier
}

test('a hostile provider: each answer maps to one outcome, and no request is sent twice', async (t) => {
  const { port, requests } = await listen(t, (socket, path) => behaviours[path.slice(1)]?.(socket))
  const cases: [behaviour: string, outcome: string][] = [
    ['taken', 'accepted 1'],
    // On the connection that the first request left open, where other clients would repeat it.
    ['resets', 'unknown unanswered'],
    ['taken', 'accepted 1'],
    ['ends', 'unknown unanswered'],
    ['hangs', 'unknown unanswered'],
    ['half', 'unknown unanswered'],
    ['twice', 'accepted 1'],
    ['taken', 'accepted 1'],
    ['json', 'unknown unanswered'],
    ['deep', 'unknown unanswered'],
    ['large', 'unknown unanswered'],
    ['redirects', 'refused http_302'],
    ['broken', 'unknown unanswered'],
    ['babbles', 'unknown unanswered'],
    ['refuses', 'refused generic_bad_number'],
  ]
  for (const [behaviour, outcome] of cases) {
    // A carrier of its own for each: a carrier that fails is down.
    const carrier = behaviour === 'resets' || behaviour === 'ends' ? await warm(t, port) : await connect(t, port)
    const before = requests.length
    const result = await carrier.submit(testPart({ text: behaviour }))
    assert.equal(summary(result), outcome, behaviour)
    assert.equal(requests.length - before, 1, behaviour)
  }
})

test('a busy provider gets the message again, after the time that it names', async (t) => {
  const { port } = await listen(t, (socket, path) => {
    if (path === '/later') respond(socket, '429 Too Many Requests', '{"code":"slow"}', 'retry-after: 30\r\n')
    else behaviours[path.slice(1)]?.(socket)
  })
  for (const [text, reason] of [
    ['throttles', 'generic_slow'],
    ['busy', 'http_503'],
  ] as const) {
    const result = await (await connect(t, port)).submit(testPart({ text }))
    assert.deepEqual([result.outcome, summary(result)], ['retry', `retry ${reason}`])
  }
  const carrier = await connect(t, port)
  const first = await carrier.submit(testPart({ text: 'later' }))
  assert.ok(first.outcome === 'retry' && first.wasSent && first.seconds === 5)
  const second = await carrier.submit(testPart({ text: 'taken' }))
  assert.ok(second.outcome === 'retry' && !second.wasSent && second.seconds > 25, JSON.stringify(second))
})

test('a connection that is never made leaves the message unsent, and three in a row make the carrier down', async (t) => {
  const { port, close } = await listen(t, (socket) => respond(socket, '200 OK', '{"id":"1"}'))
  close()
  const carrier = await connect(t, port)
  for (let i = 0; i < 3; i++) {
    assert.equal(carrier.isUp(), true)
    const result = await carrier.submit(testPart())
    assert.deepEqual([result.outcome, 'wasSent' in result && result.wasSent], ['retry', false])
  }
  assert.deepEqual([carrier.state().state, carrier.isUp(), carrier.freeWindow()], ['down', false, 0])
  assert.match(carrier.state().lastError ?? '', /ECONNREFUSED/)
  const held = await carrier.submit(testPart())
  assert.ok(held.outcome === 'retry' && !held.wasSent && held.reason === 'link_down')
})

test('a carrier that is down is up again once a part that may try it gets an answer', async (t) => {
  const begun = performance.now()
  let skew = 0
  t.mock.method(performance, 'now', () => begun + skew)
  let isMute = true
  const { port } = await listen(t, (socket) => (isMute ? socket.destroy() : respond(socket, '200 OK', '{"id":"1"}')))
  const carrier = await connect(t, port)
  for (let i = 0; i < 3; i++) assert.equal((await carrier.submit(testPart())).outcome, 'unknown')
  assert.equal(carrier.isUp(), false)
  skew = 10_001
  assert.deepEqual([carrier.state().state, carrier.isUp(), carrier.freeWindow()], ['down', true, 1])
  isMute = false
  const probe = carrier.submit(testPart())
  assert.equal(carrier.freeWindow(), 0)
  assert.equal((await probe).outcome, 'accepted')
  assert.deepEqual([carrier.state().state, carrier.freeWindow()], ['up', 10])
})

test('a provider that refuses the credentials gets nothing for five minutes, or until a test succeeds', async (t) => {
  const begun = performance.now()
  let skew = 0
  t.mock.method(performance, 'now', () => begun + skew)
  let isDenied = true
  const { port, requests } = await listen(t, (socket) =>
    isDenied
      ? respond(socket, '401 Unauthorized', '{"code":"E1","words":"wrong key"}')
      : respond(socket, '200 OK', '{"id":"1"}'),
  )
  const carrier = await connect(t, port, { test_url: `http://127.0.0.1:${port}/balance` })
  const denied = async () => {
    assert.equal(summary(await carrier.submit(testPart())), 'retry link_down')
    const { state, fatal, lastError } = carrier.state()
    assert.deepEqual([state, fatal, carrier.isUp(), carrier.freeWindow()], ['down', true, false, 0])
    assert.match(lastError ?? '', /^the provider refused the credentials \(401\): .*wrong key/)
  }
  await denied()
  const before = requests.length
  skew = 299_000
  await denied()
  assert.equal(requests.length, before)
  skew = 300_001
  assert.equal(carrier.isUp(), true)
  await denied()
  assert.equal(requests.length, before + 1)
  isDenied = false
  assert.equal((await carrier.test?.())?.working, true)
  assert.deepEqual([carrier.state().state, carrier.state().fatal, carrier.isUp()], ['up', false, true])
})

test('a test asks where the settings say, and says what the provider answers', async (t) => {
  const { port, requests } = await listen(t, (socket, path) =>
    path === '/balance' ? respond(socket, '401 Unauthorized', 'wrong key') : behaviours.taken?.(socket),
  )
  const asked = await connect(t, port, { test_url: `http://127.0.0.1:${port}/balance` })
  assert.deepEqual(await asked.test?.(), { working: false, message: 'the provider answered 401: wrong key' })
  const silent = await (await connect(t, port)).test?.()
  assert.equal(silent?.working, true)
  assert.match(silent?.message ?? '', /send a message to a number of yours/)
  assert.deepEqual(requests, ['/balance'])
})
