import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { onEachPostgres, type TestDatabase } from '../../../test/database.ts'
import { type DeadJobLimits, dropDeadJobs, requeueDeadJobs } from './dead-jobs.ts'
import type { JobKind } from './job-kind.ts'
import { errorLog, startTestWorker, until } from './job-testing.ts'
import { enqueue } from './queue.ts'
import { completeAndClaim } from './store.ts'

onEachPostgres((database) => {
  let db: TestDatabase
  before(async () => {
    db = await database()
  })

  test('a job is settled if its kind acts on its failure, and then never runs again', async () => {
    let working = false
    const ran: string[] = []
    const kindOf = (kind: string): JobKind => ({
      kind,
      concurrency: 1,
      leaseSeconds: 30,
      maxAttempts: 1,
      run: async ({ attempt }) => {
        assert.equal(attempt, 1)
        if (!working) throw new Error('broken')
        ran.push(kind)
      },
    })
    const settling = { ...kindOf('settling'), onDiscard: async () => {} }
    const worker = startTestWorker({ db, kinds: [kindOf('open'), settling], log: errorLog })
    const ids = await db.begin((tx) => Promise.all(['open', 'settling'].map((kind) => enqueue(tx, kind, {}))))
    const dead = () =>
      db.many<{ kind: string; is_settled: boolean }>`select kind, is_settled from dead_jobs order by kind`
    await until('they are given up', async () => (await dead()).length === 2)
    assert.deepEqual(await dead(), [
      { kind: 'open', is_settled: false },
      { kind: 'settling', is_settled: true },
    ])
    working = true
    const requeue = (which: Parameters<typeof requeueDeadJobs>[1]) => db.begin((tx) => requeueDeadJobs(tx, which))
    for (const id of ids) await requeue({ id })
    assert.equal(await requeue({ kind: 'settling', limit: 10 }), 0)
    await until('the one runs', () => ran.length > 0)
    await worker.stop()
    assert.deepEqual(ran, ['open'])
    assert.deepEqual(await dead(), [{ kind: 'settling', is_settled: true }])
  })

  test('a requeued job cannot be ended under its former fence', async () => {
    const id = await db.begin((tx) => enqueue(tx, 'reborn', {}))
    const claim = { kind: 'reborn', count: 1, worker: id, leaseSeconds: 30, after: null }
    const before = await completeAndClaim(db, [], claim)
    await db.many`select jobs_move_to_dead_letter(array[${id}]::uuid[], array[1], array['x'])`
    await db.begin((tx) => requeueDeadJobs(tx, { id }))
    await completeAndClaim(db, [], claim)
    assert.equal((await completeAndClaim(db, before.claimed, { ...claim, count: 0 })).ended.size, 0)
  })

  const limits: DeadJobLimits = { settledDays: 90, openDays: 365, perKind: 4, batch: 100 }
  const [first, second] = ['00000000-0000-7000-8000-000000000001', '00000000-0000-7000-8000-000000000002']

  /** Adds dead jobs, one for each age in days. */
  const add = (kind: string, account: string, settled: boolean, ages: readonly number[]) => db.run`
    insert into dead_jobs (id, account_id, kind, payload, run_at, fence, attempts, created_at, is_settled, died_at)
    select gen_random_uuid(), ${account}::uuid, ${kind}::text, '{}', app_now(), 1, 1, app_now(), ${settled}::boolean,
      app_now() - make_interval(days => age)
    from unnest(${ages}::integer[]) a (age)`
  const drop = (changed: Partial<DeadJobLimits> = {}) => db.begin((tx) => dropDeadJobs(tx, { ...limits, ...changed }))
  /** Ages in days of the dead jobs of an account. */
  const agesOf = async (account: string) =>
    (
      await db.many<{ age: number }>`
        select extract(day from app_now() - died_at)::integer as age from dead_jobs where account_id = ${account}
        order by died_at`
    ).map(({ age }) => age)

  test('an old dead job is deleted, one whose work was not done after a longer time', async () => {
    await db.run`delete from dead_jobs`
    await add('order', first, true, [91, 89])
    await add('renew', second, false, [366, 364, 91])
    assert.deepEqual(await drop(), [
      { kind: 'order', reason: 'age', is_settled: true, count: 1 },
      { kind: 'renew', reason: 'age', is_settled: false, count: 1 },
    ])
    assert.deepEqual([await agesOf(first), await agesOf(second)], [[89], [364, 91]])
    assert.deepEqual(await drop(), [])
  })

  test('a kind with too many dead jobs loses the oldest of the account that has most, and no other kind does', async () => {
    await db.run`delete from dead_jobs`
    await add('send', first, true, [8, 7, 6, 5, 4, 3, 2, 1])
    await add('send', second, true, [60])
    await add('other', second, false, [300, 200, 100, 50])
    // A run that examines only a part deletes no more than it may, the rest follows.
    assert.deepEqual(await drop({ batch: 2 }), [{ kind: 'send', reason: 'number', is_settled: true, count: 2 }])
    assert.deepEqual(await agesOf(first), [6, 5, 4, 3, 2, 1])
    assert.deepEqual(await drop(), [{ kind: 'send', reason: 'number', is_settled: true, count: 3 }])
    assert.deepEqual(
      [await agesOf(first), await agesOf(second)],
      [
        [3, 2, 1],
        [300, 200, 100, 60, 50],
      ],
    )
    assert.deepEqual(await drop(), [])
  })
})
