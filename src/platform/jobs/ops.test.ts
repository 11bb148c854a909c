import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { onEachPostgres, type TestDatabase } from '../../../test/database.ts'
import { type JobKind, Snooze } from './job-kind.ts'
import { errorLog, startTestWorker, until } from './job-testing.ts'
import { promoteJobs, queueDepth } from './ops.ts'
import { enqueueAll } from './queue.ts'
import { completeAndClaim } from './store.ts'

onEachPostgres((database) => {
  let db: TestDatabase
  before(async () => {
    db = await database()
  })

  test('promoting a condition makes the jobs that wait for it due, and no others', async () => {
    const ran: string[] = []
    const kind: JobKind = {
      kind: 'waiting',
      concurrency: 10,
      leaseSeconds: 30,
      maxAttempts: 1,
      run: async ({ id, payload }) => {
        ran.push(id)
        // The payloads come from this test.
        const { waitsFor } = payload as { waitsFor?: string }
        if (waitsFor) throw new Snooze('not yet', 600, waitsFor)
      },
    }
    const worker = startTestWorker({ db, kinds: [kind], log: errorLog })
    const { later } = await db.one<{ later: Date }>`select app_now() + interval '1 hour' as later`
    const [a, b] = await db.begin((tx) =>
      enqueueAll(tx, 'waiting', [
        { payload: { waitsFor: 'a' } },
        { payload: { waitsFor: 'b' } },
        { payload: {}, runAt: later },
      ]),
    )
    const waits = async () =>
      (await db.many`select 1 from jobs where waits_for is not null and leased_until is null`).length
    await until('both are put off', async () => (await waits()) === 2)
    assert.deepEqual(new Set(ran), new Set([a, b]))
    assert.equal(await db.begin((tx) => promoteJobs(tx, 'waiting', { waitsFor: ['a', 'c'] })), 1)
    await until('it ran again, and waits again', async () => ran.length === 3 && (await waits()) === 2)
    assert.equal(ran[2], a)
    await worker.stop()
    await db.run`delete from jobs`
  })

  test('the queue depth counts due, delayed, leased and dead jobs separately', async () => {
    const { now } = await db.one<{ now: Date }>`select app_now() as now`
    const plus = (seconds: number) => new Date(now.getTime() + seconds * 1000)
    await db.begin(async (tx) => {
      await enqueueAll(tx, 'a', [{ payload: {}, runAt: plus(-90) }, { payload: {} }, { payload: {}, runAt: plus(90) }])
      await enqueueAll(tx, 'b', [{ payload: {}, runAt: plus(-30) }])
    })
    const claim = (kind: string) =>
      completeAndClaim(db, [], {
        kind,
        count: 1,
        worker: '00000000-0000-7000-8000-000000000000',
        leaseSeconds: 30,
        after: null,
      })
    await claim('b')
    const depth = await queueDepth(db)
    const rounded = depth.map(({ oldest_seconds, ...rest }) => ({
      ...rest,
      oldest: Math.round(oldest_seconds / 10) * 10,
    }))
    assert.deepEqual(rounded, [
      { kind: 'a', due: 2, delayed: 1, leased: 0, dead: 0, oldest: 90 },
      { kind: 'b', due: 0, delayed: 0, leased: 1, dead: 0, oldest: 0 },
    ])
    const [job] = (await claim('a')).claimed
    assert.ok(job)
    await db.many`select jobs_move_to_dead_letter(array[${job.job.id}]::uuid[], array[${job.fence}]::integer[], array['x'])`
    const after = (await queueDepth(db)).find((row) => row.kind === 'a')
    assert.deepEqual([after?.due, after?.dead], [1, 1])
  })
})
