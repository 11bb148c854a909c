import assert from 'node:assert/strict'
import { test } from 'node:test'
import { makeWorld, type Tenant } from '../../../test/world.ts'

const { call, db, parts, tenant } = await makeWorld()

/** Advances the token bucket of an account by a number of seconds. */
const pass = (who: Tenant, seconds: number) => db.run`
  update rate_limit_usage set refilled_at = refilled_at - make_interval(secs => ${seconds}) where account_id = ${who.id}`

const ask = (who: Tenant) => call(who, 'GET', '/open/contacts')

/** Returns the number of requests answered before the first 429. */
const answered = async (who: Tenant): Promise<number> => {
  for (let count = 0; ; count++) {
    const { status } = await ask(who)
    if (status === 429) return count
    assert.equal(status, 200)
  }
}

test('an account with 2 requests per minute gets one every 30 seconds, and at most 2 at once', async () => {
  const ada = await tenant({ requestsPerMinute: 2 })
  assert.equal(await answered(ada), 2)
  const refused = await ask(ada)
  assert.deepEqual([refused.status, refused.body.error_code], [429, 'too_many_requests'])
  assert.equal(refused.headers['retry-after'], '30')
  assert.equal(refused.headers.ratelimit, '"requests";r=0;t=30')
  await pass(ada, 27)
  const early = await ask(ada)
  const wait = Number(early.headers['retry-after'])
  assert.ok(early.status === 429 && wait >= 1 && wait <= 3, `${early.status}, ${wait} s`)
  await pass(ada, 3)
  assert.equal(await answered(ada), 1)
  await pass(ada, 45)
  assert.equal(await answered(ada), 1)
  await pass(ada, 15)
  assert.equal(await answered(ada), 1)
  await pass(ada, 3_600)
  assert.equal(await answered(ada), 2)
})

test('unused leased requests are returned and do not count as calls', async () => {
  const ada = await tenant({ requestsPerMinute: 6_000 })
  const counted = async () =>
    (await db.one<{ calls: number }>`select api_requests as calls from rate_limit_usage where account_id = ${ada.id}`)
      .calls
  assert.equal((await ask(ada)).status, 200)
  assert.deepEqual([parts.rateLimiter.unused(ada.id), await counted()], [9, 10])
  await parts.rateLimiter.flush()
  assert.deepEqual([parts.rateLimiter.unused(ada.id), await counted()], [0, 1])
})
