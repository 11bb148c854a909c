import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, test } from 'node:test'
import {
  ApiError,
  AuthenticationError,
  ConnectionError,
  InsufficientBalanceError,
  NotFoundError,
  TimeoutError,
  Trunkline,
} from '../../packages/client/src/index.ts'
import { retryPauseMs } from '../../packages/client/src/retry.ts'
import { makeRecipeWorld, makeScene } from '../recipes/scene.ts'

const world = await makeRecipeWorld()
const scene = await makeScene(world, 'faults')
const baseUrl = await world.app.listen({ host: '127.0.0.1', port: 0 })

/** A server between client and platform. */
const startServer = async (handle: (req: IncomingMessage, res: ServerResponse) => void): Promise<string> => {
  const server = createServer(handle).listen(0, '127.0.0.1')
  await once(server, 'listening')
  after(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

const forward = (req: IncomingMessage, answered: (answer: IncomingMessage) => void) => {
  const { method, headers, url } = req
  req.pipe(request(new URL(url ?? '/', baseUrl), { method, headers }, answered))
}

test('a server that loses the first response to each request charges no message twice', async () => {
  let responses = 0
  const seen = new Set<unknown>()
  const lossy = await startServer((req, res) =>
    forward(req, (answer) => {
      responses++
      const key = req.headers['idempotency-key']
      if (!seen.has(key) && seen.add(key)) return answer.resume().on('end', () => res.destroy())
      res.writeHead(answer.statusCode ?? 500, answer.headers)
      answer.pipe(res)
    }),
  )
  const { number } = await scene.number()
  const client = new Trunkline({ apiKey: scene.tenant.key, baseUrl: lossy })
  const direct = new Trunkline({ apiKey: scene.tenant.key, baseUrl })
  const before = Number((await direct.account.info()).balance.amount)
  const sent = await Promise.all(
    Array.from({ length: 40 }, (_, i) =>
      client.sms.send({ from_number: number, to_number: '+447700900123', text: `Message ${i}` }),
    ),
  )
  assert.equal(new Set(sent.map(({ message_uuid }) => message_uuid)).size, 40)
  assert.equal(responses, 80)
  const spent = before - Number((await direct.account.info()).balance.amount)
  assert.equal(spent.toFixed(6), (40 * 0.05).toFixed(6))
})

test('a refusal is an error of the class for its status, with code and request id', async () => {
  const client = new Trunkline({ apiKey: scene.tenant.key, baseUrl })
  await assert.rejects(
    client.contacts.get({ contact_uuid: 'CON01a1fcca-93ab-7cbc-9f10-be702f775479' }),
    (error) => error instanceof NotFoundError && error.code === 'not_found' && /^req_/.test(String(error.requestId)),
  )
  await assert.rejects(new Trunkline({ apiKey: 'wrong', baseUrl }).account.info(), AuthenticationError)
  const poor = await world.tenant({ balance: '0' })
  await assert.rejects(
    new Trunkline({ apiKey: poor.key, baseUrl }).numbers.purchase({ group_id: 'GB-local-20-london' }),
    (error) => error instanceof InsufficientBalanceError && error.name === 'InsufficientBalanceError',
  )
})

test('an unreachable server, a slow one and a given signal end a call with their own errors', async () => {
  const silent = await startServer(() => {})
  const slow = new Trunkline({ apiKey: 'key', baseUrl: silent, timeoutMs: 20, maxRetries: 0 })
  await assert.rejects(slow.account.info(), TimeoutError)
  const gone = new Trunkline({ apiKey: 'key', baseUrl: 'http://127.0.0.1:9', maxRetries: 0 })
  await assert.rejects(
    gone.account.info(),
    (error) => error instanceof ConnectionError && !(error instanceof TimeoutError),
  )
  const stop = new AbortController()
  const call = slow.account.info({}, { signal: stop.signal, timeoutMs: 30_000 })
  stop.abort(new Error('the caller stopped'))
  await assert.rejects(call, /the caller stopped/)
})

test('retries obey Retry-After up to a minute, and leave lasting refusals alone', () => {
  const refusal = (status: number, code: string, retryAfter?: number) =>
    new ApiError({ status, code, message: '', requestId: undefined, retryAfter, body: null })
  assert.equal(retryPauseMs(refusal(429, 'too_many_requests', 3), 0), 3_000)
  assert.equal(retryPauseMs(refusal(503, 'unavailable', 61), 0), null)
  assert.equal(retryPauseMs(refusal(500, 'internal_error'), 0, 1), 500)
  assert.equal(retryPauseMs(refusal(500, 'internal_error'), 9, 1), 8_000)
  assert.equal(retryPauseMs(refusal(409, 'channel_busy'), 1, 0.5), 500)
  for (const error of [refusal(402, 'insufficient_balance'), refusal(409, 'conflict'), refusal(400, 'x'), new Error()])
    assert.equal(retryPauseMs(error, 0), null)
})

test('an upload is not repeated, because the server takes no Idempotency-Key for a stream', async () => {
  let requests = 0
  const broken = await startServer((req, res) => {
    requests++
    req.resume().on('end', () => res.destroy())
  })
  const client = new Trunkline({ apiKey: scene.tenant.key, baseUrl: broken })
  await assert.rejects(client.contacts.import({ file: 'first_name\nAda\n', media_type: 'text/csv' }), ConnectionError)
  assert.equal(requests, 1)
})

test('a key is refused in a browser unless that is permitted', (t) => {
  t.after(() => Reflect.deleteProperty(globalThis, 'document'))
  Object.assign(globalThis, { document: {} })
  assert.throws(() => new Trunkline({ apiKey: 'key' }), /dangerouslyAllowBrowser/)
  assert.ok(new Trunkline({ apiKey: 'key', dangerouslyAllowBrowser: true }))
})

test('a missing key names the setting', () => {
  assert.throws(() => new Trunkline(), /TRUNKLINE_API_KEY/)
})
