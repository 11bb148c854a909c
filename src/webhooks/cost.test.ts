import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { makeWorld } from '../../test/world.ts'
import type { Sql } from '../db/sql.ts'
import { record } from '../events/ops.ts'
import { uuid } from '../lib/id.ts'
import type { Hook } from './call.ts'
import { makeGate } from './gate.ts'
import { Lane } from './lane.ts'
import { load } from './lanes.ts'
import { page } from './log.ts'
import { type Change, deliveries } from './settle.ts'

const { db, tenant } = await makeWorld()

/** Rows of a table that this connection has read. */
const read = async (sql: Sql, table = 'webhook_deliveries'): Promise<number> => {
  const { count } = await sql.one<{ count: number }>`
    select coalesce(idx_tup_fetch, 0) + seq_tup_read as count from pg_stat_xact_user_tables
    where relname = ${table}`
  return count
}

/** A webhook whose lane a worker has, and so many deliveries of it in a state. */
const pile = async (states: Record<string, number>) => {
  const { id: account } = await tenant()
  const [webhook, worker] = [uuid(), uuid()]
  await db.run`insert into webhook_lanes (account_id, webhook_id, owner) values (${account}, ${webhook}, ${worker})`
  const ids = Object.entries(states).map(([state, count]) => ({ state, ids: Array.from({ length: count }, uuid) }))
  for (const { state, ids: events } of ids)
    await db.run`
      insert into webhook_deliveries (account_id, webhook_id, event_id, state, next_at, created_at)
      select ${account}, ${webhook}, e, ${state}, case when ${state} = 'pending' then now() end, now()
      from unnest(${events}::uuid[]) e`
  return { account, webhook, worker, of: (state: string) => ids.find((one) => one.state === state)?.ids ?? [] }
}

test('writing down what became of a delivery costs the same however much is pending, whatever the planner believes', async () => {
  await pile({ delivered: 3 })
  await db.run`vacuum analyze webhook_deliveries`
  const { account, webhook, worker, of } = await pile({ pending: 2_000 })
  const delivered = (event: string): Change => {
    const attempt = JSON.stringify({ response_status: 200, latency_ms: 3 })
    return { account, webhook, event, what: 'delivered', seconds: null, attempt }
  }
  await db.begin(async (tx) => {
    for (let n = 0; n < 10; n++) await deliveries(tx, worker, [delivered(uuid())], true)
    const before = await read(tx)
    await deliveries(tx, worker, of('pending').slice(0, 200).map(delivered), true)
    const count = (await read(tx)) - before
    assert.ok(count <= 400, `${count} rows were read for 200`)
  })
  const { left } = await db.one<{ left: number }>`
    select count(*)::integer as left from webhook_deliveries where webhook_id = ${webhook} and state = 'pending'`
  assert.equal(left, 1_800)
})

test('the few deliveries that wait or failed are found without reading the many others', async () => {
  const { account, webhook, of } = await pile({ failed: 3, pending: 3, delivered: 3_000 })
  await db.run`vacuum analyze webhook_deliveries`
  await db.run`
    insert into events (account_id, id, name, payload, created_at)
    select account_id, event_id, 'contact.created', '{}', created_at from webhook_deliveries where webhook_id = ${webhook}`
  for (const state of ['pending', 'failed'] as const)
    await db.begin(async (tx) => {
      const before = await read(tx)
      const rows = await page(tx, account, webhook, { state, before: null, limit: 51 })
      assert.deepEqual(rows.map((row) => row.event_id).sort(), of(state))
      const count = (await read(tx)) - before
      assert.ok(count <= 10, `${count} rows were read for 3 that are ${state}`)
    })
})

test('what is due is read with its own events alone, whatever the planner believes', async () => {
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
  // As many lanes as a busy process asks for at a time.
  const lanes = [few.webhook, ...Array.from({ length: 63 }, uuid)].map((webhook) => ({
    account: few.account,
    webhook,
    most: 20,
    inHand: [],
  }))
  await db.begin(async (tx) => {
    // So often the plan is made anew before one is kept.
    for (let n = 0; n < 10; n++) await load(tx, lanes)
    await add(5_000)
    const before = await read(tx, 'events')
    assert.equal((await load(tx, lanes)).length, 20)
    const count = (await read(tx, 'events')) - before
    assert.ok(count <= 40, `${count} events were read for 20`)
  })
})

test('an event looks at the webhooks of its own account alone, however many there are', async () => {
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

test('a webhook asks for more once what it had is written down, also when nothing of it is under way any more', async () => {
  const hook: Hook = { account: '', id: '', url: '', host: '', eventName: 'x', msgappName: null, keys: [] }
  const writing: (() => void)[] = []
  let asked = 0
  const lane = new Lane(hook, { failures: 0, failingSince: null, isProven: true }, [], {
    gate: makeGate({ each: 32, quick: 512, other: 448 }),
    now: Date.now,
    isHeld: () => true,
    call: async () => ({ what: 'delivered', status: 200, ms: 1, excerpt: '', error: null, wait: 0 }),
    write: () => new Promise((written) => writing.push(written)),
    elder: async () => null,
    hungry: () => asked++,
  })
  const full = Array.from({ length: lane.room }, () => ({ event: uuid(), conversation: null, tries: 0, body: '{}' }))
  lane.feed(full, lane.epoch)
  while (writing.length < full.length) await turn()
  assert.deepEqual([lane.room, asked], [0, 0])
  for (const written of writing) written()
  await turn()
  assert.equal(lane.room, full.length)
  assert.ok(asked > 0)
})
