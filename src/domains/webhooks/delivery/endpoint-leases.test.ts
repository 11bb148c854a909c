import assert from 'node:assert/strict'
import { test } from 'node:test'
import { until } from '../../../../test/platform.ts'
import { makeWorld } from '../../../../test/world.ts'
import { uuid } from '../../../platform/lib/id.ts'
import { recover } from './attempt-store.ts'
import { makeConcurrencyLimiter } from './concurrency-limiter.ts'
import { makeEndpointLeases } from './endpoint-leases.ts'
import { EndpointWorker } from './endpoint-worker.ts'

const { db, parts, tenant } = await makeWorld()

/** A webhook leased by a worker. */
const leased = async () => {
  const { id: account } = await tenant()
  const [webhook, worker] = [uuid(), uuid()]
  await db.run`insert into webhook_endpoint_leases (account_id, webhook_id, owner) values (${account}, ${webhook}, ${worker})`
  return { account, webhook, worker }
}

const laneOf = (account: string, id: string): EndpointWorker => {
  const hook = { account, id, url: 'http://b.test/', host: 'b.test', eventName: 'x', msgappName: null, keys: [] }
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
