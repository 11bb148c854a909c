import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { onEachPostgres, type TestDatabase } from '../../../../test/database.ts'
import { isQuick } from '../../../../test/quick.ts'
import { uuid } from '../../lib/id.ts'
import { type JobKind, Retry, Snooze } from '../job-kind.ts'
import { errorLog, seeded, startTestWorker, until } from '../job-testing.ts'
import { enqueue, enqueueAll } from '../queue.ts'
import { completeAndClaim } from '../store.ts'

onEachPostgres((database) => {
  let db: TestDatabase
  before(async () => {
    db = await database()
  })
  const left = async () => (await db.one<{ n: number }>`select count(*) as n from jobs`).n

  test('jobs of a key run one at a time and in order, whatever fails, with three workers', async (context) => {
    const seed = Number(process.env.SEED ?? Date.now() % 1e6)
    context.diagnostic(`SEED=${seed}`)
    const random = seeded(seed)
    const keys = 20
    const each = 30
    const running = new Set<string>()
    const done = new Map<string, number[]>()
    const kind: JobKind<{ n: number }> = {
      kind: 'keyed',
      concurrency: 40,
      batch: 16,
      leaseSeconds: 30,
      maxAttempts: 100,
      run: async ({ key, payload }) => {
        assert.ok(key && !running.has(key), `two of ${key} at once`)
        running.add(key)
        await new Promise(setImmediate)
        running.delete(key)
        const chance = random()
        if (chance < 0.1) throw new Retry('no luck', random() * 0.02)
        if (chance < 0.2) throw new Snooze('no room', random() * 0.02)
        done.set(key, [...(done.get(key) ?? []), payload.n])
      },
    }
    const workers = [1, 2, 3].map(() => startTestWorker({ db, kinds: [kind], log: errorLog }))
    for (let n = 0; n < each; n++)
      await db.begin((tx) =>
        enqueueAll(
          tx,
          'keyed',
          Array.from({ length: keys }, (_, k) => ({ payload: { n }, key: `key ${k}` })),
        ),
      )
    await until('all are done', async () => (await left()) === 0, 20_000)
    await Promise.all(workers.map((worker) => worker.stop()))
    assert.equal(done.size, keys)
    for (const order of done.values())
      assert.deepEqual(
        order,
        Array.from({ length: each }, (_, n) => n),
      )
  })

  test('a job committed late never runs together with a later job of its key that has begun', async () => {
    const claim = { kind: 'late', count: 10, worker: uuid(), leaseSeconds: 30, after: null }
    const early = uuid()
    const later = uuid()
    // The later job is claimed in a transaction that is still open when the earlier job is added and claimed.
    const begun = Promise.withResolvers<void>()
    const finish = Promise.withResolvers<void>()
    await db.begin((tx) => enqueue(tx, 'late', {}, { key: 'k', id: later }))
    const first = db.begin(async (tx) => {
      assert.equal((await completeAndClaim(tx, [], claim)).claimed[0]?.job.id, later)
      begun.resolve()
      await finish.promise
    })
    await begun.promise
    await db.begin((tx) => enqueue(tx, 'late', {}, { key: 'k', id: early }))
    const second = assert.rejects(completeAndClaim(db, [], claim), /jobs_one_lease_per_key/)
    await until('the second claim waits for the first', async () => {
      const row = await db.one<{ n: number }>`
        select count(*) as n from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`
      return row.n > 0
    })
    finish.resolve()
    await Promise.all([first, second])
    assert.equal((await completeAndClaim(db, [], claim)).claimed.length, 0)
    await db.run`delete from jobs`
  })

  test('a job that waits for its next attempt blocks the jobs behind it, and no other key', async () => {
    const order: string[] = []
    const kind: JobKind<{ name: string }> = {
      kind: 'held up',
      concurrency: 10,
      leaseSeconds: 30,
      maxAttempts: 3,
      run: async ({ payload, attempt }) => {
        if (payload.name === 'a1' && attempt === 1) throw new Retry('no luck', 0.2)
        order.push(payload.name)
      },
    }
    const worker = startTestWorker({ db, kinds: [kind], log: errorLog })
    await db.begin((tx) =>
      enqueueAll(
        tx,
        'held up',
        ['a1', 'a2', 'a3', 'b1', 'b2'].map((name) => ({ payload: { name }, key: name.slice(0, 1) })),
      ),
    )
    await until('all are done', async () => (await left()) === 0)
    await worker.stop()
    assert.deepEqual(order, ['b1', 'b2', 'a1', 'a2', 'a3'])
  })

  test('a dead-lettered job lets the next job of its key start', async () => {
    const order: number[] = []
    const kind: JobKind<{ n: number }> = {
      kind: 'given up',
      concurrency: 10,
      leaseSeconds: 30,
      maxAttempts: 1,
      run: async ({ payload }) => {
        order.push(payload.n)
        throw new Error('no')
      },
    }
    const worker = startTestWorker({ db, kinds: [kind], log: errorLog })
    // Longer means: found by the poll, and not by the end of the previous job.
    await isQuick(400, async () => {
      order.length = 0
      const began = performance.now()
      await db.begin((tx) =>
        enqueueAll(
          tx,
          'given up',
          [1, 2, 3, 4].map((n) => ({ payload: { n }, key: 'k' })),
        ),
      )
      await until('all are given up', async () => (await left()) === 0)
      const took = performance.now() - began
      assert.deepEqual(order, [1, 2, 3, 4])
      return took
    })
    await worker.stop()
  })

  test('a job parked at the moment its predecessor ended is found again', async () => {
    let ran = false
    await db.begin((tx) => enqueue(tx, 'lost', {}, { key: 'k' }))
    await db.run`update jobs set parked = true`
    const kind: JobKind = {
      kind: 'lost',
      concurrency: 1,
      leaseSeconds: 30,
      maxAttempts: 1,
      run: async () => {
        ran = true
      },
    }
    const worker = startTestWorker({ db, kinds: [kind], log: errorLog })
    await until('it runs', () => ran, 1500)
    await worker.stop()
  })
})
