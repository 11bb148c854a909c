import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { withoutAutovacuum } from '../../../../test/blocks.ts'
import { makeWorld } from '../../../../test/world.ts'
import type { Sql } from '../../../platform/db/sql.ts'
import { makeConcurrencyLimiter } from '../../../platform/lib/concurrency-limiter.ts'
import { uuid } from '../../../platform/lib/id.ts'
import { record } from '../../events/ops.ts'
import { search } from '../history/delivery-search-store.ts'
import type { Endpoint } from './attempt.ts'
import { type DeliveryChange, storeResults } from './attempt-store.ts'
import { load } from './endpoint-lease-store.ts'
import { EndpointWorker } from './endpoint-worker.ts'

const { db, tenant } = await makeWorld()
await withoutAutovacuum(db)

/** Rows of a table read by this connection. */
const read = async (sql: Sql, table = 'webhook_deliveries'): Promise<number> => {
  const { count } = await sql.one<{ count: number }>`
    select coalesce(idx_tup_fetch, 0) + seq_tup_read as count from pg_stat_xact_user_tables
    where relname = ${table}`
  return count
}

/** Blocks of a table's indexes read by this connection: an index may filter entries that it does not count as read. */
const indexBlocks = async (sql: Sql, table = 'webhook_deliveries'): Promise<number> => {
  const { count } = await sql.one<{ count: number }>`
    select sum(pg_stat_get_xact_blocks_fetched(indexrelid))::integer as count from pg_index
    where indrelid = ${table}::regclass`
  return count
}

/** A webhook leased by a worker, with the given number of deliveries in each state. */
const pile = async (states: Record<string, number>) => {
  const { id: account } = await tenant()
  const [webhook, worker] = [uuid(), uuid()]
  await db.run`insert into webhook_endpoint_leases (account_id, webhook_id, owner) values (${account}, ${webhook}, ${worker})`
  const ids = Object.entries(states).map(([state, count]) => ({ state, ids: Array.from({ length: count }, uuid) }))
  for (const { state, ids: events } of ids)
    await db.run`
      insert into webhook_deliveries (account_id, webhook_id, event_id, state, next_at, created_at)
      select ${account}, ${webhook}, e, ${state}, case when ${state} = 'pending' then now() end, now()
      from unnest(${events}::uuid[]) e`
  return { account, webhook, worker, of: (state: string) => ids.find((one) => one.state === state)?.ids ?? [] }
}

test('an event reads only the webhooks of its name, in a new database without statistics', async () => {
  const { id: account } = await tenant()
  const event = { account, name: 'contact.created' as const, channel: null, conversation: null, payload: {} }
  await db.begin(async (tx) => {
    // Makes the plans of this session.
    await record(tx, [event])
    await tx.run`
      insert into webhooks (account_id, id, event, event_name, hook_url, sealed_secret, created_at, updated_at)
      select ${account}, gen_random_uuid(), 'contact.deleted', 'contact.deleted', 'http://127.0.0.1/' || n, '', now(), now()
      from generate_series(1, 3000) n`
    const before = await indexBlocks(tx, 'webhooks')
    await record(
      tx,
      Array.from({ length: 10 }, () => event),
    )
    const blocks = (await indexBlocks(tx, 'webhooks')) - before
    assert.ok(blocks <= 100, `${blocks} blocks of indexes were read for 10 events`)
  })
})

test('storing a delivery’s result costs the same however much is pending, whatever the planner assumes', async () => {
  await pile({ delivered: 3 })
  await db.run`vacuum analyze webhook_deliveries`
  const { account, webhook, worker, of } = await pile({ pending: 6_000 })
  const delivered = (event: string): DeliveryChange => {
    const attempt = JSON.stringify({ response_status: 200, latency_ms: 3 })
    return { account, webhook, event, what: 'delivered', seconds: null, attempt }
  }
  await db.begin(async (tx) => {
    for (let n = 0; n < 10; n++) await storeResults(tx, worker, [delivered(uuid())], true)
    const [before, blocksBefore] = [await read(tx), await indexBlocks(tx)]
    await storeResults(tx, worker, of('pending').slice(0, 200).map(delivered), true)
    const count = (await read(tx)) - before
    assert.ok(count <= 400, `${count} rows were read for 200`)
    const blocks = (await indexBlocks(tx)) - blocksBefore
    assert.ok(blocks <= 200 * 12, `${blocks} blocks of indexes were read for 200`)
  })
  const { left } = await db.one<{ left: number }>`
    select count(*)::integer as left from webhook_deliveries where webhook_id = ${webhook} and state = 'pending'`
  assert.equal(left, 5_800)
})

test('few pending or failed deliveries are found without reading the many others', async () => {
  const { account, webhook, of } = await pile({ failed: 3, pending: 3, delivered: 3_000 })
  await db.run`vacuum analyze webhook_deliveries`
  await db.run`
    insert into events (account_id, id, name, payload, created_at)
    select account_id, event_id, 'contact.created', '{}', created_at from webhook_deliveries where webhook_id = ${webhook}`
  for (const state of ['pending', 'failed'] as const)
    await db.begin(async (tx) => {
      const before = await read(tx)
      const filter = {
        ...{ since: null, until: null, firstId: null, lastId: null, status: null, minLatency: null },
        state,
      }
      const { rows } = await search(tx, account, [webhook], filter, { before: null, limit: 50 })
      assert.deepEqual(rows.map((row) => row.event_id).sort(), of(state))
      const count = (await read(tx)) - before
      assert.ok(count <= 10, `${count} rows were read for 3 that are ${state}`)
    })
})

test('loading due deliveries reads only their own events, whatever the planner assumes', async () => {
  const { id: other } = await tenant()
  const add = (count: number) => db.run`
    insert into events (account_id, id, name, payload, created_at)
    select ${other}, gen_random_uuid(), 'contact.created', '{}', now() from generate_series(1, ${count}::integer)`
  const few = await pile({ pending: 20 })
  await db.run`
    insert into events (account_id, id, name, payload, created_at)
    select account_id, event_id, 'contact.created', '{}', created_at from webhook_deliveries where webhook_id = ${few.webhook}`
  await add(20)
  await db.run`vacuum analyze events`
  // As many leases as a busy process loads at a time.
  const lanes = [few.webhook, ...Array.from({ length: 63 }, uuid)].map((webhook) => ({
    account: few.account,
    webhook,
    most: 20,
    inHand: [],
  }))
  await db.begin(async (tx) => {
    // PostgreSQL plans afresh this often before it caches a generic plan.
    for (let n = 0; n < 10; n++) await load(tx, lanes)
    await add(5_000)
    const before = await read(tx, 'events')
    assert.equal((await load(tx, lanes)).length, 20)
    const count = (await read(tx, 'events')) - before
    assert.ok(count <= 40, `${count} events were read for 20`)
  })
})

test('an event reads only the webhooks of its own account, however many exist', async () => {
  const accounts: string[] = []
  for (let n = 0; n < 3; n++) accounts.push((await tenant()).id)
  const [own = '', ...others] = accounts
  await db.run`
    insert into webhooks (account_id, id, event, event_name, hook_url, sealed_secret, created_at, updated_at)
    select a, gen_random_uuid(), 'contact.created', 'contact.created', 'http://127.0.0.1/' || n, '', now(), now()
    from unnest(${others}::uuid[]) a, generate_series(1, 500) n`
  await db.begin(async (tx) => {
    const before = await read(tx, 'webhooks')
    const event = { account: own, name: 'contact.created' as const, channel: null, conversation: null, payload: {} }
    await record(
      tx,
      Array.from({ length: 10 }, () => event),
    )
    const count = (await read(tx, 'webhooks')) - before
    assert.ok(count <= 10, `${count} webhooks were read for 10 events`)
  })
})

test('a webhook loads more once its results are stored, even when no attempt is under way', async () => {
  const hook: Endpoint = {
    account: '',
    id: '',
    url: '',
    host: '',
    eventName: 'x',
    msgappName: null,
    headers: [],
    sealedHeaders: null,
    keys: [],
  }
  const writing: (() => void)[] = []
  let asked = 0
  const lane = new EndpointWorker(hook, { failures: 0, failingSince: null, isProven: true }, [], {
    limiter: makeConcurrencyLimiter({ perHost: 32, quick: 512, other: 448 }),
    now: Date.now,
    isLeaseHeld: () => true,
    attempt: async () => ({
      ...{ what: 'delivered', status: 200, ms: 1, timestamp: 0, excerpt: '', headers: null, error: null, wait: 0 },
    }),
    write: () => new Promise((written) => writing.push(written)),
    findOldestFailed: async () => null,
    requestWork: () => asked++,
  })
  const full = Array.from({ length: lane.capacity }, () => ({
    event: uuid(),
    conversation: null,
    tries: 0,
    body: '{}',
  }))
  lane.enqueue(full, lane.epoch)
  while (writing.length < full.length) await turn()
  assert.deepEqual([lane.capacity, asked], [0, 0])
  for (const written of writing) written()
  await turn()
  assert.equal(lane.capacity, full.length)
  assert.ok(asked > 0)
})
