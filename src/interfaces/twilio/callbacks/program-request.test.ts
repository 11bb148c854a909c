import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import { after, test } from 'node:test'
import { makeOutbound } from '../../../platform/lib/outbound.ts'
import { runProgram } from './message-program.ts'
import { overridesOf, type Program, requestProgram } from './program-request.ts'
import { signatureOf } from './signature.ts'

const outbound = makeOutbound({ allowPrivate: true, http: true, allow: [] })
after(outbound.close)

type ProgramCall = { method: string; url: string; headers: Record<string, unknown>; body: string }
const heard: ProgramCall[] = []
const program = createServer((request, response) => {
  let body = ''
  request.on('data', (chunk) => {
    body += chunk
  })
  request.on('end', () => {
    heard.push({ method: request.method ?? '', url: request.url ?? '', headers: request.headers, body })
    if (request.url?.startsWith('/broken')) response.statusCode = 500
    if (request.url?.startsWith('/moved')) response.statusCode = 302
    if (request.url?.startsWith('/turn')) response.writeHead(302, { location: '/turn' })
    if (request.url?.startsWith('/old')) response.writeHead(307, { location: '/new' })
    if (!response.headersSent) response.setHeader('content-type', 'Text/XML; charset=utf-8')
    response.end('<Response/>')
  })
})
const port = await new Promise<number>((resolve) => {
  program.listen(0, '127.0.0.1', () => resolve(Object(program.address()).port))
})
after(() => program.close())

/** A port of this machine that nothing listens on. */
const closedPort = async (): Promise<number> => {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = Object(server.address())
  await new Promise((resolve) => server.close(resolve))
  return port
}

const deps = {
  outbound,
  agent: 'test',
  token: 'secret',
  signal: new AbortController().signal,
  enter: async () => () => undefined,
}

const ask = (path: string, method: Program['method'] = 'POST') =>
  requestProgram(
    deps,
    { url: `http://127.0.0.1:${port}${path}`, method },
    { From: '+447700900123', Body: 'Hi & ho ✓' },
    'job-1',
  )

test('a POST carries the parameters as a form, signed with the token', async () => {
  heard.length = 0
  const { ms: _, ...answer } = await ask('/sms?x=1#rc=0')
  const url = `http://127.0.0.1:${port}/sms?x=1#rc=0`
  assert.deepEqual(answer, { status: 200, url, type: 'text/xml', body: '<Response/>' })
  const [one] = heard
  assert.equal(one?.url, '/sms?x=1')
  const parameters = Object.fromEntries(new URLSearchParams(one?.body))
  assert.deepEqual(parameters, { From: '+447700900123', Body: 'Hi & ho ✓' })
  assert.equal(
    one?.headers['x-twilio-signature'],
    signatureOf('secret', `http://127.0.0.1:${port}/sms?x=1`, parameters),
  )
  assert.equal(one?.headers['i-twilio-idempotency-token'], 'job-1')
})

test('a GET carries the parameters in its query, which is signed', async () => {
  heard.length = 0
  await ask('/sms?x=1', 'GET')
  const [one] = heard
  assert.equal(one?.method, 'GET')
  assert.equal(one?.body, '')
  assert.equal(one?.headers['x-twilio-signature'], signatureOf('secret', `http://127.0.0.1:${port}${one?.url}`))
  assert.equal(new URL(one?.url ?? '', 'http://x').searchParams.get('Body'), 'Hi & ho ✓')
})

test('a status of failure and a redirect to nowhere are errors 11200, once', async () => {
  heard.length = 0
  await assert.rejects(ask('/broken'), { code: 11200, isTransient: true })
  await assert.rejects(ask('/moved'), { code: 11200, isTransient: false })
  assert.equal(heard.length, 2)
})

test('a redirect is followed, signed for its address; one that never ends is the error 11215', async () => {
  heard.length = 0
  assert.equal((await ask('/old')).url, `http://127.0.0.1:${port}/new`)
  const [, second] = heard
  assert.deepEqual([second?.method, second?.url], ['POST', '/new'])
  const parameters = Object.fromEntries(new URLSearchParams(second?.body))
  const signature = signatureOf('secret', `http://127.0.0.1:${port}/new`, parameters)
  assert.deepEqual([parameters.Body, second?.headers['x-twilio-signature']], ['Hi & ho ✓', signature])
  heard.length = 0
  await assert.rejects(ask('/turn'), { code: 11215, isTransient: false })
  assert.deepEqual(
    heard.map(({ method }) => method),
    ['POST', 'GET', 'GET', 'GET', 'GET', 'GET'],
  )
})

test('a program that cannot be reached is an error 11200', async () => {
  const url = `http://127.0.0.1:${await closedPort()}/#rc=0`
  await assert.rejects(requestProgram(deps, { url, method: 'POST' }, {}, 'job-2'), { code: 11200, isTransient: true })
})

test('overrides in the fragment stay within their limits', () => {
  const usual = { connectMs: 5_000, timeoutMs: 15_000, retries: 1 }
  const changed = { connectMs: 2_000, timeoutMs: 5_000, retries: 3 }
  assert.deepEqual(overridesOf('https://example.com/#ct=2000&rt=5000&rc=3'), changed)
  const most = { connectMs: 15_000, timeoutMs: 15_000, retries: 5 }
  assert.deepEqual(overridesOf('https://example.com/#ct=99999&rt=99999&rc=99'), most)
  assert.deepEqual(overridesOf('https://example.com/#ct=1'), { ...usual, connectMs: 1_000 })
  assert.deepEqual(overridesOf('https://example.com/#rt=x'), usual)
  assert.deepEqual(overridesOf('https://example.com/'), usual)
})

test('all documents of a program together have one limit of time', async (t) => {
  let now = 0
  t.mock.method(performance, 'now', () => now)
  const times: number[] = []
  const slow: typeof outbound.post = async ({ timeoutMs }) => {
    times.push(timeoutMs)
    now += 10_000
    const excerpt = '<Response><Redirect>/next</Redirect></Response>'
    return { status: 200, headers: { 'content-type': 'text/xml' }, retryAfter: null, excerpt, ms: 0 }
  }
  const program = { url: 'https://example.com/', method: 'POST' } as const
  await assert.rejects(runProgram({ ...deps, outbound: { post: slow } }, program, {}, 'job-3', 30_000), {
    code: 11200,
    message: 'the documents took more than 30 s',
  })
  assert.deepEqual(times, [15_000, 15_000, 10_000])
})
