// Compares our job queue with pg-boss and graphile-worker, on the same embedded PostgreSQL in the same run.
//
// Jobs are added in statements of 500, run by an empty handler and marked as done. Running is timed from the first
// handler until the database holds no open job. Each queue is set up for throughput, with 500 jobs a statement. pg-boss
// uses its own `fetch` and `complete` in two loops (faster than its `work`, which waits between polls). graphile-worker
// uses a local queue, batched completion and 24 concurrent jobs. The time of `begin … commit` around our inserts is
// included.

import { Logger, makeWorkerUtils, run as runGraphile, type WorkerUtils } from 'graphile-worker'
import { Pool } from 'pg'
import { PgBoss } from 'pg-boss'
import { migrate } from '../src/platform/db/migrate.ts'
import { connect } from '../src/platform/db/sql.ts'
import { startWorker } from '../src/platform/jobs/consume/worker.ts'
import type { JobKind } from '../src/platform/jobs/job-kind.ts'
import { enqueueAll } from '../src/platform/jobs/queue.ts'
import { benchRun } from './bench.ts'
import { startDatabase } from './database.ts'
import { median, table, thousands } from './lib.ts'
import { type Cost, prefixed, startMeter } from './usage.ts'

const run = benchRun()
const { rounds } = run
const count = run.number('jobs')
const size = 500

const server = await startDatabase(run.rows)
const db = connect({ url: server.url, connections: 10 })
const patient = connect({ url: server.url, connections: 1, unlimited: true })
await migrate(patient)
await patient.end()
const silentLog = { info: () => {}, warn: () => {}, error: console.error, debug: () => {} }

type Queue = {
  name: string
  clear(): Promise<void>
  /** Adds jobs with these numbers in one call. */
  add(numbers: number[]): Promise<unknown>
  /** Runs all jobs and resolves when all are marked as done. Each handler calls `ran`. */
  drain(ran: () => void): Promise<void>
}

/** Resolves when the query returns 0. */
const waitUntilEmpty = async (query: () => Promise<number>) => {
  while ((await query()) > 0) await new Promise((resolve) => setTimeout(resolve, 2))
}

const makeOwnQueue = (name: string, extra: Partial<JobKind>): Queue => {
  const account = '00000000-0000-7000-8000-000000000001'
  return {
    name,
    clear: async () => {
      await db.raw('truncate jobs')
    },
    add: (numbers) =>
      db.begin((tx) =>
        enqueueAll(
          tx,
          'bench',
          numbers.map((n) => ({ payload: { n }, account })),
        ),
      ),
    drain: async (ran) => {
      let done = 0
      const all = Promise.withResolvers<void>()
      const kind: JobKind = {
        kind: 'bench',
        concurrency: 2 * size,
        batch: size,
        leaseSeconds: 30,
        maxAttempts: 3,
        run: async () => {
          ran()
          if (++done === count) all.resolve()
        },
        ...extra,
      }
      const worker = startWorker({ db, kinds: [kind], log: silentLog })
      await all.promise
      await waitUntilEmpty(async () => (await db.one<{ n: number }>`select exists (select from jobs)::integer as n`).n)
      await worker.stop()
    },
  }
}

const boss = new PgBoss({ connectionString: server.url, max: 10, supervise: false, schedule: false })
boss.on('error', console.error)
await boss.start()
await boss.createQueue('bench')
const pgBoss: Queue = {
  name: 'pg-boss 12.30.0',
  clear: () => boss.deleteAllJobs('bench'),
  add: (numbers) =>
    boss.insert(
      'bench',
      numbers.map((n) => ({ data: { n } })),
    ),
  drain: async (ran) => {
    const loop = async () => {
      for (;;) {
        const jobs = await boss.fetch('bench', { batchSize: size })
        if (jobs.length === 0) return
        for (const _ of jobs) ran()
        await boss.complete(
          'bench',
          jobs.map(({ id }) => id),
        )
      }
    }
    await Promise.all([loop(), loop()])
  },
}

const pool = new Pool({ connectionString: server.url, max: 26 })
// Connections break when the server stops.
pool.on('error', () => {})
pool.on('connect', (client) => client.on('error', () => {}))
// A line for each job would be measured too.
const logger = new Logger(() => () => {})
const utils: WorkerUtils = await makeWorkerUtils({ pgPool: pool, logger })
await utils.migrate()
const graphile: Queue = {
  name: 'graphile-worker 0.18.0',
  clear: async () => {
    await pool.query('truncate graphile_worker._private_jobs')
  },
  add: (numbers) => utils.addJobs(numbers.map((n) => ({ identifier: 'bench', payload: { n } }))),
  drain: async (ran) => {
    let done = 0
    const all = Promise.withResolvers<void>()
    const runner = await runGraphile({
      pgPool: pool,
      logger,
      noHandleSignals: true,
      taskList: {
        bench: async () => {
          ran()
          if (++done === count) all.resolve()
        },
      },
      preset: { worker: { concurrentJobs: 24, localQueue: { size }, completeJobBatchDelay: 0, failJobBatchDelay: 0 } },
    })
    await all.promise
    await waitUntilEmpty(async () => {
      const { rows } = await pool.query('select exists (select from graphile_worker._private_jobs)::integer as n')
      return Number(rows[0]?.n)
    })
    await runner.stop()
  },
}

const queues = [
  makeOwnQueue('ours', {}),
  makeOwnQueue('ours, with an onComplete transaction', {
    onComplete: async (tx) => {
      await tx.one`select 1`
    },
  }),
  makeOwnQueue('ours, fair', { fair: true }),
  pgBoss,
  graphile,
]

const adding = new Map<string, number[]>()
const running = new Map<string, number[]>()
for (let round = 0; round <= rounds; round++) {
  let cost: Cost | undefined
  const rates = new Map<string, { added: number; completed: number }>()
  for (const queue of queues) {
    await queue.clear()
    await db.raw('vacuum analyze jobs')
    const costOf = await startMeter({ node: [process.pid], postgres: [server.pid()] }, db)
    const began = performance.now()
    for (let n = 0; n < count; n += size)
      await queue.add(Array.from({ length: Math.min(size, count - n) }, (_, i) => n + i))
    const added = performance.now() - began
    let first = 0
    await queue.drain(() => {
      first ||= performance.now()
    })
    const ran = performance.now() - first
    if (queue === queues[0]) cost = await costOf(count)
    rates.set(queue.name, { added: (count * 1000) / added, completed: (count * 1000) / ran })
    // The first round warms up.
    if (round === 0) continue
    adding.set(queue.name, [...(adding.get(queue.name) ?? []), (count * 1000) / added])
    running.set(queue.name, [...(running.get(queue.name) ?? []), (count * 1000) / ran])
  }
  const [own, boss, graphileWorker] = [queues[0]?.name, pgBoss.name, graphile.name].map((name) => rates.get(name ?? ''))
  if (round > 0 && own && boss && graphileWorker && cost)
    run.record({
      ...own,
      pgBoss: own.completed / boss.completed,
      graphile: own.completed / graphileWorker.completed,
      ...prefixed('cost', cost),
    })
}

const cell = (figures: Map<string, number[]>, name: string) => {
  const values = figures.get(name) ?? []
  const [best = 0] = [...values].sort((a, b) => b - a)
  const ratio = median(figures.get(queues[0]?.name ?? '') ?? []) / median(values)
  return [`${thousands(median(values))} (best ${thousands(best)})`, ratio.toFixed(1)]
}
console.log(`${count} jobs, median of ${rounds} rounds, one queue after another in each round\n`)
table(
  ['queue', 'added /s', 'ours is × as fast', 'completed /s', 'ours is × as fast'],
  queues.map(({ name }) => [name, ...cell(adding, name), ...cell(running, name)]),
)

await boss.stop({ graceful: true })
await utils.release()
await pool.end()
await db.end()
await server.stop()
