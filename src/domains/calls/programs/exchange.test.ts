import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { createServer } from 'node:net'
import { type TestContext, test } from 'node:test'
import { makeOutbound, type PostRequest } from '../../../platform/lib/outbound.ts'
import { type ExchangeReport, requestWithFallback } from './exchange.ts'
import type { ProgramRequest, RequestWriter, ResolvedProgram, WrittenRequest } from './program.ts'
import {
  type Answer,
  makeProgramDeps,
  openOutbound,
  openProgram,
  programCall,
  resolvedProgram,
  secret,
} from './program-testing.ts'

const content: ProgramRequest = {
  event: 'verb.completed',
  sequence: 4,
  call: { ...programCall, status: 'ANSWERED', tags: { order: 7 } },
  verb: { id: 'menu', name: 'gather' },
  result: { reason: 'digits', digits: '2' },
  error: null,
}

const open = async (t: TestContext, answers: Record<string, Answer>) => {
  const program = await openProgram(t, answers)
  const outbound = openOutbound(t)
  const reports: ExchangeReport[] = []
  const { deps } = makeProgramDeps('/nowhere')
  const ask = (
    path: string,
    own: Partial<ResolvedProgram> = {},
    by = outbound,
    method: 'GET' | 'POST' = 'POST',
    stated: Partial<WrittenRequest> = {},
  ) => {
    const url = path.startsWith('http') ? path : `${program.base}${path}`
    const signal = new AbortController().signal
    const native: RequestWriter = async (...parts) => ({ ...(await deps.writers.native(...parts)), ...stated })
    const exchange = {
      ...deps,
      writers: { ...deps.writers, native },
      outbound: by,
      signal,
      onExchange: (report: ExchangeReport) => void reports.push(report),
    }
    return requestWithFallback(exchange, resolvedProgram(url, own), { url, method }, content, () => 5)
  }
  const fallback = { url: `${program.base}/fallback`, method: 'POST' as const }
  return { ...program, ask, fallback, reports }
}

test('a request carries the call, the verb and its result, signed as webhooks are', async (t) => {
  const { ask, received } = await open(t, { '/menu': [{ verb: 'hangup' }] })
  assert.deepEqual((await ask('/menu'))?.verbs, [{ verb: 'hangup' }])
  const [one] = received
  assert.ok(one)
  assert.deepEqual(one.body, {
    event: 'verb.completed',
    sequence: 4,
    call: {
      uuid: `CDR${programCall.id}`,
      parent_uuid: null,
      direction: 'inbound',
      status: 'ANSWERED',
      from: '+447700900123',
      to: '+447911123456',
      account_uuid: `ACC${programCall.account}`,
      number_uuid: `DID${programCall.number}`,
      diverted_from: null,
      tags: { order: 7 },
    },
    verb: { id: 'menu', name: 'gather' },
    result: { reason: 'digits', digits: '2' },
  })
  const signed = `${one.headers['webhook-id']}.${one.headers['webhook-timestamp']}.${one.text}`
  const signature = `v1,${createHmac('sha256', secret).update(signed).digest('base64')}`
  assert.equal(one.headers['webhook-signature'], signature)
})

test('a GET carries the same in its query', async (t) => {
  const { ask, received } = await open(t, { '/menu': null })
  // Longer than an address that is stored.
  assert.equal(await ask(`/menu?step=1&pad=${'x'.repeat(3_000)}`, {}, undefined, 'GET'), null)
  const query = new URL(received[0]?.path ?? '', 'http://x').searchParams
  assert.equal(received[0]?.method, 'GET')
  assert.deepEqual(
    ['step', 'event', 'call.uuid', 'result.digits'].map((name) => query.get(name)),
    ['1', 'verb.completed', `CDR${programCall.id}`, '2'],
  )
})

const failing: readonly { what: string; answer: Answer; code: string; status: number | null }[] = [
  { what: 'answers 500', answer: (response) => void response.writeHead(500).end(), code: 'status', status: 500 },
  {
    what: 'redirects for ever',
    answer: (response) => void response.writeHead(302, { location: '/begin' }).end(),
    code: 'status',
    status: 302,
  },
  { what: 'is silent', answer: () => {}, code: 'timeout', status: null },
  {
    what: 'stops within its answer',
    answer: (response) => {
      response.writeHead(200, { 'content-type': 'application/json' })
      response.flushHeaders()
    },
    code: 'timeout',
    status: null,
  },
  {
    what: 'answers HTML',
    answer: (response) => void response.writeHead(200, { 'content-type': 'text/plain' }).end('<html>'),
    code: 'content_type',
    status: 200,
  },
  {
    what: 'answers 65 KiB',
    answer: (response) =>
      void response.writeHead(200, { 'content-type': 'application/json' }).end(' '.repeat(65 * 1_024)),
    code: 'too_large',
    status: 200,
  },
]

for (const { what, answer, code, status } of failing)
  test(`a program that ${what} has its fallback called once, with the code ${code}`, async (t) => {
    const { ask, paths, received, fallback, base, reports } = await open(t, {
      '/begin': answer,
      '/fallback': [{ verb: 'hangup' }],
    })
    const document = await ask('/begin', { fallback, timeoutMs: 400 })
    assert.deepEqual(document?.verbs, [{ verb: 'hangup' }])
    assert.deepEqual(paths(), ['/begin', '/fallback'])
    const { event, sequence, error } = received[1]?.body ?? {}
    assert.deepEqual([event, sequence, error], ['call.error', 5, { code, url: `${base}/begin`, status }])
    assert.deepEqual(
      reports.map((report) => report.code),
      [code, null],
    )
  })

const redirect =
  (location: string, status = 302): Answer =>
  (response) =>
    void response.writeHead(status, { location }).end()

test('a request in the shape of Twilio follows a redirect by GET, without the result of the verb', async (t) => {
  const { ask, base, received, reports } = await open(t, {
    '/menu': redirect('/deep/next'),
    '/deep/next': [{ verb: 'redirect', url: 'after' }],
    '/kept': redirect('/deep/next', 307),
  })
  const document = await ask('/menu', { shape: 'twilio' })
  // Addresses of the document are relative to the address that gave it.
  assert.deepEqual(document?.verbs, [{ verb: 'redirect', url: `${base}/deep/after` }])
  const [first, second] = received
  const query = new URL(second?.path ?? '', base).searchParams
  assert.deepEqual(
    [second?.method, query.get('call.uuid'), query.get('result.digits')],
    ['GET', `CDR${programCall.id}`, null],
  )
  assert.notEqual(first?.headers['webhook-id'], second?.headers['webhook-id'])
  assert.deepEqual(reports, [{ url: `${base}/menu`, status: 200, code: null }])
  await ask('/kept', { shape: 'twilio' })
  assert.deepEqual([received[3]?.method, received[3]?.body.result?.digits], ['POST', '2'])
})

test('a program of Twilio that redirects for ever has its fallback called once, with the code loop', async (t) => {
  const { ask, base, paths, fallback, received } = await open(t, { '/begin': redirect('/begin'), '/fallback': [] })
  await ask('/begin', { fallback, shape: 'twilio' })
  assert.equal(paths().filter((path) => path.startsWith('/begin')).length, 6)
  assert.deepEqual(received[6]?.body.error, { code: 'loop', url: `${base}/begin`, status: 302 })
  assert.equal(received.length, 7)
})

test('a redirect into a private network is refused as a first address there is', async (t) => {
  const { ask, base, received } = await open(t, { '/begin': redirect('/inside'), '/inside': [] })
  const strict = makeOutbound({ allowPrivate: false, http: true, allow: [] })
  const lenient = openOutbound(t)
  t.after(strict.close)
  // The name of the first address leads elsewhere than that of the second one.
  const by = { ...strict, post: (own: PostRequest) => (own.method === 'POST' ? lenient : strict).post(own) }
  await assert.rejects(ask('/begin', { shape: 'twilio' }, by), { code: 'forbidden_address', url: `${base}/inside` })
  assert.equal(received.length, 1)
})

test('a request without a byte of an answer is repeated once, with the same id', async (t) => {
  let count = 0
  const { ask, received } = await open(t, {
    '/begin': (response) => {
      if (++count === 1) response.destroy()
      else response.writeHead(204).end()
    },
  })
  assert.equal(await ask('/begin'), null)
  assert.equal(received.length, 2)
  assert.equal(received[0]?.headers['webhook-id'], received[1]?.headers['webhook-id'])
  count = -100
  const begun = received.length
  await assert.rejects(
    ask('/gone', { timeoutMs: 1_000 }),
    { code: 'status', status: 404 },
    'an answer is never repeated',
  )
  assert.equal(received.length, begun + 1)
})

test('a request that states its time and repetitions is sent by them', async (t) => {
  const { ask, received } = await open(t, {
    '/gone': (response) => void response.destroy(),
    '/silent': () => {},
  })
  for (const [retries, requests] of [
    [0, 1],
    [2, 3],
  ] as const) {
    const begun = received.length
    await assert.rejects(ask('/gone', {}, undefined, 'POST', { retries }), { code: 'unreachable' })
    assert.equal(received.length, begun + requests)
  }
  await assert.rejects(ask('/silent', { timeoutMs: 60_000 }, undefined, 'POST', { timeoutMs: 200 }), {
    code: 'timeout',
  })
})

test('a dead receiver is unreachable, and the failure of the fallback does not hide it', async (t) => {
  const { ask, fallback, paths } = await open(t, {})
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = Object(server.address())
  await new Promise((resolve) => server.close(resolve))
  const url = `http://127.0.0.1:${port}/`
  await assert.rejects(ask(url, { fallback }), { code: 'unreachable', url, message: /the fallback: status/ })
  assert.deepEqual(paths(), ['/fallback'])
})

test('a program in a private network is refused by the rules of webhooks', async (t) => {
  const { ask, received } = await open(t, { '/begin': [] })
  const strict = makeOutbound({ allowPrivate: false, http: true, allow: [] })
  t.after(strict.close)
  await assert.rejects(ask('/begin', {}, strict), { code: 'forbidden_address' })
  assert.equal(received.length, 0)
})
