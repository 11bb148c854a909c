import assert from 'node:assert/strict'
import { type ChildProcess, fork } from 'node:child_process'
import { after, before, test } from 'node:test'
import { type TestDatabase, testDatabase } from '../../../../test/database.ts'
import { isQuick } from '../../../../test/quick.ts'
import type { JobKind } from '../job-kind.ts'
import { errorLog, startTestWorker, until } from '../job-testing.ts'
import { enqueueAll } from '../queue.ts'
import type { FixtureMessage } from './fence.worker-fixture.ts'
import { releaseLeases } from './worker.ts'

let db: TestDatabase
before(async () => {
  db = await testDatabase()
  await db.raw('create table effects (job uuid, who text)')
})

const children = new Set<ChildProcess>()
after(() => {
  for (const child of children) child.kill('SIGKILL')
})

/** Starts a worker in a child process that claims all jobs and then waits for `go`. */
const holder = (leaseSeconds: number) => {
  const url = new URL(db.url)
  url.searchParams.set('application_name', `holder ${children.size}`)
  const child = fork(`${import.meta.dirname}/fence.worker-fixture.ts`, [url.href, String(leaseSeconds)])
  children.add(child)
  /** Kills the worker. Its server processes may still execute a claim, which a restart of the server would end. */
  const kill = async () => {
    child.kill('SIGKILL')
    await until('it is dead', () => child.signalCode !== null)
    await until('its sessions have ended', async () => {
      const name = url.searchParams.get('application_name')
      const { n } = await db.one<{ n: number }>`
        select count(*) as n from pg_stat_activity where datname = current_database() and application_name = ${name}`
      return n === 0
    })
  }
  const counts = { holds: 0, refused: 0 }
  child.on('message', (message: FixtureMessage) => {
    if ('holds' in message) counts.holds = message.holds
    else counts.refused += message.refused
  })
  return { child, counts, kill, go: () => child.send('go') }
}

const add = (count: number) =>
  db.begin((tx) =>
    enqueueAll(
      tx,
      'held',
      Array.from({ length: count }, () => ({ payload: {} })),
    ),
  )
const effects = () =>
  db.many<{ who: string; n: number }>`select who, count(*) as n from effects group by who order by who`
const left = async () => (await db.one<{ n: number }>`select count(*) as n from jobs`).n

/** Starts a worker in this process that may hold its jobs until released. */
const other = (go: Promise<void> = Promise.resolve()) => {
  const taken = new Set<string>()
  const kind: JobKind = {
    kind: 'held',
    concurrency: 1000,
    batch: 500,
    leaseSeconds: 30,
    maxAttempts: 5,
    run: async ({ id }) => {
      taken.add(id)
      await go
    },
    onComplete: async (tx, done) => {
      await tx.run`insert into effects select id, 'other' from unnest(${done.map(({ job }) => job.id)}::uuid[]) d (id)`
    },
  }
  return { taken, worker: startTestWorker({ db, kinds: [kind], log: errorLog }) }
}

test('the late writes of a worker that slept through its leases are refused, 1,000 of 1,000 (R10)', async () => {
  await add(1000)
  // A loaded machine needs over a second to claim and extend them all.
  const sleeper = holder(3)
  await until('the child holds all', () => sleeper.counts.holds === 1000)
  sleeper.child.kill('SIGSTOP')

  const go = Promise.withResolvers<void>()
  const { taken, worker } = other(go.promise)
  await until('the leases expire and all are taken over', () => taken.size === 1000)
  sleeper.child.kill('SIGCONT')
  sleeper.go()
  await until('the child has tried to write', () => sleeper.counts.refused === 1000)
  assert.deepEqual(await effects(), [])

  go.resolve()
  await until('the others are written', async () => (await left()) === 0)
  await worker.stop()
  await sleeper.kill()
  assert.deepEqual(await effects(), [{ who: 'other', n: 1000 }])
})

test('the jobs of a killed worker return within a second of the end of their leases', async () => {
  // The leases are of one second.
  await isQuick(2_100, async () => {
    await db.run`delete from effects`
    await add(50)
    const victim = holder(1)
    await until('the child holds all', () => victim.counts.holds >= 50)
    const killed = performance.now()
    await victim.kill()
    const { worker, taken } = other()
    await until('all are taken over', () => taken.size === 50)
    const took = performance.now() - killed
    await until('all are done', async () => (await left()) === 0)
    await worker.stop()
    assert.deepEqual(await effects(), [{ who: 'other', n: 50 }])
    return took
  })
})

test('releasing all leases at the start lets a dead worker’s jobs run at once', async () => {
  await db.run`delete from effects`
  await add(50)
  const victim = holder(3600)
  await until('the child holds all', () => victim.counts.holds === 50)
  await victim.kill()
  assert.equal(await releaseLeases(db), 50)
  const { worker } = other()
  await until('all are done', async () => (await left()) === 0)
  await worker.stop()
  assert.deepEqual(await effects(), [{ who: 'other', n: 50 }])
})

test('a live worker keeps its leases while its handlers run', async () => {
  await db.run`delete from effects`
  await add(20)
  const slow = holder(3)
  await until('the child holds all', () => slow.counts.holds === 20)
  const { worker, taken } = other()
  const began = await db.one<{ at: Date }>`select clock_timestamp() as at`
  await until('leases were prolonged past their first end', async () => {
    const row = await db.one<{ long: boolean }>`select clock_timestamp() > ${began.at}::timestamptz + '4.5 s' as long`
    return row.long
  })
  assert.equal(taken.size, 0)
  slow.go()
  await until('all are done', async () => (await left()) === 0)
  await worker.stop()
  await slow.kill()
  assert.deepEqual(await effects(), [{ who: 'child', n: 20 }])
})
