import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { type TestDatabase, testDatabase } from '../../../../test/database.ts'
import { uuid } from '../../lib/id.ts'
import type { Job, JobKind } from '../job-kind.ts'
import { silentLog, startTestWorker, until } from '../job-testing.ts'
import { enqueue, enqueueAll } from '../queue.ts'
import { type LocalQueue, localQueueOf, type SlotReservation } from './local-queue.ts'

let db: TestDatabase
before(async () => {
  db = await testDatabase()
})

const jobOf = (kind: string, id: string): Job => {
  const now = new Date()
  return { id, account: null, kind, key: null, payload: {}, runAt: now, createdAt: now, attempt: 1 }
}

/** Inserts `count` jobs leased to the worker, as a statement on a hot path does. */
const add = async (kind: string, owner: string, count: number): Promise<string[]> => {
  const ids = Array.from({ length: count }, () => uuid())
  await db.run`
    insert into jobs (id, kind, payload, run_at, created_at, leased_until, owner, fence, attempts)
    select id, ${kind}, '{}', (select app_now()), (select app_now()), clock_timestamp() + interval '30 s', ${owner}, 1, 1
    from unnest(${ids}::uuid[]) j (id)`
  return ids
}

/** Reserves slots, as soon as the worker has polled the queue. */
const grantOf = async (berth: LocalQueue, count: number): Promise<SlotReservation> => {
  let granted: SlotReservation | null = null
  await until('there is room', () => {
    granted = berth.reserve(count)
    return granted !== null
  })
  return granted ?? assert.fail()
}

const left = async (kind: string) => (await db.many`select 1 from jobs where kind = ${kind}`).length

test('jobs inserted with a lease run once, end and are never claimed', async () => {
  const ran: string[] = []
  const kind: JobKind = {
    kind: 'born',
    concurrency: 100,
    leaseSeconds: 30,
    maxAttempts: 3,
    run: async ({ id, attempt }) => void ran.push(`${id} ${attempt}`),
  }
  const worker = startTestWorker({ db, kinds: [kind], log: silentLog })
  const berth = localQueueOf(db, 'born')
  assert.ok(berth)
  const granted = await grantOf(berth, 250)
  assert.equal(granted.count, 100, 'at most as many as may run at once')
  assert.equal(berth.reserve(1), null, 'no slot beyond the limit')
  const ids = await add('born', berth.worker, 3)
  berth.commit(
    granted,
    ids.map((id) => jobOf('born', id)),
  )
  await until('they ended', async () => (await left('born')) === 0)
  assert.deepEqual(ran.sort(), ids.map((id) => `${id} 1`).sort())
  await worker.stop()
  assert.equal(localQueueOf(db, 'born'), undefined, 'a stopped worker has no local queue')
})

test('no slot is reserved while older jobs wait', async () => {
  const gate = Promise.withResolvers<void>()
  const kind: JobKind = { kind: 'busy', concurrency: 2, leaseSeconds: 30, maxAttempts: 3, run: () => gate.promise }
  await db.begin((tx) =>
    enqueueAll(
      tx,
      'busy',
      [1, 2, 3].map((n) => ({ payload: { n } })),
    ),
  )
  const worker = startTestWorker({ db, kinds: [kind], log: silentLog })
  await until('two run', () => worker.running('busy') === 2)
  const berth = localQueueOf(db, 'busy')
  assert.ok(berth)
  assert.equal(berth.reserve(1), null)
  assert.equal(berth.whenCaughtUp(), null, 'no wait is offered behind a long queue')
  gate.resolve()
  await until('all ended', async () => (await left('busy')) === 0)
  berth.cancel(await grantOf(berth, 1), false)
  await worker.stop()
})

test('a waiter for the last claim gets slots once that claim has ended', async () => {
  const ran: string[] = []
  const kind: JobKind = {
    kind: 'close',
    concurrency: 10,
    leaseSeconds: 30,
    maxAttempts: 3,
    run: async ({ id }) => void ran.push(id),
  }
  const worker = startTestWorker({ db, kinds: [kind], log: silentLog })
  const berth = localQueueOf(db, 'close')
  assert.ok(berth)
  berth.cancel(await grantOf(berth, 1), false)
  for (let round = 0; round < 10; round++) {
    await db.begin((tx) => enqueue(tx, 'close', {}))
    await berth.whenCaughtUp()
    // The worker may have polled in between: retry shortly after.
    berth.commit(await grantOf(berth, 1), [])
  }
  await until('all ran', () => ran.length === 10)
  await worker.stop()
})

test('a waiter waits for the running claim only, however many accounts have jobs by then', async () => {
  const count = 2_000
  const gate = Promise.withResolvers<void>()
  const kind: JobKind = {
    kind: 'round',
    concurrency: 2 * count,
    batch: 64,
    leaseSeconds: 30,
    maxAttempts: 3,
    fair: true,
    run: () => gate.promise,
  }
  const worker = startTestWorker({ db, kinds: [kind], log: silentLog })
  const berth = localQueueOf(db, 'round')
  assert.ok(berth)
  berth.cancel(await grantOf(berth, 1), false)
  const { waiting } = await db.begin(async (tx) => {
    // The claim waits for this transaction, and then finds all jobs.
    await tx.run`lock table jobs in access exclusive mode`
    worker.notify('round')
    await enqueueAll(
      tx,
      'round',
      Array.from({ length: count }, () => ({ account: uuid(), payload: {} })),
    )
    return { waiting: berth.whenCaughtUp() }
  })
  assert.ok(waiting, 'the end was near')
  await waiting
  assert.ok(worker.running('round') < count / 2, `resolved after ${worker.running('round')} jobs`)
  // A round claims the jobs of 16 accounts at a time.
  while (worker.running('round') < count - 16) {
    assert.equal(berth.whenCaughtUp(), null, 'the end of the round is far')
    await turn()
  }
  gate.resolve()
  await until('all ended', async () => (await left('round')) === 0)
  await worker.stop()
})

test('a job whose commit response was lost is recovered and runs once', async () => {
  const ran: string[] = []
  const kind: JobKind = {
    kind: 'lost',
    concurrency: 10,
    leaseSeconds: 3600,
    maxAttempts: 3,
    run: async ({ id }) => void ran.push(id),
  }
  const worker = startTestWorker({ db, kinds: [kind], log: silentLog })
  const berth = localQueueOf(db, 'lost')
  assert.ok(berth)
  const granted = await grantOf(berth, 5)
  const ids = await add('lost', berth.worker, 5)
  // Other jobs are claimed meanwhile; the recovery must not treat jobs that are being inserted as lost.
  await db.begin((tx) => enqueue(tx, 'lost', {}))
  await until('the other one ran', () => ran.length === 1)
  berth.cancel(granted, true)
  await until('all ended', async () => (await left('lost')) === 0)
  assert.equal(ran.length, 6)
  assert.deepEqual(new Set(ran.slice(1)), new Set(ids))
  await worker.stop()
})

test('a job handed over too late for its lease is released and runs once', async () => {
  const ran: number[] = []
  const kind: JobKind = {
    kind: 'late',
    concurrency: 10,
    leaseSeconds: 3600,
    maxAttempts: 3,
    run: async ({ attempt }) => void ran.push(attempt),
  }
  const worker = startTestWorker({ db, kinds: [kind], log: silentLog })
  const berth = localQueueOf(db, 'late')
  assert.ok(berth)
  const { count, at } = await grantOf(berth, 1)
  const [id = ''] = await add('late', berth.worker, 1)
  berth.commit({ count, at: at - 3600 * 600 }, [jobOf('late', id)])
  await until('it ended', async () => (await left('late')) === 0)
  assert.equal(ran.length, 1)
  await worker.stop()
})
