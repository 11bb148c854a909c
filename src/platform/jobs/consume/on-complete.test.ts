import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { type TestDatabase, testDatabase } from '../../../../test/database.ts'
import { connect, type Sql } from '../../db/sql.ts'
import { asDatabaseError } from '../../db/unavailability.ts'
import { type Job, type JobKind, Retry, Snooze } from '../job-kind.ts'
import { seeded, silentLog, startTestWorker, until } from '../job-testing.ts'
import { enqueueAll } from '../queue.ts'

const rounds = process.env.TRUNKLINE_TEST_LONG ? 100 : 3

let db: TestDatabase
before(async () => {
  db = await testDatabase()
  await db.raw('create table effects (job uuid, how text)')
})

const endByOne = async (sql: Sql, done: readonly { job: Job; fence: number }[], chance: number) => {
  const ended = await sql.many<{ id: string }>`
    with gone as (
      delete from jobs j using unnest(${done.map(({ job }) => job.id)}::uuid[], ${done.map(({ fence }) => fence)}::integer[])
        e (id, fence) where j.id = e.id and j.fence = e.fence returning j.id
    ), effect as (insert into effects select id, 'done' from gone)
    select id, case when ${chance}::float8 < 0.25 then 1 / 0 when ${chance}::float8 < 0.3 then pg_terminate_backend(pg_backend_pid())::int
      end from gone`
  // The transaction has committed, and the response is lost.
  if (chance < 0.35) throw asDatabaseError(new Error('Connection terminated unexpectedly'))
  return new Set(ended.map(({ id }) => id))
}

/** Handlers, completions and connections fail at random, and workers start and stop: each job still takes effect
 *  exactly once. @param alone many jobs end by a separate statement */
const storm = async (seed: number, alone: boolean): Promise<void> => {
  const random = seeded(seed)
  await db.run`delete from effects`
  await db.run`delete from dead_jobs`
  const end = (sql: Sql, done: readonly { job: Job; fence: number }[]) => {
    const chance = random()
    return chance < 0.2 ? null : endByOne(sql, done, chance)
  }
  const kind: JobKind<{ n: number }> = {
    kind: 'storm',
    concurrency: 60,
    batch: 32,
    leaseSeconds: 1,
    maxAttempts: 4,
    backoff: () => random() * 0.05,
    run: async () => {
      const chance = random()
      if (chance < 0.1) throw new Error('no luck')
      if (chance < 0.15) throw new Snooze('no room', random() * 0.05)
      if (chance < 0.2) throw new Retry('not now', random() * 0.05)
      if (chance < 0.5) await new Promise(setImmediate)
    },
    onComplete: async (tx, done) => {
      await tx.run`insert into effects select id, 'done' from unnest(${done.map(({ job }) => job.id)}::uuid[]) d (id)`
      const chance = random()
      if (chance < 0.05) throw new Error('settle failed')
      if (chance < 0.1) await tx.raw('select pg_terminate_backend(pg_backend_pid())')
    },
    ...(alone ? { completeDirectly: end } : {}),
    onDiscard: async (tx, job) => {
      await tx.run`insert into effects values (${job.id}, 'dead')`
      if (random() < 0.1) throw new Error('failed failed')
    },
  }
  // Named, because terminating a connection of the test itself would fail the test.
  const pools = [1, 2].map(() => connect({ url: `${db.url}&application_name=storm`, connections: 4 }))
  const start = (i: number) => startTestWorker({ db: pools[i % 2] ?? db, kinds: [kind], log: silentLog })
  const workers = [0, 1].map(start)
  const ids: string[] = []
  for (let i = 0; i < 10; i++) {
    const jobs = Array.from({ length: 50 }, (_, n) => ({ payload: { n } }))
    ids.push(...(await db.begin((tx) => enqueueAll(tx, 'storm', jobs))))
    if (random() < 0.3) {
      // A deadline of 0: running jobs are rescheduled in the middle of their work.
      await workers.shift()?.stop(0)
      workers.push(start(i))
    }
    if (random() < 0.3)
      await db.run`
        select pg_terminate_backend(pid) from pg_stat_activity
        where datname = current_database() and application_name = 'storm' and random() < 0.5`
  }
  // A failed `onDiscard` delays its job for up to an hour.
  await until(
    'all have ended',
    async () => {
      await db.run`update jobs set run_at = app_now() where run_at > app_now() + interval '1 minute'`
      return (await db.one<{ n: number }>`select count(*) as n from jobs`).n === 0
    },
    30_000,
  )
  await Promise.all(workers.map((worker) => worker.stop()))
  await Promise.all(pools.map((pool) => pool.end()))
  const effects = await db.many<{ job: string; how: string }>`select job, how from effects order by job`
  assert.deepEqual(
    effects.map(({ job }) => job),
    ids.sort(),
  )
  const dead = await db.many<{ id: string }>`select id from dead_jobs order by id`
  assert.deepEqual(
    effects.filter(({ how }) => how === 'dead').map(({ job }) => job),
    dead.map(({ id }) => id),
  )
}

test('each job takes effect exactly once, whatever fails', async (context) => {
  const first = Number(process.env.SEED ?? Date.now() % 1e6)
  for (let seed = first; seed < first + rounds; seed++) {
    context.diagnostic(`SEED=${seed}`)
    await storm(seed, false)
    await storm(seed, true)
  }
})

test('completions are flushed at the kind’s interval after many, but at once after few, for half a batch and at a stop', async () => {
  await db.run`delete from effects`
  const written = async () => (await db.one<{ n: number }>`select count(*) as n from effects`).n
  const ran: string[] = []
  const kind: JobKind = {
    kind: 'spaced',
    concurrency: 10,
    batch: 6,
    flushIntervalMs: 600_000,
    leaseSeconds: 60,
    maxAttempts: 1,
    run: async ({ id }) => void ran.push(id),
    onComplete: async () => assert.fail('these jobs end by one statement'),
    completeDirectly: (sql, done) => endByOne(sql, done, 1),
  }
  const worker = startTestWorker({ db, kinds: [kind], log: silentLog })
  const add = (count: number) =>
    db.begin((tx) =>
      enqueueAll(
        tx,
        'spaced',
        Array.from({ length: count }, () => ({ payload: {} })),
      ),
    )
  await add(1)
  await until('the first is written down', async () => (await written()) === 1)
  await add(1)
  await until('a lone one does not wait behind another', async () => (await written()) === 2)
  await add(4)
  await until('many are written down', async () => (await written()) === 6)
  await add(1)
  await until('the next has run', async () => ran.length === 7)
  assert.equal(await written(), 6)
  await add(2)
  await until('half a batch is written down', async () => (await written()) === 9)
  await add(1)
  await until('the last has run', async () => ran.length === 10)
  await worker.stop()
  assert.equal(await written(), 10)
})
