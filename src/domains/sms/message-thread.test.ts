import assert from 'node:assert/strict'
import { test } from 'node:test'
import { makeWorld } from '../../../test/world.ts'
import type { Sql } from '../../platform/db/sql.ts'
import { contact, giveNumber } from './sms-testing.ts'
import * as store from './store.ts'

// Tests that a page of a thread costs the same for any number of messages. The short form uses 10,000 and 100,000
// messages of the thread and as many of others; TRUNKLINE_TEST_LONG=1 uses 3,000,000.

const long = process.env.TRUNKLINE_TEST_LONG === '1'
const world = await makeWorld()
const { call, db, tenant } = world
const who = await tenant()
const { number, channel } = await giveNumber(world, who)

let filled = 0
/** Adds messages of the thread, one a second, each with a message of another thread. */
const fillTo = async (count: number) => {
  for (; filled < count; filled += 10_000)
    await db.run`
      insert into sms_messages (account_id, id, channel_id, direction, contact, number, text, encoding, fragments, price, status,
        created_at, updated_at)
      select ${who.id}, gen_random_uuid(), ${channel.slice(3)}, 'outbound',
        case when n % 2 = 0 then ${contact} else '+4479112' || (n % 100000) end, ${number}, 'text ' || (${filled}::integer + n / 2),
        'gsm7', 1, 0.04, 'delivered', timestamptz '2020-01-01' + make_interval(secs => ${filled}::integer + n / 2),
        timestamptz '2020-01-01'
      from generate_series(0, 19999) n`
  await db.raw('analyze sms_messages')
}

type Plan = { 'Shared Hit Blocks': number; 'Shared Read Blocks': number }

/** Explains a statement and returns the number of blocks that it touches: a measure without noise. */
const explained = (blocks: number[]): Sql => ({
  ...db,
  raw: async (text, values) => {
    const [row] = await db.raw<{ 'QUERY PLAN': [{ Plan: Plan }] }>(
      `explain (analyze, buffers, format json) ${text}`,
      values,
    )
    const plan = row?.['QUERY PLAN'][0]?.Plan
    blocks.push((plan?.['Shared Hit Blocks'] ?? 0) + (plan?.['Shared Read Blocks'] ?? 0))
    return []
  },
})

/** Returns the blocks that a page touches: the newest page, or the page before a time. */
const blocksOf = async (before: Date | null): Promise<number> => {
  const path = `/open/sms/messages/${channel}/${contact}?results_per_page=50`
  const answer = await call(who, 'GET', before ? `${path}&before_ts=${before.getTime() / 1000}` : path)
  assert.deepEqual([answer.status, answer.body.count], [200, 50])
  const row = await store.channel(db, who.id, channel.slice(3))
  assert.ok(row)
  const blocks: number[] = []
  const after = before && [before.toISOString(), '00000000-0000-0000-0000-000000000000']
  await store.thread(explained(blocks), row, contact, { after, skip: 0, limit: 51 })
  return blocks[0] ?? 0
}

const middle = (count: number) => new Date(Date.parse('2020-01-01T00:00:00Z') + count * 500)

test('a page touches as many blocks in a long thread as in a short one, at the end and in the middle', async (t) => {
  const [few, many] = [10_000, long ? 3_000_000 : 100_000]
  await fillTo(few)
  const small = [await blocksOf(null), await blocksOf(middle(few))]
  await fillTo(many)
  const large = [await blocksOf(null), await blocksOf(middle(many))]
  t.diagnostic(`blocks of a page: ${small.join(' and ')} of ${few} messages, ${large.join(' and ')} of ${many}`)
  for (const [i, count] of large.entries())
    assert.ok(count <= (small[i] ?? 0) + 10, `${count} blocks, ${small[i]} before`)
})

test('a page of a thread of an account that the planner does not know yet reads no other threads', async () => {
  const other = await tenant()
  const line = await giveNumber(world, other)
  await db.run`
    insert into sms_messages (account_id, id, channel_id, direction, contact, number, text, encoding, fragments, price, status,
      created_at, updated_at)
    select ${other.id}, gen_random_uuid(), ${line.channel.slice(3)}, 'outbound', '+4479112' || (n % 400), ${line.number}, 'x',
      'gsm7', 1, 0.04, 'delivered', now() - make_interval(secs => n), now()
    from generate_series(1, 4000) n`
  const row = await store.channel(db, other.id, line.channel.slice(3))
  assert.ok(row)
  const blocks: number[] = []
  const first = { after: null, skip: 0, limit: 51 }
  await store.thread(explained(blocks), row, '+447911277', first)
  const filter = { direction: null, status: null, error: null, user: null, since: null, narrowing: null }
  for (const channel of [row.id, null])
    await store.page(explained(blocks), other.id, { ...filter, channel, contact: '+447911277' }, first)
  assert.ok(Math.max(...blocks) < 100, `${blocks} blocks for 10 of 4,000 messages`)
})
