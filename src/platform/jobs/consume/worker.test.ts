import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { onEachPostgres, type TestDatabase } from '../../../../test/database.ts'
import { Discard, type JobKind, Retry, Snooze } from '../job-kind.ts'
import { errorLog, silentLog, startTestWorker, until } from '../job-testing.ts'
import { enqueue, enqueueAll } from '../queue.ts'

const usual = { concurrency: 4, leaseSeconds: 30, maxAttempts: 3 }

onEachPostgres((database) => {
  let db: TestDatabase
  before(async () => {
    db = await database()
  })
  const left = async () => (await db.one<{ n: number }>`select count(*) as n from jobs`).n

  test('a job runs as soon as the transaction that added it has committed, and never before', async () => {
    let committed = 0
    const delays: number[] = []
    const kind: JobKind = {
      kind: 'now',
      ...usual,
      run: async () => {
        assert.ok(committed > 0, 'the job ran before the commit')
        delays.push(performance.now() - committed)
      },
    }
    const worker = startTestWorker({ db, kinds: [kind], log: errorLog })
    for (let n = 1; n <= 20; n++) {
      committed = 0
      await db.begin(async (tx) => {
        await enqueue(tx, 'now', { n })
        tx.afterCommit(() => {
          committed = performance.now()
        })
      })
      await until('the job runs', () => delays.length === n)
    }
    await worker.stop()
    const [median = 0] = delays.sort((a, b) => a - b).slice(10)
    assert.ok(median < 20, `woken after ${median} ms`)
    assert.equal(await left(), 0)
  })

  test('a worker that stops some kinds first claims no further job of these, and goes on with the others', async () => {
    const ran: string[] = []
    const first = Promise.withResolvers<void>()
    const kindOf = (kind: string): JobKind => ({
      ...{ kind, ...usual },
      run: async () => {
        ran.push(kind)
        if (kind === 'stopped') await first.promise
      },
    })
    const worker = startTestWorker({ db, kinds: ['stopped', 'other'].map(kindOf), log: errorLog })
    const add = (kind: string) => db.begin((tx) => enqueue(tx, kind, {}))
    await add('stopped')
    await until('the first runs', () => ran.length === 1)
    const stopped = worker.stopKinds((kind) => kind === 'stopped', 60_000)
    await add('stopped')
    await add('other')
    await until('the other kind runs', () => ran.includes('other'))
    first.resolve()
    await stopped
    await until('the ends are stored', async () => (await left()) === 1)
    assert.deepEqual(ran, ['stopped', 'other'])
    // Its end was waited for once.
    await worker.stop()
    await db.run`delete from jobs`
  })

  test('a job whose transaction is rolled back never runs', async () => {
    await assert.rejects(
      db.begin(async (tx) => {
        await enqueue(tx, 'never', {})
        throw new Error('no')
      }),
    )
    assert.equal(await left(), 0)
  })

  test('adding the same id twice makes one job', async () => {
    const id = await db.begin((tx) => enqueue(tx, 'twice', { n: 1 }))
    await db.begin((tx) => enqueue(tx, 'twice', { n: 2 }, { id }))
    assert.deepEqual(await db.many`select id, payload from jobs`, [{ id, payload: { n: 1 } }])
    await db.run`delete from jobs`
  })

  test('jobs start in the order of their due times, run once each, and complete with their results', async () => {
    const seen: number[] = []
    const settled: number[] = []
    const kind: JobKind<{ n: number }, number> = {
      kind: 'many',
      ...usual,
      concurrency: 500,
      run: async ({ payload }) => {
        seen.push(payload.n)
        return payload.n * 2
      },
      onComplete: async (_, done) => {
        for (const { result } of done) settled.push(result)
      },
    }
    const numbers = Array.from({ length: 2000 }, (_, n) => n)
    await db.begin((tx) =>
      enqueueAll(
        tx,
        'many',
        numbers.map((n) => ({ payload: { n } })),
      ),
    )
    const worker = startTestWorker({ db, kinds: [kind], log: errorLog })
    await until('all are done', async () => (await left()) === 0)
    await worker.stop()
    assert.deepEqual(seen, numbers)
    assert.deepEqual(
      settled.sort((a, b) => a - b),
      numbers.map((n) => n * 2),
    )
  })

  test('a worker runs at most as many jobs at a time as the kind allows', async () => {
    let now = 0
    let most = 0
    const kind: JobKind = {
      kind: 'few',
      ...usual,
      concurrency: 3,
      run: async () => {
        most = Math.max(most, ++now)
        await new Promise(setImmediate)
        now--
      },
    }
    await db.begin((tx) =>
      enqueueAll(
        tx,
        'few',
        Array.from({ length: 100 }, () => ({ payload: {} })),
      ),
    )
    const worker = startTestWorker({ db, kinds: [kind], log: errorLog })
    await until('all are done', async () => (await left()) === 0)
    await worker.stop()
    assert.equal(most, 3)
  })

  test('a failed job is retried, a snoozed job loses no attempt, an exhausted job is stored with its error', async () => {
    const attempts: number[] = []
    const errors: string[] = []
    const kind: JobKind = {
      kind: 'bad',
      ...usual,
      run: async ({ attempt }) => {
        attempts.push(attempt)
        if (attempts.length === 2) throw new Snooze('no room', 0.01)
        throw new Retry('no luck\0', 0.01)
      },
      onDiscard: async (tx, job, error) => {
        errors.push(error)
        await tx.one`select 1 from dead_jobs where id = ${job.id}`
      },
    }
    const worker = startTestWorker({ db, kinds: [kind], log: errorLog })
    const id = await db.begin((tx) => enqueue(tx, 'bad', { n: 1 }))
    await until('it is given up', async () => (await left()) === 0)
    await worker.stop()
    assert.deepEqual(attempts, [1, 2, 2, 3])
    assert.deepEqual(errors, ['Error: no luck\ufffd'])
    assert.deepEqual(await db.many`select id, kind, payload, attempts, last_error from dead_jobs`, [
      { id, kind: 'bad', payload: { n: 1 }, attempts: 3, last_error: 'Error: no luck\ufffd' },
    ])
  })

  test('a discarded job is dead-lettered at once', async () => {
    let runs = 0
    const kind: JobKind = {
      kind: 'hopeless',
      ...usual,
      run: async () => {
        runs++
        throw new Discard('no such number')
      },
    }
    const worker = startTestWorker({ db, kinds: [kind], log: errorLog })
    await db.begin((tx) => enqueue(tx, 'hopeless', {}))
    await until('it is given up', async () => (await left()) === 0)
    await worker.stop()
    assert.equal(runs, 1)
  })

  test('without capacity no job is claimed and no attempt is lost; with capacity, at most that many are', async () => {
    let room = 0
    let capacityChecks = 0
    const attempts: number[] = []
    const kind: JobKind = {
      kind: 'narrow',
      ...usual,
      concurrency: 100,
      capacity: () => {
        capacityChecks++
        return room
      },
      run: async ({ attempt }) => {
        room--
        attempts.push(attempt)
      },
    }
    const worker = startTestWorker({ db, kinds: [kind], log: errorLog })
    await db.begin((tx) =>
      enqueueAll(
        tx,
        'narrow',
        Array.from({ length: 30 }, () => ({ payload: {} })),
      ),
    )
    await until('room is asked for', () => capacityChecks > 2)
    assert.deepEqual(
      await db.many`select attempts, fence, count(*) as n from jobs where kind = 'narrow' group by 1, 2`,
      [{ attempts: 0, fence: 0, n: 30 }],
    )
    for (let turn = 1; turn <= 6; turn++) {
      room = 5
      worker.notify('narrow')
      await until('the capacity is used', () => attempts.length >= turn * 5)
      assert.equal(room, 0)
    }
    await until('all are done', async () => (await left()) === 0)
    await worker.stop()
    assert.deepEqual([...new Set(attempts)], [1])
  })

  test('a job starts within a second of its time, also after a clock change or with a new worker', async () => {
    const starts = new Map<string, number>()
    const kind: JobKind<{ name: string }> = {
      kind: 'timed',
      ...usual,
      run: async ({ payload }) => {
        starts.set(payload.name, performance.now())
      },
    }
    const first = startTestWorker({ db, kinds: [kind], log: errorLog })
    const began = performance.now()
    await db.begin(async (tx) => {
      const { now } = await tx.one<{ now: Date }>`select app_now() as now`
      await enqueue(tx, 'timed', { name: 'soon' }, { runAt: new Date(now.getTime() + 300) })
      await enqueue(tx, 'timed', { name: 'month' }, { runAt: new Date(now.getTime() + 30 * 86_400_000) })
    })
    await until('the near one runs', () => starts.has('soon'))
    const late = (starts.get('soon') ?? 0) - began - 300
    assert.ok(late > -5 && late < 700, `${late} ms late`)
    await first.stop()

    const second = startTestWorker({ db, kinds: [kind], log: errorLog })
    const moved = performance.now()
    await db.run`update clock set offset_seconds = offset_seconds + ${31 * 86_400}`
    await until('the far one runs', () => starts.has('month'))
    assert.ok((starts.get('month') ?? 0) - moved < 1000)
    await second.stop()
  })

  test('a clock change ends no lease', async () => {
    const go = Promise.withResolvers<void>()
    let runs = 0
    const kind: JobKind = {
      kind: 'clockwork',
      ...usual,
      run: async () => {
        runs++
        await go.promise
      },
    }
    const worker = startTestWorker({ db, kinds: [kind], log: errorLog })
    await db.begin((tx) => enqueue(tx, 'clockwork', {}))
    await until('it runs', () => runs === 1)
    await db.run`update clock set offset_seconds = offset_seconds + ${365 * 86_400}`
    await db.many`select jobs_poll(array['clockwork'])`
    assert.deepEqual(await db.many`select leased_until > now() as leased, fence from jobs where kind = 'clockwork'`, [
      { leased: true, fence: 1 },
    ])
    go.resolve()
    await worker.stop()
    assert.equal(runs, 1)
  })

  test('a stop waits for running jobs; after its deadline the rest return to the queue and lose no attempt', async () => {
    const go = Promise.withResolvers<void>()
    const ended: number[] = []
    const aborted: number[] = []
    const kind: JobKind<{ n: number }> = {
      kind: 'slow',
      ...usual,
      concurrency: 2,
      run: async ({ payload, attempt }, signal) => {
        if (payload.n === 0) await go.promise
        else
          await new Promise((_, reject) => {
            signal.addEventListener('abort', () => {
              aborted.push(attempt)
              reject(signal.reason)
            })
          })
        ended.push(payload.n)
      },
    }
    const worker = startTestWorker({ db, kinds: [kind], log: errorLog })
    await db.begin((tx) =>
      enqueueAll(
        tx,
        'slow',
        [0, 1, 2].map((n) => ({ payload: { n } })),
      ),
    )
    await until('two run', () => worker.running('slow') === 2)
    const stopped = worker.stop(200)
    go.resolve()
    await stopped
    assert.deepEqual(ended, [0])
    assert.deepEqual(aborted, [1])
    assert.deepEqual(
      await db.many`select payload, leased_until, owner, attempts from jobs order by id`,
      [1, 2].map((n) => ({ payload: { n }, leased_until: null, owner: null, attempts: 0 })),
    )
    await db.run`delete from jobs`
  })

  test('when onComplete rejects one job of a batch, the others take effect and that one counts as failed', async () => {
    const settled: number[] = []
    const kind: JobKind<{ n: number }, number> = {
      kind: 'mixed',
      ...usual,
      concurrency: 200,
      maxAttempts: 1,
      run: async ({ payload }) => payload.n,
      onComplete: async (tx, done) => {
        for (const { result } of done) await tx.one`select 1 / ${result === 7 ? 0 : 1}::integer`
        tx.afterCommit(() => settled.push(...done.map(({ result }) => result)))
      },
    }
    const worker = startTestWorker({ db, kinds: [kind], log: silentLog })
    await db.begin((tx) =>
      enqueueAll(
        tx,
        'mixed',
        Array.from({ length: 50 }, (_, n) => ({ payload: { n } })),
      ),
    )
    await until('all are done', async () => (await left()) === 0)
    await worker.stop()
    assert.equal(settled.length, 49)
    const dead = await db.many<{ n: number; error: string }>`
      select (payload ->> 'n')::integer as n, last_error as error from dead_jobs where kind = 'mixed'`
    assert.deepEqual(
      dead.map(({ n }) => n),
      [7],
    )
    assert.match(dead[0]?.error ?? '', /division by zero/)
  })

  test('a long queue of one account does not delay another if the kind is fair', async () => {
    const big = '00000000-0000-7000-8000-00000000000b'
    const small = '00000000-0000-7000-8000-00000000000a'
    const order: string[] = []
    const kind: JobKind = {
      kind: 'fair',
      ...usual,
      concurrency: 16,
      batch: 16,
      fair: true,
      run: async ({ account }) => {
        order.push(account ?? 'none')
      },
    }
    const jobs = (account: string | undefined, count: number) =>
      Array.from({ length: count }, () => ({ payload: {}, ...(account ? { account } : {}) }))
    await db.begin((tx) => enqueueAll(tx, 'fair', jobs(big, 5000)))
    await db.begin((tx) => enqueueAll(tx, 'fair', [...jobs(small, 20), ...jobs(undefined, 1)]))
    const worker = startTestWorker({ db, kinds: [kind], log: errorLog })
    await until('the small account is served', () => order.filter((account) => account === small).length === 20)
    assert.ok(order.length < 400, `after ${order.length} jobs`)
    await until('all are done', async () => (await left()) === 0, 20_000)
    await worker.stop()
    assert.equal(order.length, 5021)
  })
})
