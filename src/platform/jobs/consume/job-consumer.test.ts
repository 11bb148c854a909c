import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { type TestDatabase, testDatabase } from '../../../../test/database.ts'
import type { Db } from '../../db/sql.ts'
import { uuid } from '../../lib/id.ts'
import { type JobKind, type Log, Snooze } from '../job-kind.ts'
import { errorLog, silentLog, startTestWorker, until } from '../job-testing.ts'
import { enqueue, enqueueAll } from '../queue.ts'
import { JobConsumer } from './job-consumer.ts'

let db: TestDatabase
before(async () => {
  db = await testDatabase()
})

const usual = { concurrency: 4, leaseSeconds: 30, maxAttempts: 3 }

test('jobs of a claim answered after the stop deadline return to the queue and do not run', async (context) => {
  let runs = 0
  const kind: JobKind = { kind: 'late', ...usual, run: async () => void runs++ }
  await db.begin((tx) => enqueueAll(tx, 'late', [{ payload: {} }, { payload: {} }]))
  const consumer = new JobConsumer(kind, db, errorLog, uuid())
  context.after(() => consumer.close(0))
  const isClaiming = () =>
    db.maybe`select from pg_locks where not granted and relation = 'jobs'::regclass and database =
      (select oid from pg_database where datname = current_database())`
  await db.begin(async (tx) => {
    await tx.run`lock table jobs in access exclusive mode`
    consumer.scheduleStep()
    await until('the claim waits', async () => (await isClaiming()) !== null)
    await consumer.close(0)
  })
  await until(
    'they were claimed and given back',
    async () =>
      (await db.many`select from jobs where fence > 0 and leased_until is null and attempts = 0`).length === 2,
  )
  assert.equal(runs, 0)
  await db.run`delete from jobs`
})

test('two runs of a job that end together, as after a lost lease, complete it once', async () => {
  const ends: PromiseWithResolvers<void>[] = []
  const completed: number[] = []
  const kind: JobKind<object, number> = {
    ...{ kind: 'twice', ...usual },
    run: async () => {
      const end = Promise.withResolvers<void>()
      const run = ends.push(end)
      await end.promise
      return run
    },
    onComplete: async (_, done) => void completed.push(...done.map(({ result }) => result)),
  }
  await db.begin((tx) => enqueue(tx, 'twice', {}))
  const worker = startTestWorker({ db, kinds: [kind], log: silentLog })
  await until('it runs', () => ends.length === 1)
  await db.run`update jobs set leased_until = null, owner = null, fence = fence + 1`
  worker.notify('twice')
  await until('it runs again', () => ends.length === 2)
  for (const end of ends) end.resolve()
  await until('it is complete', async () => (await db.maybe`select from jobs`) === null)
  await worker.stop()
  assert.deepEqual(completed, [2])
})

test('a worker logs a database outage once, and the next outage once more', async () => {
  let isAway = false
  let looks = 0
  const shaky: Db = {
    ...db,
    many: (text, ...values) => {
      if (text.join('').includes('jobs_poll')) looks++
      return isAway ? Promise.reject(new Error('away')) : db.many(text, ...values)
    },
  }
  const said: string[] = []
  const log: Log = { ...silentLog, error: (_, text) => void said.push(text) }
  const worker = startTestWorker({ db: shaky, kinds: [{ kind: 'shaky', ...usual }], log })
  const look = (count: number) => {
    const target = looks + count
    return until('the queue is looked at', () => looks >= target)
  }
  const missed = 'jobs: poll failed'
  await look(2)
  for (const outages of [1, 2]) {
    isAway = true
    await look(3)
    assert.deepEqual(
      said.filter((text) => text === missed),
      Array.from({ length: outages }, () => missed),
    )
    isAway = false
    await look(2)
  }
  await worker.stop()
})

test('a job rescheduled for a moment does not wait for the next poll', async () => {
  let runs = 0
  const kind: JobKind = {
    kind: 'moment',
    ...usual,
    run: async () => {
      // With polls half a second apart these runs would take 30 s.
      if (++runs < 60) throw new Snooze('no room', 0.005)
    },
  }
  const worker = startTestWorker({ db, kinds: [kind], log: errorLog })
  await db.begin((tx) => enqueue(tx, 'moment', {}))
  await until('it has come round 60 times', () => runs === 60)
  await worker.stop()
})

test('a job that becomes due between two polls starts at its time', async () => {
  const late: number[] = []
  const run: JobKind['run'] = async ({ runAt }) => void late.push(Date.now() - runAt.getTime())
  const names = Array.from({ length: 12 }, (_, n) => `due ${n}`)
  const worker = startTestWorker({ db, kinds: names.map((kind) => ({ kind, ...usual, run })), log: errorLog })
  // Later than the next poll, spread over a poll interval.
  for (const [n, name] of names.entries())
    await db.begin((tx) => enqueue(tx, name, {}, { runAt: new Date(Date.now() + 800 + n * 40) }))
  await until('all ran', () => late.length === names.length)
  await worker.stop()
  const [median = 0] = late.sort((a, b) => a - b).slice(names.length / 2)
  assert.ok(median < 150, `${median} ms late, of ${late}`)
})
