import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import type { Sql, Tx } from '../db/sql.ts'
import { uuid } from '../lib/id.ts'
import { makeMatcher } from './matching.ts'
import * as pieces from './pieces.ts'
import { reportFinals, settleSent } from './settle.ts'
import { tell } from './shown.ts'
import * as states from './states.ts'
import { accept, type NewMessage } from './store.ts'
import { giveNumber, makeSmsWorld } from './testing.ts'

const world = await makeSmsWorld()
const { db, tenant } = world
after(world.stop)

const tables = ['balances', 'jobs', 'sms_messages', 'sms_parts', 'sms_channels', 'virtual_numbers']

/** Rows, and entries of indexes, that this connection has read of each table. */
const read = async (sql: Sql): Promise<Map<string, number>> => {
  const rows = await sql.many<{ name: string; count: number }>`
    select t.relname as name, t.seq_tup_read + coalesce(t.idx_tup_fetch, 0) + coalesce((
      select sum(pg_stat_get_xact_tuples_returned(i.indexrelid)) from pg_index i where i.indrelid = t.relid), 0)::bigint as count
    from pg_stat_xact_user_tables t where t.relname = any(${tables}::text[])`
  return new Map(rows.map(({ name, count }) => [name, count]))
}

const who = await tenant({ balance: '1000000.000000' })
const { number, channel } = await giveNumber(world, who)
const channelId = channel.slice(3)
const connection = uuid()

/** So many texts of the tenant's, with jobs that somebody has. */
const texts = (count: number): NewMessage[] => {
  const [transfer, decision] = [uuid(), uuid()]
  return Array.from({ length: count }, () => ({
    account: who.id,
    id: uuid(),
    channel: channelId,
    number,
    contact: '+33612345678',
    text: 'x',
    encoding: 'gsm7',
    fragments: 1,
    price: 7_500,
    transfer,
    sendAt: null,
    decision,
    long: 'udh8',
  }))
}

const lease = (count: number) => ({ worker: uuid(), seconds: 60, count })

/** A text's whole life, by the three statements of it. */
const live = async (tx: Tx, given: NewMessage[]) => {
  const { refused } = await accept(tx, given, true, lease(given.length))
  assert.equal(refused.size, 0)
  const jobs = await tx.many<{ id: string; fence: number }>`
    select id, fence from jobs where id = any(${given.map(({ id }) => id)}::uuid[])`
  const ended = await settleSent(
    tx,
    jobs.map(({ id, fence }) => ({ id, account: who.id, fence, taken: { part: 1, connection, carrierId: id } })),
  )
  assert.equal(ended.size, given.length)
  const done = await reportFinals(
    tx,
    given.map(({ id }) => ({
      connection,
      carrierId: id.replace(/^0+/, ''),
      status: 'delivered',
      error: null,
      handsets: [null, null] as const,
    })),
  )
  assert.equal(done.size, given.length)
}

/** All that grows beside what is looked at, in the same account and in others. */
const grow = async (tx: Tx) => {
  await accept(tx, texts(3_000), true, lease(3_000))
  const { ids } = await tx.one<{
    ids: string[]
  }>`select array_agg(id) as ids from sms_messages where status = 'queued'`
  await tx.run`
    insert into sms_parts (account_id, message_id, part, connection_id, carrier_id, status, sent_at, updated_at)
    select ${who.id}, m, 1, ${connection}, m, 'sent', app_now(), app_now() from unnest(${ids}::uuid[]) m`
  await tx.run`
    insert into virtual_numbers overriding user value select v.* from virtual_numbers c cross join generate_series(1, 3000) n cross join lateral
      jsonb_populate_record(c, jsonb_build_object('id', md5(n::text)::uuid, 'released_at', now(), 'status_text', 'RELEASED')) v`
  await tx.run`
    insert into sms_channels select v.* from sms_channels c cross join generate_series(1, 3000) n cross join lateral
      jsonb_populate_record(c, jsonb_build_object('id', md5(n::text)::uuid, 'enabled', false)) v`
  await tx.run`
    insert into accounts select v.* from accounts c cross join generate_series(1, 3000) n cross join lateral
      jsonb_populate_record(c, jsonb_build_object('id', md5(n::text)::uuid)) v where c.id = ${who.id}`
  await tx.run`insert into balances select md5(n::text)::uuid, 1 from generate_series(1, 3000) n`
}

/** What 20 texts read of each table. @param most rows and entries of indexes */
const expectFor20 = async (tx: Tx, most: number, work: () => Promise<void>) => {
  const before = await read(tx)
  await work()
  const after = await read(tx)
  for (const table of tables) {
    const count = (after.get(table) ?? 0) - (before.get(table) ?? 0)
    assert.ok(count <= most, `${count} rows of ${table} were read for 20 texts`)
  }
}

/** Plans are made while there is next to nothing. */
const start = async () => {
  await db.begin(async (tx) => void (await accept(tx, texts(2), true, null)))
  for (const table of tables) await db.raw(`analyze ${table}`)
}

/** Makes all that the test wrote undone. */
class Done extends Error {}
const inVain = (work: (tx: Tx) => Promise<void>) =>
  assert.rejects(
    db.begin(async (tx) => {
      await work(tx)
      throw new Done()
    }),
    Done,
  )

test('what happens to a text costs the same however much there is, whatever the planner believes', async () => {
  await start()
  await inVain(async (tx) => {
    await live(tx, texts(1))
    await grow(tx)
    await expectFor20(tx, 300, () => live(tx, texts(20)))
  })
})

/** What happens to texts that go the slower way: of two parts, one of which was refused, and of which no carrier wants any. */
const stumble = async (tx: Tx, given: NewMessage[]) => {
  await accept(tx, given, true, lease(given.length))
  await states.byIndex(tx)
  const begun = await pieces.begin(
    tx,
    given.map(({ account, id }, n) => ({ account, id, number, contact: `+336${n}`, isLong: true })),
  )
  assert.equal(begun.length, given.length)
  const parts = given.flatMap(({ account, id }) =>
    [1, 2].map((part) => ({ account, message: id, part, parts: 2, connection, carrierId: `${id} ${part}` })),
  )
  await pieces.put(tx, parts)
  const sent = await states.sent(tx, given, parts)
  assert.equal(sent.length, given.length)
  await tell(tx, sent)
  const receipts = parts.map(({ carrierId, part }) => ({
    connection,
    carrierId,
    state: part === 1 ? ('DELIVERED' as const) : ('UNDELIVERABLE' as const),
    error: null,
    handset: '+33612345678',
    number,
  }))
  const found = await makeMatcher().find(tx, receipts)
  assert.equal(found.length, parts.length)
  await states.lock(tx, given)
  await states.changeParts(
    tx,
    found.map(({ account_id, message_id, part }) => ({
      account: account_id,
      message: message_id,
      part,
      status: part === 1 ? 'delivered' : 'undelivered',
      error: null,
    })),
  )
  const folded = await states.fold(tx, given)
  assert.deepEqual(new Set(folded.map(({ status }) => status)), new Set(['undelivered']))
  assert.equal(folded.length, given.length)
  const others = texts(given.length)
  await accept(tx, others, true, lease(given.length))
  const ended = await states.end(
    tx,
    others.map(({ account, id }) => ({ account, id, status: 'failed', code: 'no_route' })),
  )
  assert.equal(ended.filter((row) => row.is_untouched).length, given.length)
}

test('so does what happens to one of several parts, or to one that nobody takes', async () => {
  await start()
  await inVain(async (tx) => {
    await stumble(tx, texts(1))
    await grow(tx)
    await expectFor20(tx, 600, () => stumble(tx, texts(20)))
  })
})
