import assert from 'node:assert/strict'
import { test } from 'node:test'
import { giveNumber } from '../src/domains/sms/sms-testing.ts'
import { until } from './platform.ts'
import { makeWorld } from './world.ts'

// Promises of every endpoint, kept by those that accept messages: they run without a transaction of their own.

const world = await makeWorld({ TRUNKLINE_SANDBOX: 'true' })
const { app, db, parts } = world
await db.run`insert into prices (kind, prefix, price) values ('sms_out', '44', 0.05)`
await db.run`insert into changes (topic) values ('prices') on conflict (topic) do update set version = changes.version + 1`
await until(async () => parts.prices.of('sms_out', '+447700900123') !== null)
const who = await world.tenant()
const { number } = await giveNumber(world, who)
const body = { from_number: number, to_number: '+447700900123', text: 'Hello' }

const send = (url = '/open/sms/send') =>
  app.inject({ method: 'POST', url, headers: { 'x-user-api-key': who.key }, payload: body })

const countOf = async (url: string): Promise<Record<string, number>> => {
  const lines = String((await world.call(null, 'GET', '/metrics')).body).matchAll(
    new RegExp(`request_duration_seconds_count\\{method="POST",route="${url}",status="(\\d+)"\\} (\\d+)`, 'g'),
  )
  return Object.fromEntries(
    [...lines].flatMap(([, status = '', count]) => (count === '0' ? [] : [[status, Number(count)]])),
  )
}

test('an accepted message is counted once, with the headers of every response', async () => {
  const { statusCode, headers } = await send()
  assert.equal(statusCode, 202)
  assert.deepEqual(await countOf('/open/sms/send'), { 202: 1 })
  assert.match(String(headers['x-request-id']), /^req_/)
  assert.match(String(headers.ratelimit), /^"requests";r=\d+;t=\d+$/)
  assert.match(String(headers['ratelimit-policy']), /^"requests";q=\d+;w=60$/)
  const { 'cache-control': cache, 'x-content-type-options': types, 'content-type': type, connection } = headers
  assert.deepEqual(
    [cache, types, type, headers['trunkline-version']],
    ['no-store', 'nosniff', 'application/json; charset=utf-8', parts.version],
  )
  assert.notEqual(connection, 'close')
})

test('an error of the handler is answered 500 once, and has run once', async (t) => {
  const { accept } = parts.accept
  t.after(() => Reflect.set(parts.accept, 'accept', accept))
  let runs = 0
  Reflect.set(parts.accept, 'accept', () => {
    runs++
    return Promise.reject(new Error('a bug'))
  })
  const answer = await send()
  assert.deepEqual([answer.statusCode, answer.json().error_code, runs], [500, 'internal_error', 1])
  assert.equal((await countOf('/open/sms/send'))[500], 1)
})

test('a message beyond the share of its account waits for its turn, and is then answered', async () => {
  const { external } = parts.limiters
  let held = 0
  while (external.tryAcquire(who.id)) held++
  const answer = send('/open/msgapp/send-message')
  await until(async () => external.waiting(who.id) === 1)
  for (; held > 0; held--) external.release(who.id)
  assert.equal((await answer).statusCode, 404, 'the account has no channel of the messaging app')
  assert.equal(external.used(who.id), 0)
})

test('a stopping installation answers a message, and closes the connection', async (t) => {
  t.after(() => Reflect.set(parts.lifecycle, 'stopping', false))
  Reflect.set(parts.lifecycle, 'stopping', true)
  const { statusCode, headers } = await send()
  assert.deepEqual([statusCode, headers.connection], [202, 'close'])
})
