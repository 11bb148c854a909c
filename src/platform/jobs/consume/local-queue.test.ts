import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { type TestDatabase, testDatabase } from '../../../../test/database.ts'
import { uuid } from '../../lib/id.ts'
import { type Job, type JobKind, jobEnded, Snooze } from '../job-kind.ts'
import { silentLog, startTestWorker, until } from '../job-testing.ts'
import { enqueue, enqueueAll } from '../queue.ts'
import { type LocalQueue, localQueueOf, type SlotReservation } from './local-queue.ts'

let db: TestDatabase
before(async () => {
  db = await testDatabase()
})

const account = uuid()

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

/** Reserves a slot, as soon as one is free. */
const reserve = async (queue: LocalQueue): Promise<SlotReservation> => {
  let granted: SlotReservation | null = null
  await until('there is room', () => {
    granted = queue.reserve(account)
    return granted !== null
  })
  return granted ?? assert.fail()
}

const left = async (kind: string) => (await db.many`select 1 from jobs where kind = ${kind}`).length

test('jobs inserted with a lease run once, end and are never claimed', async () => {
  const ran: string[] = []
  const kind: JobKind = {
    kind: 'born',
    concurrency: 2,
    leaseSeconds: 30,
    maxAttempts: 3,
    run: async ({ id, attempt }, _, fence) => void ran.push(`${id} ${attempt} ${fence}`),
  }
  const worker = startTestWorker({ db, kinds: [kind], log: silentLog })
  const queue = localQueueOf(db, 'born')
  assert.ok(queue)
  queue.cancel(await reserve(queue), false)
  const slots = [await reserve(queue), await reserve(queue)]
  assert.equal(queue.reserve(account), null, 'at most as many as may run at once')
  const ids = await add('born', queue.worker, 2)
  for (const [i, slot] of slots.entries()) queue.commit(slot, jobOf('born', ids[i] ?? ''))
  await until('they ended', async () => (await left('born')) === 0)
  assert.deepEqual(ran.sort(), ids.map((id) => `${id} 1 1`).sort())
  await worker.stop()
  assert.equal(localQueueOf(db, 'born'), undefined, 'a stopped worker has no local queue')
})

test('a slot is reserved next to jobs that wait for capacity, for each account while the kind has room for it', async () => {
  const full = uuid()
  const kind: JobKind = {
    kind: 'busy',
    concurrency: 10,
    leaseSeconds: 30,
    maxAttempts: 3,
    capacity: () => 0,
    hasLocalRoom: (one) => one !== full,
    run: async () => {},
  }
  await db.begin((tx) => enqueueAll(tx, 'busy', [{ payload: {} }]))
  const worker = startTestWorker({ db, kinds: [kind], log: silentLog })
  const queue = localQueueOf(db, 'busy')
  assert.ok(queue)
  assert.equal(queue.reserve(full), null)
  queue.cancel(await reserve(queue), false)
  assert.equal(await left('busy'), 1)
  await worker.stop()
})

test('a job inserted leased starts after the older ones of a claim in progress, of its kind and of those it names', async () => {
  for (const claimed of ['follows', 'precedes']) {
    const started: string[] = []
    const run = async ({ kind, payload }: Job) => void started.push(`${kind} ${JSON.stringify(payload)}`)
    const usual = { concurrency: 10, leaseSeconds: 30, maxAttempts: 3, run }
    // The other kind claims nothing: its claim could be taken for the one that is waited for.
    const claiming = (kind: string) => ({ kind, ...usual, capacity: () => (kind === claimed ? 10 : 0) })
    const kinds: JobKind[] = [claiming('precedes'), { ...claiming('follows'), startsAfter: ['precedes'] }]
    const worker = startTestWorker({ db, kinds, log: silentLog })
    const queue = localQueueOf(db, 'follows')
    assert.ok(queue)
    const slot = await reserve(queue)
    const [id = ''] = await add('follows', queue.worker, 1)
    // Claims of the start, which would be taken for the one below.
    const claims = () => db.many`select from pg_stat_activity
      where datname = current_database() and pid <> pg_backend_pid() and state <> 'idle'
        and query like '%jobs_complete_and_claim%'`
    await until('the first claims ended', async () => (await claims()).length === 0)
    await db.begin(async (tx) => {
      await tx.run`insert into jobs (id, kind, payload, run_at, created_at)
        values (${uuid()}, ${claimed}, '1', (select app_now()), (select app_now()))`
      await tx.run`lock table jobs in access exclusive mode`
      worker.notify(claimed)
      await until(
        'the claim waits',
        async () =>
          (await db.maybe`select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'
            and query like '%jobs_complete_and_claim%'`) !== null,
      )
      queue.commit(slot, { ...jobOf('follows', id), payload: 2 })
    })
    await until('both ran', () => started.length === 2)
    assert.deepEqual(started, [`${claimed} 1`, 'follows 2'])
    await worker.stop()
  }
})

test('a run that ended its job itself commits nothing more and keeps no lease', async () => {
  const kind: JobKind<unknown, never> = {
    kind: 'itself',
    concurrency: 10,
    leaseSeconds: 30,
    maxAttempts: 3,
    run: async ({ id }, _, fence) => {
      await db.run`delete from jobs where id = ${id} and fence = ${fence}`
      return jobEnded
    },
    onComplete: async () => assert.fail('the job has ended already'),
  }
  const warnings: string[] = []
  const log = { ...silentLog, warn: (_: object, text: string) => void warnings.push(text) }
  const worker = startTestWorker({ db, kinds: [kind], log })
  await db.begin((tx) => enqueueAll(tx, 'itself', [{ payload: {} }, { payload: {} }]))
  await until('both ended', async () => (await left('itself')) === 0)
  await worker.stop()
  assert.deepEqual(warnings, [])
})

test('handlers that only wait end as soon as the worker begins to stop', async () => {
  const stopping = Promise.withResolvers<never>()
  const kind: JobKind = {
    kind: 'waits',
    concurrency: 10,
    leaseSeconds: 30,
    maxAttempts: 3,
    run: () => stopping.promise,
    onStopping: () => stopping.reject(new Snooze('the worker is stopping', 0)),
  }
  const worker = startTestWorker({ db, kinds: [kind], log: silentLog })
  const [id = ''] = await db.begin((tx) => enqueueAll(tx, 'waits', [{ payload: {} }]))
  await until('it runs', () => worker.running('waits') === 1)
  await worker.stop(60_000)
  const row = await db.maybe`select leased_until, attempts from jobs where id = ${id}`
  assert.deepEqual(row, { leased_until: null, attempts: 0 })
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
  const queue = localQueueOf(db, 'lost')
  assert.ok(queue)
  const granted = await reserve(queue)
  const ids = await add('lost', queue.worker, 5)
  // Other jobs are claimed meanwhile; the recovery must not treat jobs that are being inserted as lost.
  await db.begin((tx) => enqueue(tx, 'lost', {}))
  await until('the other one ran', () => ran.length === 1)
  queue.cancel(granted, true)
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
  const queue = localQueueOf(db, 'late')
  assert.ok(queue)
  const { at } = await reserve(queue)
  const [id = ''] = await add('late', queue.worker, 1)
  queue.commit({ at: at - 3600 * 600 }, jobOf('late', id))
  await until('it ended', async () => (await left('late')) === 0)
  assert.equal(ran.length, 1)
  await worker.stop()
})
