import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { testDatabase } from '../../../test/database.ts'
import { type Answer, type Platform, startPlatform, until } from '../../../test/platform.ts'

// The budgets of number checks in two processes over a real minute; checks.test.ts moves the clock instead.

const isLong = process.env.TRUNKLINE_TEST_LONG === '1'
const skip = isLong ? false : 'takes over a minute: TRUNKLINE_TEST_LONG=1'

const minute = 60_000
/** A little more than a minute, so that what comes after it shows too. */
const lasting = 66_000

type Taken = { readonly from: number; readonly to: number }

/** Sixteen clients that ask as fast as they are let, half of them each process. */
const hammer = async (platforms: readonly Platform[], check: (on: Platform, n: number) => Promise<Answer>) => {
  const taken: Taken[] = []
  const began = performance.now()
  let asked = 0
  const client = async (on: Platform) => {
    for (let from = began; from < began + lasting; ) {
      from = performance.now()
      const { status, body } = await check(on, asked++)
      const to = performance.now()
      assert.ok([200, 429, 503].includes(status), JSON.stringify(body))
      if (status === 200) {
        assert.equal(body.on_msgapp, true, JSON.stringify(body))
        taken.push({ from, to })
      }
      // As clients do that are refused; the answer says for how long, and this asks earlier.
      else await setTimeout(250)
    }
  }
  await Promise.all(platforms.flatMap((on) => Array.from({ length: 8 }, () => client(on))))
  return { taken, began }
}

/** No minute holds more than the limit, and the first holds no fewer than 98 % of it. */
const judge = ({ taken, began }: { taken: readonly Taken[]; began: number }, limit: number): string => {
  for (const { from: start } of taken) {
    const inside = taken.filter(({ from, to }) => from >= start && to < start + minute).length
    assert.ok(inside <= limit, `${inside} of ${limit} in a minute`)
  }
  const first = taken.filter(({ to }) => to < began + minute).length
  assert.ok(first >= limit * 0.98, `${first} of ${limit} in the first minute`)
  return `${first} of ${limit} in the first minute, ${taken.length} in ${lasting / 1000} s`
}

test('two processes share the budgets of a real minute, whether what is asked is known or not', { skip }, async (t) => {
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
    const made = await first.call('POST', '/open/msgapp/channel/create', { phone_number: number }, as)
    assert.equal(made.status, 201, JSON.stringify(made.body))
    const { uuid } = made.body.channel
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
  await db.run`delete from msgapp_budgets`

  const [cached, uncached] = await Promise.all([
    hammer(platforms, (on) => known(on, target)),
    // None twice, or it would be known, and none of the magic endings.
    hammer(platforms, (on, n) => unknown(on, `+44207${9_400_008 + n * 10}`)),
  ])
  t.diagnostic(`known: ${judge(cached, 50)}`)
  // What the sandbox's network bears of a number.
  t.diagnostic(`not known: ${judge(uncached, 30)}`)
})
