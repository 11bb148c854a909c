import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { blocksRead, withoutAutovacuum } from '../../../test/blocks.ts'
import { quoteIdentifier } from '../../platform/db/identifier.ts'
import type { Tx } from '../../platform/db/sql.ts'
import { uuid } from '../../platform/lib/id.ts'
import { acceptBatches } from './accept/accepted-batch-store.ts'
import { batchPayload } from './batch.ts'
import { applyFinalReceipts, completeSent } from './completion-store.ts'
import { publishEvents } from './message-presenter.ts'
import { makeReceiptCorrelator } from './receipts/receipt-correlation.ts'
import { cancelSending } from './sendings/cancel-sending.ts'
import * as sendings from './sendings/store.ts'
import { giveNumber, makeSmsWorld } from './sms-testing.ts'
import * as states from './state-transition-store.ts'
import { accept, type NewMessage } from './store.ts'
import { completeBatches, openMembers } from './submit/batch-store.ts'
import * as pieces from './submit/parts-store.ts'

const world = await makeSmsWorld()
const { db, tenant } = world
after(world.stop)
await withoutAutovacuum(db)

const tables = ['balances', 'jobs', 'sms_messages', 'sms_sendings', 'sms_parts', 'sms_channels', 'virtual_numbers']

const who = await tenant({ balance: '1000000.000000' })
const { number, channel } = await giveNumber(world, who)
const channelId = channel.slice(3)
const another = await tenant({ balance: '1000000.000000' })
const connection = uuid()

/** Makes messages of the tenant. */
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

const lease = { worker: uuid(), seconds: 60 }

/** Runs the whole life of messages in a batch: the hot-path statements. */
const liveInBatch = async (tx: Tx, given: NewMessage[]) => {
  const batch = { id: uuid(), account: who.id, messages: given, isLeased: true }
  // An older job of the account waits, which no worker sees before the commit.
  await tx.run`insert into jobs (id, account_id, kind, run_at) values (${uuid()}, ${who.id}, 'sms.submit', app_now())`
  const further = { ...batch, id: uuid(), account: another.id, messages: texts(2) }
  const batches = [batch, further].sort((a, b) => (a.account < b.account ? -1 : 1))
  const result = await acceptBatches(tx, batches, lease, true)
  assert.deepEqual(new Map(batches.map(({ account }, i) => [account, result[i]])).get(who.id), 'queued')
  assert.ok(!result.includes('refused'))
  const leased = { id: batch.id, fence: 0 }
  const members = given.map(({ id }) => ({
    id,
    account: who.id,
    batch: leased,
    taken: { part: 1, connection, carrierId: id },
  }))
  const stored = { account: who.id, payload: batchPayload(given), createdAt: new Date() }
  assert.deepEqual((await openMembers(tx, [stored]))[0]?.length, given.length)
  await completeBatches(tx, members.slice(1), () => false)
  assert.deepEqual([...(await completeBatches(tx, members.slice(0, 1), () => true))], [batch.id])
  assert.deepEqual(await openMembers(tx, [stored]), [[]])
  const done = await applyFinalReceipts(
    tx,
    given.map(({ id }) => finalReceipt(id)),
  )
  assert.equal(done.size, given.length)
}

const finalReceipt = (id: string) => ({
  connection,
  carrierId: id.replace(/^0+/, ''),
  status: 'delivered',
  error: null,
  handsets: [null, null] as const,
})

/** Runs the whole life of messages with jobs of their own. */
const live = async (tx: Tx, given: NewMessage[]) => {
  const refused = await accept(tx, given, true)
  assert.equal(refused.size, 0)
  const jobs = given.map(({ id }) => ({ id, fence: 0 }))
  const ended = await completeSent(
    tx,
    jobs.map(({ id, fence }) => ({ id, account: who.id, fence, taken: { part: 1, connection, carrierId: id } })),
  )
  assert.equal(ended.size, given.length)
  const done = await applyFinalReceipts(
    tx,
    given.map(({ id }) => finalReceipt(id)),
  )
  assert.equal(done.size, given.length)
}

/** Runs a sending: accepted, counted, claimed, held, released and canceled. */
const liveInSending = async (tx: Tx, given: NewMessage[]) => {
  const [id, account] = [uuid(), who.id]
  const batches = [{ id: uuid(), payload: { ...batchPayload(given), sending: id } }]
  const refused = await sendings.acceptSending(
    tx,
    { account, id, user: null, refused: 0, batches, messages: given },
    true,
  )
  assert.deepEqual(refused, [])
  assert.deepEqual(await sendings.counts(tx, account, id), [{ status: 'queued', messages: given.length }])
  const read = await sendings.admissions(
    tx,
    given.map((one) => ({ account, sending: id, message: one.id })),
  )
  assert.ok(read.every(({ state, status }) => state === 'running' && status === 'queued'))
  assert.deepEqual(await sendings.statesOf(tx, [{ account, id }]), [{ id, state: 'running' }])
  await states.forceIndexPlans(tx)
  const row = await sendings.lock(tx, account, id)
  assert.ok(row)
  assert.deepEqual([await sendings.holdJobs(tx, row), await sendings.releaseJobs(tx, row)], [1, 1])
  assert.equal(await cancelSending(tx, row), given.length)
}

/** Adds unrelated rows, in the same account and in others. */
const grow = async (tx: Tx) => {
  await accept(tx, texts(3_000), true)
  const { ids } = await tx.one<{
    ids: string[]
  }>`select array_agg(id) as ids from sms_messages where status = 'queued'`
  await tx.run`
    insert into sms_messages select v.* from sms_messages c cross join generate_series(1, 10000) n cross join lateral
      jsonb_populate_record(c, jsonb_build_object('id', md5(n::text)::uuid)) v where c.id = ${ids[0] ?? ''}`
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
    insert into sms_sendings (account_id, id, state, refused, price, message_ids, job_ids, created_at, updated_at)
    select ${who.id}, md5(n::text)::uuid, 'completed', 0, 0, array[md5(n::text)::uuid], '{}', app_now(), app_now()
    from generate_series(1, 3000) n`
  await tx.run`
    insert into accounts select v.* from accounts c cross join generate_series(1, 3000) n cross join lateral
      jsonb_populate_record(c, jsonb_build_object('id', md5(n::text)::uuid)) v where c.id = ${who.id}`
  await tx.run`insert into balances select md5(n::text)::uuid, 1 from generate_series(1, 3000) n`
}

/** Adds due batches of other accounts. */
const lengthenQueue = (tx: Tx) => tx.run`
  insert into jobs (id, account_id, kind, run_at, created_at)
  select gen_random_uuid(), gen_random_uuid(), 'sms.batch', app_now(), app_now() from generate_series(1, 3000)`

/** Checks the reads of 20 messages. @param most blocks of any table or index, about six for a look-up or a change */
const expectFor20 = async (tx: Tx, most: number, work: () => Promise<void>) => {
  const before = await blocksRead(tx, tables)
  await work()
  for (const [name, count] of await blocksRead(tx, tables)) {
    const blocks = count - (before.get(name) ?? 0)
    assert.ok(blocks <= most, `${blocks} blocks of ${name} were read for 20 messages`)
  }
}

/** Makes the plans while the tables are almost empty, without statistics or with misleading ones. */
const start = async (isAnalyzed: boolean) => {
  await db.begin(async (tx) => void (await accept(tx, texts(2), true)))
  if (isAnalyzed) for (const table of tables) await db.raw(`analyze ${quoteIdentifier(table)}`)
}

/** Rolls back the writes of a test. */
class Rollback extends Error {}
const inVain = (work: (tx: Tx) => Promise<void>) =>
  assert.rejects(
    db.begin(async (tx) => {
      await work(tx)
      throw new Rollback()
    }),
    Rollback,
  )

/** Runs the slower paths: messages of two parts, one of them undelivered, and messages that no carrier accepts. */
const stumble = async (tx: Tx, given: NewMessage[]) => {
  await accept(tx, given, true)
  await states.forceIndexPlans(tx)
  const begun = await pieces.startSubmit(
    tx,
    given.map(({ account, id }, n) => ({ account, id, number, contact: `+336${n}`, isLong: true })),
  )
  assert.equal(begun.length, given.length)
  const parts = given.flatMap(({ account, id }) =>
    [1, 2].map((part) => ({ account, message: id, part, parts: 2, connection, carrierId: `${id} ${part}` })),
  )
  await pieces.recordParts(tx, parts)
  const sent = await states.markSent(tx, given, parts)
  assert.equal(sent.length, given.length)
  await publishEvents(tx, sent)
  const receipts = parts.map(({ carrierId, part }) => ({
    connection,
    carrierId,
    state: part === 1 ? ('delivered' as const) : ('undelivered' as const),
    error: null,
    handset: '+33612345678',
    number,
  }))
  const found = await makeReceiptCorrelator().find(tx, receipts)
  assert.equal(found.length, parts.length)
  await states.lockMessages(tx, given)
  await states.updateParts(
    tx,
    found.map(({ account_id, message_id, part }) => ({
      account: account_id,
      message: message_id,
      part,
      status: part === 1 ? 'delivered' : 'undelivered',
      error: null,
    })),
  )
  const folded = await states.deriveStatus(tx, given)
  assert.deepEqual(new Set(folded.map(({ status }) => status)), new Set(['undelivered']))
  assert.equal(folded.length, given.length)
  const others = texts(given.length)
  await accept(tx, others, true)
  const ended = await states.markEnded(
    tx,
    others.map(({ account, id }) => ({ account, id, status: 'failed', code: 'no_route' })),
  )
  assert.equal(ended.filter((row) => row.is_untouched).length, given.length)
}

test('messages are accepted without a walk of the queue, also with plans made after a vacuum found it short', async () => {
  await db.begin(async (tx) => {
    await lengthenQueue(tx)
    await tx.run`delete from jobs where id not in (select id from jobs limit 4)`
  })
  // The pages stay: the planner takes the queue for short, however many jobs it has by then.
  await db.raw('vacuum (truncate false) jobs')
  await inVain(async (tx) => {
    await lengthenQueue(tx)
    await expectFor20(tx, 400, async () => {
      await liveInBatch(tx, texts(10))
      for (const messages of [texts(5), texts(5)]) {
        const batch = { id: uuid(), account: who.id, messages, isLeased: true }
        assert.deepEqual(await acceptBatches(tx, [batch], lease, true), ['queued'])
      }
    })
  })
  // Without statistics, as it was.
  await db.raw('truncate jobs')
})

// Without statistics, each index that begins with the account looks alike to the planner.
for (const [isAnalyzed, planner] of [
  [false, 'in a new database without statistics'],
  [true, 'whatever the planner estimates'],
] as const) {
  test(`sending a message costs the same for large and small tables, ${planner}`, async () => {
    await start(isAnalyzed)
    await inVain(async (tx) => {
      await live(tx, texts(1))
      await grow(tx)
      await expectFor20(tx, 400, () => live(tx, texts(20)))
    })
  })

  test(`sending messages in a batch costs the same for large and small tables, ${planner}`, async () => {
    await start(isAnalyzed)
    await inVain(async (tx) => {
      await liveInBatch(tx, texts(1))
      await grow(tx)
      await lengthenQueue(tx)
      await expectFor20(tx, 400, () => liveInBatch(tx, texts(20)))
    })
  })

  test(`a sending costs the same for large and small tables, ${planner}`, async () => {
    await start(isAnalyzed)
    await inVain(async (tx) => {
      await liveInSending(tx, texts(1))
      await grow(tx)
      await lengthenQueue(tx)
      await expectFor20(tx, 800, () => liveInSending(tx, texts(20)))
    })
  })

  test(`a message of several parts, and one that no carrier accepts, costs the same for large and small tables, ${planner}`, async () => {
    await start(isAnalyzed)
    await inVain(async (tx) => {
      await stumble(tx, texts(1))
      await grow(tx)
      await expectFor20(tx, 1_000, () => stumble(tx, texts(20)))
    })
  })
}
