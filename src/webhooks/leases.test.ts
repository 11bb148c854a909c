import assert from 'node:assert/strict'
import { test } from 'node:test'
import { until } from '../../test/platform.ts'
import { makeWorld } from '../../test/world.ts'
import { uuid } from '../lib/id.ts'
import { makeGate } from './gate.ts'
import { Lane } from './lane.ts'
import { makeLeases } from './leases.ts'
import { recover } from './settle.ts'

const { db, parts, tenant } = await makeWorld()

/** A webhook whose lane a worker has. */
const leased = async () => {
  const { id: account } = await tenant()
  const [webhook, worker] = [uuid(), uuid()]
  await db.run`insert into webhook_lanes (account_id, webhook_id, owner) values (${account}, ${webhook}, ${worker})`
  return { account, webhook, worker }
}

const laneOf = (account: string, id: string): Lane => {
  const hook = { account, id, url: 'http://b.test/', host: 'b.test', eventName: 'x', msgappName: null, keys: [] }
  return new Lane(hook, { failures: 0, failingSince: null, isProven: true }, [], {
    gate: makeGate({ each: 1, quick: 1, other: 1 }),
    now: Date.now,
    isHeld: () => true,
    elder: async () => null,
    call: () => assert.fail('nothing is due'),
    write: async () => {},
    hungry: () => {},
  })
}

test('a lane that was given back and taken again while leases were prolonged stays; one that is another’s goes', async () => {
  for (const isTakenAgain of [true, false]) {
    const { account, webhook, worker } = await leased()
    const [before, after] = [laneOf(account, webhook), laneOf(account, webhook)]
    const lanes = new Map([[webhook, before]])
    const leases = makeLeases(parts, worker, lanes, 0)
    const kept = await db.begin(async (tx) => {
      await tx.run`update webhook_lanes set owner = null where webhook_id = ${webhook}`
      const keeping = leases.keep()
      await until(
        () => db.maybe`
          select from pg_stat_activity
          where datname = current_database() and wait_event_type = 'Lock' and query ~ 'update webhook_lanes'`,
      )
      if (isTakenAgain) lanes.set(webhook, after)
      return { keeping }
    })
    await kept.keeping
    assert.equal(lanes.get(webhook), isTakenAgain ? after : undefined)
    assert.equal(after.isLost, false)
  }
})

test('that a receiver takes calls again counts only from the process that has its lane', async () => {
  const { account, webhook, worker } = await leased()
  const event = uuid()
  await db.run`
    insert into webhook_deliveries (account_id, webhook_id, event_id, state, next_at, created_at)
    values (${account}, ${webhook}, ${event}, 'pending', now() + interval '1 hour', now())`
  const key = { account, webhook }
  assert.equal(await db.begin((tx) => recover(tx, uuid(), key, null)), 0)
  assert.equal(await db.begin((tx) => recover(tx, worker, key, null)), 1)
})
