import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { type TestDatabase, testDatabase } from '../../test/database.ts'
import { uuid } from '../lib/id.ts'
import { type Berth, berthOf, type Grant } from './berth.ts'
import type { Job, Kind } from './kind.ts'
import { enqueue, enqueueAll } from './queue.ts'
import { silent, until, work } from './testing.ts'

let db: TestDatabase
before(async () => {
  db = await testDatabase()
})

const jobOf = (kind: string, id: string): Job => {
  const now = new Date()
  return { id, account: null, kind, key: null, payload: {}, runAt: now, createdAt: now, attempt: 1 }
}

/** Adds so many jobs leased to the worker, as a statement on a hot path does. */
const add = async (kind: string, owner: string, count: number): Promise<string[]> => {
  const ids = Array.from({ length: count }, () => uuid())
  await db.run`
    insert into jobs (id, kind, payload, run_at, created_at, leased_until, owner, fence, attempts)
    select id, ${kind}, '{}', (select app_now()), (select app_now()), clock_timestamp() + interval '30 s', ${owner}, 1, 1
    from unnest(${ids}::uuid[]) j (id)`
  return ids
}

/** Places, as soon as the worker has looked at the queue. */
const grantOf = async (berth: Berth, count: number): Promise<Grant> => {
  let granted: Grant | null = null
  await until('there is room', () => {
    granted = berth.reserve(count)
    return granted !== null
  })
  return granted ?? assert.fail()
}

const left = async (kind: string) => (await db.many`select 1 from jobs where kind = ${kind}`).length

test('jobs that are added leased run once, end, and are never claimed', async () => {
  const ran: string[] = []
  const kind: Kind = {
    kind: 'born',
    concurrency: 100,
    leaseSeconds: 30,
    maxAttempts: 3,
    run: async ({ id, attempt }) => void ran.push(`${id} ${attempt}`),
  }
  const worker = work({ db, kinds: [kind], log: silent })
  const berth = berthOf(db, 'born')
  assert.ok(berth)
  const granted = await grantOf(berth, 250)
  assert.equal(granted.count, 100, 'no more than may run at once')
  assert.equal(berth.reserve(1), null, 'nothing beyond')
  const ids = await add('born', berth.worker, 3)
  berth.take(
    granted,
    ids.map((id) => jobOf('born', id)),
  )
  await until('they ended', async () => (await left('born')) === 0)
  assert.deepEqual(ran.sort(), ids.map((id) => `${id} 1`).sort())
  await worker.stop()
  assert.equal(berthOf(db, 'born'), undefined, 'a worker that has stopped takes none')
})

test('no place is granted while older jobs wait', async () => {
  const gate = Promise.withResolvers<void>()
  const kind: Kind = { kind: 'busy', concurrency: 2, leaseSeconds: 30, maxAttempts: 3, run: () => gate.promise }
  await db.begin((tx) =>
    enqueueAll(
      tx,
      'busy',
      [1, 2, 3].map((n) => ({ payload: { n } })),
    ),
  )
  const worker = work({ db, kinds: [kind], log: silent })
  await until('two run', () => worker.running('busy') === 2)
  const berth = berthOf(db, 'busy')
  assert.ok(berth)
  assert.equal(berth.reserve(1), null)
  assert.equal(berth.caughtUp(), null, 'nobody is asked to wait for a long queue')
  gate.resolve()
  await until('all ended', async () => (await left('busy')) === 0)
  berth.forsake(await grantOf(berth, 1), false)
  await worker.stop()
})

test('who waits for the claim of the last that wait finds places once it has ended', async () => {
  const ran: string[] = []
  const kind: Kind = {
    kind: 'close',
    concurrency: 10,
    leaseSeconds: 30,
    maxAttempts: 3,
    run: async ({ id }) => void ran.push(id),
  }
  const worker = work({ db, kinds: [kind], log: silent })
  const berth = berthOf(db, 'close')
  assert.ok(berth)
  berth.forsake(await grantOf(berth, 1), false)
  for (let round = 0; round < 10; round++) {
    await db.begin((tx) => enqueue(tx, 'close', {}))
    await berth.caughtUp()
    // The worker may have looked at the queue by itself in between: then a moment later.
    berth.take(await grantOf(berth, 1), [])
  }
  await until('all ran', () => ran.length === 10)
  await worker.stop()
})

test('nobody waits for more than the claim that is under way, however many accounts have jobs by then', async () => {
  const count = 2_000
  const gate = Promise.withResolvers<void>()
  const kind: Kind = {
    kind: 'round',
    concurrency: 2 * count,
    batch: 64,
    leaseSeconds: 30,
    maxAttempts: 3,
    fair: true,
    run: () => gate.promise,
  }
  const worker = work({ db, kinds: [kind], log: silent })
  const berth = berthOf(db, 'round')
  assert.ok(berth)
  berth.forsake(await grantOf(berth, 1), false)
  const { waiting } = await db.begin(async (tx) => {
    // The claim waits for this, and then meets them all.
    await tx.run`lock table jobs in access exclusive mode`
    worker.wake('round')
    await enqueueAll(
      tx,
      'round',
      Array.from({ length: count }, () => ({ account: uuid(), payload: {} })),
    )
    return { waiting: berth.caughtUp() }
  })
  assert.ok(waiting, 'the end was near')
  await waiting
  assert.ok(worker.running('round') < count / 2, `told after ${worker.running('round')} jobs`)
  // A round takes the jobs of 16 accounts at a time.
  while (worker.running('round') < count - 16) {
    assert.equal(berth.caughtUp(), null, 'the end of the round is far')
    await turn()
  }
  gate.resolve()
  await until('all ended', async () => (await left('round')) === 0)
  await worker.stop()
})

test('what was committed without an answer is found, and runs once', async () => {
  const ran: string[] = []
  const kind: Kind = {
    kind: 'lost',
    concurrency: 10,
    leaseSeconds: 3600,
    maxAttempts: 3,
    run: async ({ id }) => void ran.push(id),
  }
  const worker = work({ db, kinds: [kind], log: silent })
  const berth = berthOf(db, 'lost')
  assert.ok(berth)
  const granted = await grantOf(berth, 5)
  const ids = await add('lost', berth.worker, 5)
  // Jobs of others are claimed meanwhile; what is being added is not taken for lost.
  await db.begin((tx) => enqueue(tx, 'lost', {}))
  await until('the other one ran', () => ran.length === 1)
  berth.forsake(granted, true)
  await until('all ended', async () => (await left('lost')) === 0)
  assert.equal(ran.length, 6)
  assert.deepEqual(new Set(ran.slice(1)), new Set(ids))
  await worker.stop()
})

test('what comes too late to be held for sure is given back, and runs once', async () => {
  const ran: number[] = []
  const kind: Kind = {
    kind: 'late',
    concurrency: 10,
    leaseSeconds: 3600,
    maxAttempts: 3,
    run: async ({ attempt }) => void ran.push(attempt),
  }
  const worker = work({ db, kinds: [kind], log: silent })
  const berth = berthOf(db, 'late')
  assert.ok(berth)
  const { count, at } = await grantOf(berth, 1)
  const [id = ''] = await add('late', berth.worker, 1)
  berth.take({ count, at: at - 3600 * 600 }, [jobOf('late', id)])
  await until('it ended', async () => (await left('late')) === 0)
  assert.equal(ran.length, 1)
  await worker.stop()
})
