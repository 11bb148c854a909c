import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { testDatabase } from './database.ts'
import { type Answer, type Platform, startPlatform } from './platform.ts'

// Two processes on one database, called over HTTP.

const db = await testDatabase()
const platforms: Platform[] = []
after(() => Promise.all(platforms.map((one) => one.end('SIGKILL'))))

const start = async (): Promise<Platform> => {
  const env = { DATABASE_URL: db.url, TRUNKLINE_MASTER_KEY: 'a master key for these tests', TRUNKLINE_LOG: 'warn' }
  const platform = await startPlatform(undefined, env)
  platforms.push(platform)
  return platform
}

const callers = 1000
const stock = 100

test(`of ${callers} callers on ${stock} numbers in two processes ${stock} each buy a different number, ${callers - stock} are refused, and ${stock} are charged`, async (t) => {
  const [first, second] = [await start(), await start()]
  await db.run`
    insert into number_groups (id, iso_country_code, type, prefix, location, folded, setup_price, monthly_price, ppm,
      allow_number_selection, is_eligible_for_free_number, supplier)
    values ('rush', 'GB', 'local', '1632', 'Nowhere', 'nowhere', 1, 1.5, 0.005, true, false, 'own')`
  await db.run`
    insert into numbers (number, group_id, shuffle)
    select '+441632' || 100000 + n, 'rush', (random() * 2147483647)::integer from generate_series(1, ${stock}::integer) n`
  await db.run`insert into number_stock (group_id, free) values ('rush', ${stock}::integer)`
  const keys = await Promise.all(
    Array.from({ length: 10 }, async (_, n) => {
      const { account } = (await first.call('POST', '/operator/accounts', { name: `Caller ${n}` })).body
      await first.call('POST', `/operator/accounts/${account.uuid}/credit`, { amount: '1000' })
      const path = `/operator/accounts/${account.uuid}/keys`
      return String((await first.call('POST', path, { label: 'race' })).body.key)
    }),
  )

  /** Repeats a request while a busy machine answers 503. */
  const ask = async (platform: Platform, key: string): Promise<Answer> => {
    for (;;) {
      const wish = { group_id: 'rush' }
      const answer = await platform.call('POST', '/open/numbers/purchase', wish, { 'x-user-api-key': key })
      if (answer.status !== 503) return answer
    }
  }
  const began = performance.now()
  const answers = await Promise.all(
    Array.from({ length: callers }, (_, n) => ask(n % 2 ? first : second, keys[n % keys.length] ?? '')),
  )
  t.diagnostic(`${callers} answers in ${Math.round(performance.now() - began)} ms`)

  const won = answers.filter(({ status }) => status === 201).flatMap(({ body }) => body.purchased as string[])
  const refused = answers.filter(({ status }) => status !== 201)
  assert.deepEqual([won.length, new Set(won).size, refused.length], [stock, stock, callers - stock])
  const log = platforms.map((one) => one.output()).join('\n')
  for (const { status, body } of refused) assert.deepEqual([status, body.error_code], [409, 'group_sold_out'], log)
  const { charges, numbers, total } = await db.one<{ charges: number; numbers: number; total: string }>`
    select count(*) as charges, count(distinct reference) as numbers, sum(amount) as total from transfers
    where kind = 'number_purchase'`
  assert.deepEqual([charges, numbers, Number(total)], [stock, stock, stock * 2.5])
  const counts = await db.one`
    select (select count(*) from virtual_numbers) as owned, (select free from number_stock where group_id = 'rush') as free,
      (select count(*) from sms_channels) as channels, (select count(*) from caller_ids) as caller_ids,
      (select count(*) from events where name = 'number.purchased') as events`
  assert.deepEqual(counts, { owned: stock, free: 0, channels: stock, caller_ids: stock, events: stock })
})
