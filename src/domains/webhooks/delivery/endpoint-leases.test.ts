import assert from 'node:assert/strict'
import { test } from 'node:test'
import { until } from '../../../../test/platform.ts'
import { makeWorld } from '../../../../test/world.ts'
import { makeConcurrencyLimiter } from '../../../platform/lib/concurrency-limiter.ts'
import { uuid } from '../../../platform/lib/id.ts'
import { recover } from './attempt-store.ts'
import * as store from './endpoint-lease-store.ts'
import { makeEndpointLeases } from './endpoint-leases.ts'
import { EndpointWorker } from './endpoint-worker.ts'

const { db, parts, tenant, call } = await makeWorld({ TRUNKLINE_SANDBOX: 'true' })

/** A webhook leased by a worker. */
const leased = async () => {
  const { id: account } = await tenant()
  const [webhook, worker] = [uuid(), uuid()]
  await db.run`insert into webhook_endpoint_leases (account_id, webhook_id, owner) values (${account}, ${webhook}, ${worker})`
  return { account, webhook, worker }
}

const laneOf = (account: string, id: string): EndpointWorker => {
  const hook = {
    account,
    id,
    url: 'http://b.test/',
    host: 'b.test',
    eventName: 'x',
    msgappName: null,
    headers: [],
    sealedHeaders: null,
    keys: [],
  }
  return new EndpointWorker(hook, { failures: 0, failingSince: null, isProven: true }, [], {
    limiter: makeConcurrencyLimiter({ perHost: 1, quick: 1, other: 1 }),
    now: Date.now,
    isLeaseHeld: () => true,
    findOldestFailed: async () => null,
    attempt: () => assert.fail('nothing is due'),
    write: async () => {},
    requestWork: () => {},
  })
}

test('a lease released and reclaimed during an extension stays, and one taken by another process is dropped', async () => {
  for (const isTakenAgain of [true, false]) {
    const { account, webhook, worker } = await leased()
    const [before, after] = [laneOf(account, webhook), laneOf(account, webhook)]
    const lanes = new Map([[webhook, before]])
    const leases = makeEndpointLeases(parts, worker, lanes, 0)
    const kept = await db.begin(async (tx) => {
      await tx.run`update webhook_endpoint_leases set owner = null where webhook_id = ${webhook}`
      const keeping = leases.extendIfDue()
      await until(
        () => db.maybe`
          select from pg_stat_activity
          where datname = current_database() and wait_event_type = 'Lock' and query ~ 'update webhook_endpoint_leases'`,
      )
      if (isTakenAgain) lanes.set(webhook, after)
      return { keeping }
    })
    await kept.keeping
    assert.equal(lanes.get(webhook), isTakenAgain ? after : undefined)
    assert.equal(after.isRevoked, false)
  }
})

test('only the process that holds the lease can report a receiver as recovered', async () => {
  const { account, webhook, worker } = await leased()
  const event = uuid()
  await db.run`
    insert into webhook_deliveries (account_id, webhook_id, event_id, state, next_at, created_at)
    values (${account}, ${webhook}, ${event}, 'pending', now() + interval '1 hour', now())`
  const key = { account, webhook }
  assert.equal(await db.begin((tx) => recover(tx, uuid(), key, null)), 0)
  assert.equal(await db.begin((tx) => recover(tx, worker, key, null)), 1)
})

test('a lease is claimed if it is free, ended or ours and not on hold, and is extended and released by its holder alone', async () => {
  const { account, webhook, worker } = await leased()
  await db.run`
    insert into webhooks (account_id, id, event, event_name, hook_url, sealed_secret, created_at, updated_at)
    values (${account}, ${webhook}, 'contact.created', 'contact.created', 'http://b.test/', '', now(), now())`
  const key = { account, webhook }
  const other = uuid()
  const row = () => db.one<{ owner: string | null; seconds: number | null }>`
    select owner, extract(epoch from leased_until - clock_timestamp())::float8 as seconds
    from webhook_endpoint_leases where webhook_id = ${webhook}`
  const claim = async (owner: string) => (await store.claim(db, owner, [key], 30)).length === 1
  const extend = async (owner: string) => (await store.extend(db, owner, [key], 600)).length === 1
  assert.deepEqual([await claim(worker), await claim(other)], [true, false])
  assert.deepEqual([await extend(other), ((await row()).seconds ?? 0) <= 30], [false, true])
  assert.deepEqual([await extend(worker), ((await row()).seconds ?? 0) > 500], [true, true])
  await store.release(db, other, [key])
  assert.equal((await row()).owner, worker)
  // A process that died: its lease ends, and another one goes on.
  await db.run`
    update webhook_endpoint_leases set leased_until = clock_timestamp() - interval '1 second' where webhook_id = ${webhook}`
  assert.deepEqual([await claim(other), await extend(worker)], [true, false])
  await store.release(db, worker, [key])
  assert.equal((await row()).owner, other)
  await store.release(db, other, [key])
  assert.deepEqual(await row(), { owner: null, seconds: null })
  await db.run`
    update webhook_endpoint_leases set hold_until = app_now() + interval '1 hour' where webhook_id = ${webhook}`
  assert.equal(await claim(worker), false)
  await db.run`
    update webhook_endpoint_leases set hold_until = app_now() - interval '1 second' where webhook_id = ${webhook}`
  assert.equal(await claim(worker), true)
})

test('a webhook that is enabled or moved is called at once; pausing or disabling it fails only its own deliveries', async () => {
  const who = await tenant()
  const make = async (path: string) =>
    (await call(who, 'POST', '/open/webhooks/subscribe/contact.created', { hook_url: `http://127.0.0.1:1024/${path}` }))
      .body.data.uuid as string
  const [one, neighbour] = [await make('one'), await make('two')]
  const hold = () => db.run`
    update webhook_endpoint_leases set failures = 12, failing_since = now(), hold_until = now() + interval '1 hour'
    where account_id = ${who.id}`
  const holds = async () =>
    (
      await db.many<{ id: string; is_held: boolean }>`
        select webhook_id as id, failures > 0 or failing_since is not null or hold_until is not null as is_held from webhook_endpoint_leases
        where account_id = ${who.id} order by webhook_id`
    ).flatMap(({ id, is_held }) => (is_held ? [`WHK${id}`] : []))
  for (const body of [{ hook_url: 'http://127.0.0.1:1024/three' }, { enabled: true }]) {
    await hold()
    assert.equal((await call(who, 'PUT', `/open/webhooks/${one}`, body)).status, 200)
    assert.deepEqual(await holds(), [neighbour], JSON.stringify(body))
  }
  await hold()
  assert.equal((await call(who, 'PUT', `/open/webhooks/${one}`, { enabled: false })).status, 200)
  assert.equal((await holds()).length, 2)
  await db.run`
    insert into webhook_deliveries (account_id, webhook_id, event_id, state, next_at, created_at)
    select ${who.id}, w, gen_random_uuid(), 'pending', now(), now()
    from unnest(${[one, neighbour].map((id) => id.slice(3))}::uuid[]) w`
  const failed = async () => {
    for (const id of [one, neighbour]) await store.failPending(db, { account: who.id, webhook: id.slice(3) })
    return (
      await db.many<{ id: string }>`
        select webhook_id as id from webhook_deliveries where account_id = ${who.id} and state = 'failed'`
    ).map(({ id }) => `WHK${id}`)
  }
  assert.deepEqual(await failed(), [one])
})

test('a lease whose claim was answered late starts no attempt before it is extended', async () => {
  const seconds = 30
  const leases = makeEndpointLeases(parts, uuid(), new Map(), seconds)
  assert.equal(leases.areHeld(), true)
  leases.claimed(performance.now() - seconds * 1_000)
  assert.equal(leases.areHeld(), false)
  await leases.extendIfDue()
  assert.equal(leases.areHeld(), true)
})

test('a claim that is answered during an extension counts from its own begin', async () => {
  const { account, webhook, worker } = await leased()
  const seconds = 30
  const leases = makeEndpointLeases(parts, worker, new Map([[webhook, laneOf(account, webhook)]]), seconds)
  leases.claimed(performance.now() - seconds * 1_000)
  const extending = leases.extendIfDue()
  leases.claimed(performance.now() - seconds * 1_000)
  await extending
  assert.equal(leases.areHeld(), false)
})
