import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { testDatabase } from '../../../../test/database.ts'
import { type Answer, type Platform, startPlatform, until } from '../../../../test/platform.ts'

// Rate limits of number checks over two processes and a real minute; checks.test.ts moves the clock instead.

const isLong = process.env.TRUNKLINE_TEST_LONG === '1'
const skip = isLong ? false : 'takes over a minute: TRUNKLINE_TEST_LONG=1'

const minute = 60_000
/** A little over a minute, so that the next window is visible. */
const lasting = 66_000

type TimeSpan = { readonly from: number; readonly to: number }

/** Expected rejection of a client above its rate. */
const refusals = /^(?:429 too_many_checks|503 [a-z_]+)$/

/** Runs sixteen clients that send as fast as allowed, half of them on each process. */
const hammer = async (platforms: readonly Platform[], check: (on: Platform, n: number) => Promise<Answer>) => {
  const taken: TimeSpan[] = []
  const began = performance.now()
  let requestCount = 0
  const client = async (on: Platform) => {
    for (let from = began; from < began + lasting; ) {
      from = performance.now()
      const { status, body } = await check(on, requestCount++)
      const to = performance.now()
      if (status !== 200) assert.match(`${status} ${body.error_code}`, refusals)
      if (status === 200) {
        assert.equal(body.on_msgapp, true, JSON.stringify(body))
        taken.push({ from, to })
      }
      // Rejected clients retry; this one retries sooner than the response asks.
      else await setTimeout(250)
    }
  }
  await Promise.all(platforms.flatMap((on) => Array.from({ length: 8 }, () => client(on))))
  return { taken, began }
}

/** No minute holds more than the limit, and the first holds at least 98 % of it. */
const judge = ({ taken, began }: { taken: readonly TimeSpan[]; began: number }, limit: number): string => {
  for (const { from: start } of taken) {
    const inside = taken.filter(({ from, to }) => from >= start && to < start + minute).length
    assert.ok(inside <= limit, `${inside} of ${limit} in a minute`)
  }
  const first = taken.filter(({ to }) => to < began + minute).length
  assert.ok(first >= limit * 0.98, `${first} of ${limit} in the first minute`)
  return `${first} of ${limit} in the first minute, ${taken.length} in ${lasting / 1000} s`
}

test('two processes share the rate limits of a real minute, for cached and for new numbers', { skip }, async (t) => {
  const db = await testDatabase()
  const env = {
    DATABASE_URL: db.url,
    TRUNKLINE_MASTER_KEY: 'a master key for these tests',
    TRUNKLINE_LOG: 'warn',
    TRUNKLINE_SANDBOX: 'true',
  }
  const platforms: Platform[] = []
  after(() => Promise.all(platforms.map((one) => one.end('SIGKILL'))))
  for (let i = 0; i < 2; i++) platforms.push(await startPlatform(undefined, env))
  const [first] = platforms
  assert.ok(first)

  const tenant = async (number: string) => {
    const { account } = (await first.call('POST', '/operator/accounts', { name: number, requests_per_minute: 100_000 }))
      .body
    const { key } = (await first.call('POST', `/operator/accounts/${account.uuid}/keys`, { label: 'checks' })).body
    const as = { 'x-user-api-key': String(key) }
    const created = await first.call('POST', '/open/msgapp/channel/create', { phone_number: number }, as)
    assert.equal(created.status, 201, JSON.stringify(created.body))
    const { uuid } = created.body.channel
    await until(async () => {
      const { body } = await first.call('GET', `/open/msgapp/channel/${uuid}/status`, undefined, as)
      return body.connection_status === 'C'
    })
    return (on: Platform, target: string) =>
      on.call('GET', `/open/msgapp/check-number/${number}/${target}`, undefined, as)
  }
  const [known, unknown] = [await tenant('+447700930018'), await tenant('+447700930028')]
  const target = '+442079460958'
  assert.equal((await unknown(first, target)).body.on_msgapp, true)
  await until(async () => (await known(first, target)).body.on_msgapp)
  await db.run`delete from msgapp_rate_limits`

  const [cached, uncached] = await Promise.all([
    hammer(platforms, (on) => known(on, target)),
    // No number occurs twice, or it would be cached, and none has a magic ending.
    hammer(platforms, (on, n) => unknown(on, `+44207${9_400_008 + n * 10}`)),
  ])
  t.diagnostic(`known: ${judge(cached, 50)}`)
  // The rate limit of the sandbox network per number.
  t.diagnostic(`not known: ${judge(uncached, 30)}`)
})
